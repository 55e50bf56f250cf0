import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commandOf as commandFor, type ShellToolOptions, shellTool } from '../../../src/adapters/index.ts';
import { LOCAL_PRINCIPAL, systemClock } from '../../../src/core/index.ts';
import type { JobTaskOptions, Tasks } from '../../../src/engine/index.ts';
import { pass, reaches, settle, someTasks, start } from '../../support/engine.ts';
import { commandOf, jobsFolder, PATH, type Work } from './support.ts';

interface Site {
  tasks: Tasks;
  folder: string;
}

/** Tasks with one tool that runs commands, on the machine's clock. */
function site(options: Partial<ShellToolOptions<Work>> = {}, task: JobTaskOptions = {}): Site {
  const folder = jobsFolder();
  const { tasks } = someTasks({ clock: systemClock as never });
  const adapter = shellTool<Work>({ folder: join(folder, 'jobs'), command: commandOf, ...options });
  tasks.registerJob('run', { task }, adapter as never);
  onTestFinished(() => tasks.close());
  return { tasks, folder };
}

async function endOf({ engine }: Tasks, taskId: string) {
  return (await engine.wait(taskId, LOCAL_PRINCIPAL)).state;
}

async function linesOf({ engine }: Tasks, taskId: string): Promise<string[]> {
  const lines: string[] = [];
  for (let cursor = 0; ; ) {
    const page = await engine.readLog(taskId, LOCAL_PRINCIPAL, { cursor, limitBytes: 1_000_000 });
    lines.push(...page.lines.map(({ text }) => text));
    if (page.atEnd) return lines;
    cursor = page.cursor;
  }
}

