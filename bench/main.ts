// `npm run bench [-- NAME …] [--json]`: the figures this project watches, measured on this machine. Without NAME all of
// them. The table goes to stdout, or with `--json` one object and nothing else; progress goes to stderr.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, Figure, Measured, Report } from './figure.ts';
import { getOverPing } from './figures/get-over-ping.ts';
import { handleOverSync } from './figures/handle-over-sync.ts';
import { storeLifecycles } from './figures/store-lifecycles.ts';
import { storeOverFsync } from './figures/store-over-fsync.ts';
import { median, rounded } from './support/statistics.ts';
import { type Row, renderTable } from './support/table.ts';

const all: readonly Figure[] = [handleOverSync, getOverPing, storeLifecycles, storeOverFsync];

const { values: options, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !all.some((figure) => figure.name === name));
if (unknown.length > 0) {
  console.error(`bench: no figure ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

// In the project's folder and not the system's temporary one, which may be memory, where a flush costs nothing.
mkdirSync('.cache', { recursive: true });
const home = mkdtempSync(join('.cache', 'bench-'));
process.once('exit', () => rmSync(home, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const rows: Row[] = [];
for (const figure of all) {
  if (positionals.length === 0 || positionals.includes(figure.name)) rows.push(await measure(figure));
}
if (options.json) {
  const figures = rows.map(({ report }) => report);
  console.log(JSON.stringify({ figures }, undefined, 2));
} else {
  const cores = availableParallelism();
  const load = loadavg()[0]?.toFixed(1);
  console.log(renderTable(rows));
  console.log(`\nNode ${process.versions.node}, ${process.platform} ${process.arch}, ${cores} cores, load ${load}`);
}

async function measure(figure: Figure): Promise<Row> {
  const bench: Bench = {
    folder: () => mkdtempSync(join(home, 'run-')),
    progress: (text) => console.error(`${figure.name}: ${text}`),
  };
  const { measure: _, ...described } = figure;
  const measured: Measured = await figure.measure(bench);
  const { values, against = figure.against, detail } = measured;
  const { name, unit, aim, better } = described;
  const report: Report = { name, value: rounded(median(values)), unit, aim, better, runs: values.length, against };
  return { report, detail, min: rounded(Math.min(...values)), max: rounded(Math.max(...values)) };
}
