// `npm run fuzz -- --count N --seed S`: hostile messages on every wire and transport, from several callers at once, on all
// cores. What is found is told with how to repeat it: `--only N` runs the episode of message N alone, leaves out of it
// what is not needed, and with `--save FILE` keeps the rest as a case for `test/fuzz/corpus`; `--case FILE` runs such a case.
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Fuzzer } from '../test/fuzz/episode.ts';
import { type Case, episodeOf, episodesFor, episodeWith, targetOf } from '../test/fuzz/episodes.ts';
import { type Finding, isLeak } from '../test/fuzz/findings.ts';
import { Memory } from '../test/fuzz/memory.ts';
import { kindOf, minimised } from '../test/fuzz/minimise.ts';
import { EPISODE } from '../test/fuzz/plan.ts';
import { messagesOf } from '../test/fuzz/steps.ts';

/** Of a kind of finding, this many are told. */
const MAX_TOLD = 2;

interface PartReport {
  episode: number;
  messages: number;
  findings: Finding[];
}

const option = { type: 'string' } as const;
const { values } = parseArgs({
  options: { count: option, seed: option, only: option, case: option, save: option, part: option },
});
const seed = wholeNumber('seed', Date.now() % 1_000_000);
const count = wholeNumber('count', 10_000);

if (values.case !== undefined) await replay(JSON.parse(readFileSync(values.case, 'utf8')) as Case);
else if (values.only !== undefined) await replay(episodeOf(seed, episodeWith(wholeNumber('only', 0))));
else if (values.part !== undefined) await part(values.part);
else await all();

function wholeNumber(name: 'seed' | 'count' | 'only', fallback: number): number {
  const value = Number(values[name] ?? fallback);
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`--${name}: a whole number, got ${values[name]}`);
  return value;
}

async function replay(one: Case): Promise<void> {
  const fuzzer = new Fuzzer();
  const run = async (shorter: Case) => fuzzer.run(targetOf(shorter), shorter.steps, shorter.seeds);
  const { findings, trace } = await run(one);
  console.log(trace.join('\n'));
  for (const finding of findings) tell(finding);
  const [first] = findings;
  if (first !== undefined && values.case === undefined) {
    const shorter = await minimised(one, first, async (candidate) => (await run(candidate)).findings);
    console.log(`\n${shorter.steps.length} of ${one.steps.length} steps are needed for it:`);
    for (const step of shorter.steps) console.log(JSON.stringify(step));
    if (values.save !== undefined)
      writeFileSync(values.save, `${JSON.stringify({ why: kindOf(first), ...shorter }, null, 2)}\n`);
  }
  fuzzer.close();
  end(messagesOf(one.steps), findings, true);
}

/** Every `of`th episode, in this process; tells the parent what it found. */
async function part(which: string): Promise<void> {
  const [first = 0, of = 1] = which.split('/').map(Number);
  const episodes = episodesFor(count);
  const mine = Array.from({ length: episodes }, (_, episode) => episode).filter((episode) => episode % of === first);
  const memory = new Memory(mine.length);
  const fuzzer = new Fuzzer();
  for (const episode of mine) {
    const one = episodeOf(seed, episode);
    const { findings } = await fuzzer.run(targetOf(one), one.steps, one.seeds);
    const grown = memory.over();
    if (grown !== undefined) findings.push({ broken: 'memory', sentence: grown, step: one.steps.length });
    process.send?.({ episode, messages: messagesOf(one.steps), findings } satisfies PartReport);
  }
  fuzzer.close();
  process.disconnect();
}

async function all(): Promise<void> {
  const episodes = episodesFor(count);
  const of = Math.max(1, Math.min(availableParallelism(), episodes));
  const all: Finding[] = [];
  const told = new Map<string, number>();
  let done = 0;
  let messages = 0;
  const started = performance.now();
  const parts = Array.from({ length: of }, (_, first) => {
    const args = ['--count', String(count), '--seed', String(seed), '--part', `${first}/${of}`];
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: [...process.execArgv, '--expose-gc'] });
    child.on('message', (report: PartReport) => {
      done += 1;
      messages += report.messages;
      for (const finding of report.findings) {
        all.push(finding);
        const times = (told.get(kindOf(finding)) ?? 0) + 1;
        told.set(kindOf(finding), times);
        if (times > MAX_TOLD) continue;
        console.log(`--- again: npm run fuzz -- --seed ${seed} --only ${report.episode * EPISODE}`);
        tell(finding);
      }
    });
    return new Promise<boolean>((resolve) => child.on('exit', (code) => resolve(code === 0)));
  });
  const finished = (await Promise.all(parts)).every(Boolean);
  if (all.length > 0) console.log('\nin all:');
  for (const [kind, times] of told) console.log(`${times} x ${kind}`);
  console.log(`${(messages / ((performance.now() - started) / 1000)).toFixed(0)} messages per second`);
  if (!finished || done < episodes) console.log(`only ${done} of ${episodes} episodes came to their end`);
  end(messages, all, finished && done === episodes);
}

function tell({ broken, sentence, step }: Finding): void {
  console.log(`${broken}, after step ${step}: ${sentence}`);
}

function end(messages: number, findings: readonly Finding[], complete: boolean): void {
  const leaks = findings.filter(isLeak).length;
  console.log(`fuzz: ${messages} messages, ${findings.length - leaks} crashes, ${leaks} leaks, seed ${seed}`);
  process.exitCode = findings.length === 0 && complete ? 0 : 1;
}