describe('the task of a command', () => {
  it('has all of its lines in its log, however short they are and however fast they come', async () => {
    const { tasks } = site();
    const program = `for (let n = 0; n < 200_000; n += 1000) require('node:fs').writeSync(1, Array.from({ length: 1000 }, (_, at) => n + at + '\\n').join(''))`;
    const { taskId } = await start(tasks, 'run', { node: program });
    expect(await endOf(tasks, taskId)).toMatchObject({ status: 'completed' });
    expect(await linesOf(tasks, taskId)).toEqual(Array.from({ length: 200_000 }, (_, n) => String(n)));
  });

  it('can be read while it runs, and leaves no files when it is over', async () => {
    const { tasks, folder } = site();
    const go = join(folder, 'go');
    const { taskId } = await start(tasks, 'run', {
      sh: `echo FAIL first; while [ ! -e '${go}' ]; do sleep 0.05; done`,
    });
    while (!(await linesOf(tasks, taskId)).includes('FAIL first')) await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ status: 'working' });
    writeFileSync(go, '');
    expect(await endOf(tasks, taskId)).toMatchObject({
      status: 'completed',
      result: { structuredContent: { exitCode: 0 } },
    });
    while (readdirSync(join(folder, 'jobs')).length > 0) await settle();
  });

  it('runs 200 of them, 8 at a time and no more', async () => {
    const { tasks, folder } = site({}, { concurrency: 8 });
    const here = join(folder, 'here');
    const sh = `mkdir -p '${here}'; : > '${here}/'$$; ls '${here}' | wc -l; sleep 0.1; rm '${here}/'$$`;
    const all = await Promise.all(Array.from({ length: 200 }, () => start(tasks, 'run', { sh })));
    const ends = await Promise.all(all.map(({ taskId }) => endOf(tasks, taskId)));
    expect(ends.every(({ status }) => status === 'completed')).toBe(true);
    const counts = await Promise.all(all.map(async ({ taskId }) => Number((await linesOf(tasks, taskId))[0])));
    expect(counts.length).toBe(200);
    expect(Math.max(...counts)).toBeLessThanOrEqual(8);
    expect(Math.max(...counts)).toBeGreaterThan(1);
  }, 180_000);

  it('keeps no more of 2 GB of output than it may, and counts all of it', async () => {
    const { tasks, folder } = site({ limits: { headBytes: 1024 * 1024, tailBytes: 8 * 1024 * 1024 } });
    const line = `${'y'.repeat(1_023)}\\n`;
    const program = `
      const block = Buffer.from('${line}'.repeat(256));
      for (let n = 0; n < 8192; n += 1) for (let at = 0; at < block.length; ) at += require('node:fs').writeSync(1, block, at);
      console.log('the last line');`;
    const { taskId } = await start(tasks, 'run', { node: program });
    const most = { bytes: 0 };
    const watching = setInterval(() => {
      const jobs = join(folder, 'jobs');
      for (const job of existsSync(jobs) ? readdirSync(jobs) : []) {
        const sizes = readdirSync(join(jobs, job)).map(
          (name) => statSync(join(jobs, job, name), { throwIfNoEntry: false })?.size ?? 0,
        );
        most.bytes = Math.max(
          most.bytes,
          sizes.reduce((sum, size) => sum + size, 0),
        );
      }
    }, 50);
    const state = await endOf(tasks, taskId);
    clearInterval(watching);
    expect(state).toMatchObject({
      status: 'completed',
      result: { structuredContent: { exitCode: 0, stdoutBytes: 2 * 1024 ** 3 + 'the last line\n'.length } },
    });
    expect(most.bytes).toBeGreaterThan(1024 * 1024);
    expect(most.bytes).toBeLessThan(10 * 1024 * 1024);
    expect((await linesOf(tasks, taskId)).at(-1)).toBe('the last line');
  }, 180_000);

  it('is over at once when it is cancelled, whatever its command is busy with [C-018] [C-028]', async () => {
    const { tasks } = site({ limits: { graceMs: 100 } });
    const program = `process.on('SIGTERM', () => {}); console.log(process.pid); for (;;);`;
    const { taskId } = await start(tasks, 'run', { node: program });
    let pid = Number.NaN;
    while (Number.isNaN(pid)) {
      pid = Number((await linesOf(tasks, taskId))[0]);
      await settle();
    }
    expect(await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'no more')).toBe('cancelled');
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual({ status: 'cancelled', reason: 'no more' });
    while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('says nothing for two hours, and nobody minds [C-095]', async () => {
    const folder = jobsFolder();
    const { tasks, clock } = someTasks();
    onTestFinished(() => tasks.close());
    tasks.registerJob('run', {}, shellTool<Work>({ folder: join(folder, 'jobs'), command: commandOf }) as never);
    const go = join(folder, 'go');
    const { taskId } = await start(tasks, 'run', { sh: `while [ ! -e '${go}' ]; do sleep 0.05; done; echo done` });
    while (!existsSync(join(folder, 'jobs'))) await settle();
    for (let minutes = 0; minutes < 120; minutes += 1) {
      await settle(3);
      await pass(clock, 60_000);
    }
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual({ status: 'working' });
    writeFileSync(go, '');
    const over = reaches(tasks, taskId, 'completed');
    let ended = false;
    void over.then(() => (ended = true));
    while (!ended) {
      await settle(3);
      await pass(clock, 1_000);
    }
    expect(await linesOf(tasks, taskId)).toEqual(['done']);
  });

  it('is started again after it was lost, where the tool says so', async () => {
    const { tasks, folder } = site({}, { onLost: 'rerun' });
    const first = join(folder, 'first');
    const sh = `if [ -e '${first}' ]; then echo again; else : > '${first}'; kill -9 $PPID; sleep 100; fi`;
    const { taskId } = await start(tasks, 'run', { sh });
    expect(await endOf(tasks, taskId)).toMatchObject({ status: 'completed' });
    expect((await linesOf(tasks, taskId)).at(-1)).toBe('again');
    const told = (await linesOf(tasks, taskId)).join('\n');
    expect(told).toContain('was lost and is started again (2 of 3)');
  });

  it('fails honestly after it was lost, where it does not', async () => {
    const { tasks } = site({ command: () => ({ ...commandOf({ sh: 'kill -9 $PPID; sleep 100' }), env: { PATH } }) });
    const { taskId } = await start(tasks, 'run', { sh: '' });
    const state = await endOf(tasks, taskId);
    expect(state).toMatchObject({ status: 'failed', error: { data: { lost: true, mayHaveTakenEffect: true } } });
    expect(JSON.stringify(state)).toContain('its runner was killed');
  });

  it('fails at once, with the field, where its input cannot be what its command wants', async () => {
    const recipe = { file: '/bin/echo', args: [{ input: 'what' }], endOfOptions: false, env: {} };
    const { tasks } = site({ command: (input) => commandFor(recipe, input as never) });
    const [bad, good] = [await start(tasks, 'run', { what: '-n' }), await start(tasks, 'run', { what: 'n; id' })];
    expect(await endOf(tasks, bad.taskId)).toMatchObject({
      status: 'failed',
      error: { message: 'what: expected a value that does not begin with "-", which could be read as an option' },
    });
    expect(await endOf(tasks, good.taskId)).toMatchObject({ status: 'completed' });
    expect(await linesOf(tasks, good.taskId)).toEqual(['n; id']);
  });
});
