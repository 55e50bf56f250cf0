// `npm run bench [-- NAME …] [--long] [--minutes N] [--json]`: the figures this project watches, measured on this machine.
// Without NAME all of them, but those that take very long only with `--long`; `--minutes` shortens, or lengthens, a soak.
// The table goes to stdout, or with `--json` one object and nothing else; progress goes to stderr.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, Figure, Measured, Report } from './figure.ts';
import { cancelP50 } from './figures/cancel-p50.ts';
import { dispatchP50 } from './figures/dispatch-p50.ts';
import { encryptedOverPlain } from './figures/encrypted-over-plain.ts';
import { follow10kOverpoll, follow10kRss } from './figures/follow-10k.ts';
import { gatewayOverDirect } from './figures/gateway-over-direct.ts';
import { getOverPing } from './figures/get-over-ping.ts';
import { getP99OfMany } from './figures/get-p99-1m-over-1k.ts';
import { getP99WhileSweeping } from './figures/get-p99-sweep-over-calm.ts';
import { handleOverSync } from './figures/handle-over-sync.ts';
import { hostCallOverSdk } from './figures/host-call-over-sdk.ts';
import { idleCpu } from './figures/idle-cpu.ts';
import { idleUpstreamRss } from './figures/idle-upstream-rss.ts';
import { jobLogLines } from './figures/job-log-lines.ts';
import { lifecycleOverSdkV1 } from './figures/lifecycle-over-sdk-v1.ts';
import { parked10kRss } from './figures/parked-10k-rss.ts';
import { soakRssSlope } from './figures/soak-rss-slope.ts';
import { storeLifecycles } from './figures/store-lifecycles.ts';
import { storeOverFsync } from './figures/store-over-fsync.ts';
import { takeoverP50 } from './figures/takeover-p50.ts';
import { toolsListTenUpstreams } from './figures/tools-list-ten-upstreams.ts';
import { median, rounded } from './support/statistics.ts';
import { type Row, renderTable } from './support/table.ts';

const all: readonly Figure[] = [
  handleOverSync,
  getOverPing,
  storeLifecycles,
  storeOverFsync,
  encryptedOverPlain,
  dispatchP50,
  takeoverP50,
  cancelP50,
  idleCpu,
  getP99OfMany,
  getP99WhileSweeping,
  parked10kRss,
  lifecycleOverSdkV1,
  hostCallOverSdk,
  gatewayOverDirect,
  toolsListTenUpstreams,
  idleUpstreamRss,
  jobLogLines,
  follow10kRss,
  follow10kOverpoll,
  soakRssSlope,
];

const { values: options, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
  },
  allowPositionals: true,
});
const minutes = Number(options.minutes);
if (!(minutes > 0)) wrong(`--minutes takes a number above 0, got ${options.minutes}`);
const unknown = positionals.filter((name) => !all.some((figure) => figure.name === name));
if (unknown.length > 0) {
  wrong(`no figure ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
}
const wanted = all.filter(({ name, long }) =>
  positionals.length === 0 ? options.long || long !== true : positionals.includes(name),
);
if (positionals.length === 0 && wanted.length < all.length) {
  const left = all.filter((figure) => !wanted.includes(figure)).map(({ name }) => name);
  console.error(`bench: left out because it takes long: ${left.join(', ')}; name it, or add --long`);
}

// In the project's folder and not the system's temporary one, which may be memory, where a flush costs nothing.
mkdirSync('.cache', { recursive: true });
const home = mkdtempSync(join('.cache', 'bench-'));
process.once('exit', () => rmSync(home, { recursive: true, force: true, maxRetries: 5 })); // After our processes ended.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const rows: Row[] = [];
for (const figure of wanted) rows.push(await measure(figure));
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
    minutes,
    progress: (text) => console.error(`${figure.name}: ${text}`),
  };
  const measured: Measured = await figure.measure(bench);
  const { values, against = figure.against, detail } = measured;
  const { name, unit, aim, better } = figure;
  const report: Report = { name, value: rounded(median(values)), unit, aim, better, runs: values.length, against };
  return { report, detail, min: rounded(Math.min(...values)), max: rounded(Math.max(...values)) };
}

function wrong(text: string): never {
  console.error(`bench: ${text}`);
  process.exit(2);
}
