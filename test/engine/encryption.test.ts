import { afterEach, beforeEach, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type TaskContext, type Tasks, type TasksOptions, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { pass, reaches, recordingLogger, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder, someKeys } from '../support/stores.ts';

let folder: ReturnType<typeof scratchFolder>;
let clock: ManualClock;
const all: Tasks[] = [];
beforeEach(() => {
  folder = scratchFolder();
  clock = new ManualClock();
});
afterEach(async () => {
  for (const tasks of all.splice(0)) await tasks.close();
  folder.remove();
});

async function withKeys(keys: string[], options: Partial<TasksOptions> = {}): Promise<Tasks> {
  const store = sqliteStore(`${folder.path}/tasks.db`, { encryption: someKeys(...keys) });
  const { tasks } = someTasks({ store, clock, ...options });
  all.push(tasks);
  await tasks.start();
  return tasks;
}

it('a process that lacks a key works on what it can read, and leaves the rest as it is for those who can', async () => {
  const first = await withKeys(['one'], { slots: 0, attendedSlots: 0 });
  first.registerTool('echo', {}, () => text('done'));
  const shut: string[] = [];
  for (let n = 0; n < 5; n += 1) shut.push((await start(first, 'echo')).taskId);
  await first.close();
  await (await withKeys(['one', 'two'], { slots: 0 })).close();

  const { logger, lines } = recordingLogger();
  const second = await withKeys(['two'], { slots: 2, logger });
  second.registerTool('echo', {}, () => text('done'));
  const { taskId } = await start(second, 'echo');
  expect((await second.engine.wait(taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ status: 'completed' });
  await pass(clock, 60_000);
  const told = lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  expect(told).toEqual(['a task cannot be decrypted here and is left to other processes']);
  for (const id of shut) {
    expect(await second.inspect.get(id)).toMatchObject({ status: 'working', runState: 'ready', attempt: 0 });
  }
  await second.close();

  const third = await withKeys(['one', 'two']);
  third.registerTool('echo', {}, () => text('done'));
  await pass(clock, 10_000);
  for (const id of shut) {
    expect((await third.engine.wait(id, LOCAL_PRINCIPAL)).state).toMatchObject({ status: 'completed' });
  }
});

it('a run whose records are encrypted with a key that is not here goes on elsewhere, and no attempt is spent', async () => {
  let steps = 0;
  const handler = async (_args: unknown, task: TaskContext) => {
    await task.step('once', () => {
      steps += 1;
    });
    await task.sleep(60_000);
    return text(`attempt ${task.attempt}`);
  };
  // Started before the new key was there; this one gets its tool later.
  const { logger, lines } = recordingLogger();
  const old = await withKeys(['one'], { logger });
  const front = await withKeys(['one'], { slots: 0, attendedSlots: 0 });
  front.registerTool('work', {}, handler);
  const { taskId } = await start(front, 'work');
  const rotated = await withKeys(['one', 'two']);
  rotated.registerTool('work', {}, handler);
  await pass(clock, 20_000);
  expect(await rotated.inspect.get(taskId)).toMatchObject({ runState: 'ready', steps: 2 });
  await rotated.close();

  old.registerTool('work', {}, handler);
  await pass(clock, 200_000);
  expect(lines.some(({ message }) => message === 'a run broke off')).toBe(true);
  expect(await old.inspect.get(taskId)).toMatchObject({ status: 'working', attempt: 0 });
  await old.close();

  const again = await withKeys(['one', 'two']);
  again.registerTool('work', {}, handler);
  await pass(clock, 20_000);
  await settle();
  await reaches(again, taskId, 'completed');
  expect((await again.engine.get(taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ result: text('attempt 1') });
  expect(steps).toBe(1);
});
