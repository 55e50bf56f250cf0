// `npm run sim -- --runs N --seed S`: seeded simulations of engine and store against a model, on all cores. A violation is
// printed with what led to it; `--run K` replays one run of the seed and prints all of it.
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type RunReport, Simulator } from '../test/sim/simulate.ts';
import { tail } from '../test/sim/trace.ts';

/** Lines of a trace that are shown with a violation. */
const TAIL = 60;
/** Of more violations than these only the sentence is shown. */
const MAX_SHOWN = 3;

const { values } = parseArgs({
  options: { runs: { type: 'string' }, seed: { type: 'string' }, run: { type: 'string' }, part: { type: 'string' } },
});
const seed = wholeNumber('seed', Date.now() % 1_000_000);
const runs = wholeNumber('runs', 500);

if (values.run !== undefined) await replay(wholeNumber('run', 0));
else if (values.part !== undefined) await part(values.part);
else await all();

function wholeNumber(option: 'seed' | 'runs' | 'run', fallback: number): number {
  const value = Number(values[option] ?? fallback);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`--${option}: a whole number, got ${values[option]}`);
  return value;
}

async function replay(run: number): Promise<void> {
  const simulator = await Simulator.open();
  const report = await simulator.run(seed, run);
  simulator.close();
  console.log(report.trace.join('\n'));
  for (const { promise, sentence } of report.violations) console.log(`${promise}: ${sentence}`);
  end(1, report.violations.length === 0 ? 0 : 1);
}

/** Every `of`th run, in this process; tells the parent what went wrong, and how many runs are done. */
async function part(which: string): Promise<void> {
  const [first = 0, of = 1] = which.split('/').map(Number);
  const simulator = await Simulator.open();
  for (let run = first; run < runs; run += of) {
    const report = await simulator.run(seed, run);
    const failed = report.violations.length > 0 ? { ...report, trace: tail(report.trace, TAIL) } : undefined;
    process.send?.({ failed });
  }
  simulator.close();
  process.disconnect();
}

async function all(): Promise<void> {
  const of = Math.min(availableParallelism(), runs);
  const failures: RunReport[] = [];
  let done = 0;
  const started = performance.now();
  const parts = Array.from({ length: of }, (_, first) => {
    const args = ['--runs', String(runs), '--seed', String(seed), '--part', `${first}/${of}`];
    const child = fork(fileURLToPath(import.meta.url), args);
    child.on('message', ({ failed }: { failed?: RunReport }) => {
      done += 1;
      if (failed === undefined) return;
      failures.push(failed);
      show(failed, failures.length <= MAX_SHOWN);
    });
    return new Promise<boolean>((resolve) => child.on('exit', (code) => resolve(code === 0)));
  });
  const finished = (await Promise.all(parts)).every(Boolean);
  console.log(`${(done / ((performance.now() - started) / 1000)).toFixed(0)} runs per second`);
  if (!finished || done < runs) console.log(`only ${done} of ${runs} runs came to their end`);
  end(done, failures.length, finished && done === runs);
}

function show({ run, violations, trace }: RunReport, fully: boolean): void {
  console.log(`--- seed ${seed}, run ${run} (all of it: npm run sim -- --seed ${seed} --run ${run})`);
  if (fully) console.log(trace.join('\n'));
  for (const { promise, sentence } of violations) console.log(`${promise}: ${sentence}`);
}

function end(done: number, failed: number, complete = true): void {
  console.log(`sim: ${done} runs, ${failed} violations, seed ${seed}`);
  process.exitCode = failed === 0 && complete ? 0 : 1;
}
