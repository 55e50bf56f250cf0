import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { createTasks, sqliteStore, type Tasks } from 'longcall';
import { shellTool } from 'longcall/adapters';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { Bench, Figure } from '../figure.ts';
import { median, series } from '../support/statistics.ts';

const RUNS = 5;
const LINES = 300_000;
/** As a build writes them; both streams. */
const PROGRAM = `
  const { writeSync } = require('node:fs');
  for (let n = 0; n < ${LINES}; n += 1000) {
    let text = '';
    for (let at = 0; at < 1000; at += 1) text += 'src/module-' + (n + at) + '.ts compiled in 12 ms, 0 warnings\\n';
    for (let at = 0; at < text.length; ) at += writeSync(n % 10_000 === 9_000 ? 2 : 1, text.slice(at));
  }`;
const COMMAND = { file: process.execPath, args: ['-e', PROGRAM], env: {} };

/** What one command can write while all of it is kept and can be read: in its job's files, and from there in its task's log. */
export const jobLogLines: Figure = {
  name: 'job-log-lines',
  unit: 'per s',
  aim: 100_000,
  better: 'higher',
  against:
    'nothing: lines of one command from its start until all of them, counted, can be read in the log of its task, SQLite, default settings',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const median_ = (side: keyof Run): string => String(Math.round(median(runs.map((run) => run[side]))));
    return {
      values: runs.map(({ logged }) => logged),
      detail: `until its exit ${median_('captured')}, bare pipe and readline ${median_('piped')} per s`,
    };
  },
};

/** Lines per second. */
interface Run {
  logged: number;
  captured: number;
  piped: number;
}

async function once(bench: Bench): Promise<Run> {
  const piped = await bare();
  const folder = resolve(bench.folder());
  const jobs = join(folder, 'jobs');
  mkdirSync(jobs, { mode: 0o700 });
  const awake = setInterval(() => {}, 1_000); // Nothing else here keeps a process alive.
  const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')) });
  try {
    tasks.registerJob('build', {}, shellTool({ folder: jobs, command: () => COMMAND }));
    const definition = tasks.tool('build')?.definition;
    if (definition === undefined) throw new Error('the tool is not there');
    const began = performance.now();
    const { task } = await tasks.engine.create({
      definition,
      principal: LOCAL_PRINCIPAL,
      input: {},
      revision: 'bench',
      abilities: { form: false },
    });
    const { state } = await tasks.engine.wait(task.taskId, LOCAL_PRINCIPAL);
    const tookMs = performance.now() - began;
    if (state.status !== 'completed') throw new Error(`the task is ${JSON.stringify(state)}`);
    const { durationMs } = (state.result as { structuredContent: { durationMs: number } }).structuredContent;
    const logged = await linesIn(tasks, task.taskId);
    if (logged !== LINES) throw new Error(`of ${LINES} lines ${logged} are in the log`);
    return { logged: perSecond(tookMs), captured: perSecond(durationMs), piped };
  } finally {
    clearInterval(awake);
    await tasks.close();
  }
}

async function linesIn({ engine }: Tasks, taskId: string): Promise<number> {
  let lines = 0;
  for (let cursor = 0; ; ) {
    const page = await engine.readLog(taskId, LOCAL_PRINCIPAL, { cursor, limitBytes: 1_000_000 });
    lines += page.lines.length;
    if (page.atEnd) return lines;
    cursor = page.cursor;
  }
}

/** What reading the lines alone takes, kept nowhere. */
async function bare(): Promise<number> {
  const began = performance.now();
  const child = spawn(COMMAND.file, COMMAND.args, { env: COMMAND.env, stdio: ['ignore', 'pipe', 'pipe'] });
  const counts = await Promise.all(
    [child.stdout, child.stderr].map(async (stream) => {
      let lines = 0;
      for await (const _line of createInterface({ input: stream })) lines += 1;
      return lines;
    }),
  );
  if (counts.reduce((sum, lines) => sum + lines, 0) !== LINES) throw new Error('lines were lost');
  return perSecond(performance.now() - began);
}

function perSecond(ms: number): number {
  return LINES / (ms / 1_000);
}
