import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, TaskNotFoundError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { deferred, reaches, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

let tasks: Tasks;
let clock: ManualClock;
afterEach(() => tasks.close());

/** The tool `chatty` logs as the test says. */
function chatty(log: Parameters<Tasks['registerTool']>[2], options: Parameters<typeof someTasks>[0] = {}): void {
  ({ tasks, clock } = someTasks(options));
  tasks.registerTool('chatty', { task: { onWorkerLost: 'rerun' } }, log);
}

/** What is waiting to be written is written. */
async function written(): Promise<void> {
  clock.advance(100);
  await settle();
}

async function wholeLog(taskId: string) {
  const lines = [];
  for (let cursor = 0; ; ) {
    const page = await tasks.engine.readLog(taskId, LOCAL_PRINCIPAL, { cursor, limitBytes: 200_000 });
    lines.push(...page.lines);
    cursor = page.cursor;
    if (page.atEnd) return lines;
  }
}

describe('the log of a task', () => {
  it('is read by its owner while the task runs, and by nobody else', async () => {
    const go = deferred();
    chatty(async (_args, task) => {
      task.log('hello');
      await go.promise;
      task.log('bye', 'warning');
      return text('done');
    });
    const { taskId } = await start(tasks, 'chatty');
    await settle();
    await written();
    const first = await tasks.engine.readLog(taskId, LOCAL_PRINCIPAL);
    expect(first.lines.map(({ level, text }) => [level, text])).toEqual([['info', 'hello']]);
    await expect(tasks.engine.readLog(taskId, { subject: 'mallory' })).rejects.toThrow(TaskNotFoundError);
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    const next = await tasks.engine.readLog(taskId, LOCAL_PRINCIPAL, { cursor: first.cursor });
    expect(next.lines.map(({ level, text }) => [level, text])).toEqual([['warning', 'bye']]);
    expect(next.atEnd).toBe(true);
  });

  it('survives a burst: what comes too fast is dropped and counted, and the handler is not held up', async () => {
    const lines = 300_000;
    let tookMs = Number.POSITIVE_INFINITY;
    chatty((_args, task) => {
      const before = performance.now();
      for (let n = 0; n < lines; n += 1) task.log(`line ${n}`);
      tookMs = performance.now() - before;
      return text('done');
    });
    const { taskId } = await start(tasks, 'chatty');
    await reaches(tasks, taskId, 'completed');
    const log = await wholeLog(taskId);
    expect(log).toHaveLength(10_001);
    expect(log[0]?.text).toBe(`… ${lines - 10_000} lines were logged faster than they could be written, and dropped`);
    expect(log.at(-1)?.text).toBe(`line ${lines - 1}`);
    expect(tookMs).toBeLessThan(5_000); // A second on a slow machine; moving the backlog for each line takes minutes.
  });

  it('bounds what waits in memory by size as well', async () => {
    chatty((_args, task) => {
      for (let n = 0; n < 1_000; n += 1) task.log(`${n} ${'x'.repeat(60_000)}`);
      return text('done');
    });
    const { taskId } = await start(tasks, 'chatty');
    await reaches(tasks, taskId, 'completed');
    const log = await wholeLog(taskId);
    expect(log[0]?.text).toMatch(/^… \d+ lines were logged faster/);
    const kept = log.slice(1).reduce((sum, line) => sum + line.text.length, 0);
    expect(kept).toBeGreaterThan(7 * 1024 * 1024);
    expect(kept).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(log.at(-1)?.text).toMatch(/^999 x/);
  });

  it('takes whatever a handler calls text', async () => {
    chatty((_args, task) => {
      task.log(Buffer.from([0x68, 0x69, 0xff]) as unknown as string);
      task.log('NUL \0 and half a pair \ud83d');
      task.log('x'.repeat(20 * 1024 * 1024));
      task.log(Object.create(null));
      return text('done');
    });
    const { taskId } = await start(tasks, 'chatty');
    await reaches(tasks, taskId, 'completed');
    const log = await wholeLog(taskId);
    expect(log.map((line) => line.text.slice(0, 30))).toEqual([
      'hi\ufffd',
      'NUL \0 and half a pair \ud83d',
      'x'.repeat(30),
      '[object Object]',
    ]);
    expect(log[2]?.text).toMatch(/x … \(\d+ more bytes of this line were dropped\)$/);
  });

  it('keeps the beginning and the end within the limit it was given', async () => {
    const go = deferred();
    chatty(
      async (_args, task) => {
        for (let n = 0; n < 2_000; n += 1) task.log(`line ${n}`);
        await go.promise;
        for (let n = 2_000; n < 4_000; n += 1) task.log(`line ${n}`);
        return text('done');
      },
      { maxLogBytesPerTask: 32 * 1024 },
    );
    const { taskId } = await start(tasks, 'chatty');
    await settle();
    await written();
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    const log = await wholeLog(taskId);
    expect(log[0]?.text).toBe('line 0');
    expect(log.at(-1)?.text).toBe('line 3999');
    const [gap, ...others] = log.filter(({ dropped }) => dropped !== undefined);
    expect(others).toEqual([]);
    expect(gap?.text).toMatch(/^… \d+ bytes of the log were dropped here/);
    const { logBytes } = await tasks.inspect.get(taskId);
    expect(logBytes - (gap?.dropped ?? 0)).toBeLessThan(36 * 1024);
  });

  it('never holds a handler up for a reader, in this process or another', async () => {
    const folder = scratchFolder();
    const file = join(folder.path, 'tasks.db');
    const go = deferred();
    chatty(
      async (_args, task) => {
        task.log('before');
        await go.promise;
        for (let n = 0; n < 5_000; n += 1) task.log(`line ${n}`);
        return text('done');
      },
      { store: sqliteStore(file) },
    );
    const { taskId } = await start(tasks, 'chatty');
    await settle();
    await written();
    const slow = new Database(file, { readonly: true });
    const reading = slow.prepare('select body from logs').iterate();
    reading.next(); // Holds its snapshot until it is done.
    const page = await tasks.engine.readLog(taskId, LOCAL_PRINCIPAL, { limitBytes: 1 });
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    const rest = await tasks.engine.readLog(taskId, LOCAL_PRINCIPAL, { cursor: page.cursor, limitBytes: 1_000_000 });
    expect(rest.lines).toHaveLength(5_000);
    reading.return?.();
    slow.close();
    folder.remove();
  });

  it('refuses a range that is none', async () => {
    chatty(() => text('done'));
    const { taskId } = await start(tasks, 'chatty');
    for (const range of [{ cursor: 0.5 }, { limitBytes: 0 }, { limitBytes: 1e9 }, { cursor: Number.NaN }]) {
      await expect(tasks.engine.readLog(taskId, LOCAL_PRINCIPAL, range)).rejects.toThrow(RangeError);
    }
  });
});
