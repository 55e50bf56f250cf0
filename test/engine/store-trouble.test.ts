import { expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, StoreFailedError, StoreUnavailableError } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { type StoreBackend, sqliteStore } from '../../src/store/index.ts';
import { pass, recordingLogger, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

/** A store one of whose methods can be made to fail. */
function troubled(
  method: 'recordStep' | 'finish',
  trouble: { error: Error | undefined },
  path = ':memory:',
): StoreBackend {
  return {
    async open(environment) {
      const { store, dispatcher } = await sqliteStore(path).open(environment);
      const works = store[method].bind(store) as (...args: unknown[]) => Promise<never>;
      const may = (...args: unknown[]) =>
        trouble.error === undefined ? works(...args) : Promise.reject(trouble.error);
      return { store: Object.assign(store, { [method]: may }), dispatcher };
    },
  };
}

it.each(['recordStep', 'finish'] as const)('does nothing twice when %s fails for a while', async (method) => {
  const trouble = { error: new StoreUnavailableError('the disk is full') as Error | undefined };
  const { tasks, clock } = someTasks({ store: troubled(method, trouble) });
  let effects = 0;
  tasks.registerTool('work', {}, async (_args, task) => {
    await task.step('effect', () => {
      effects += 1;
    });
    return text('done');
  });
  const { taskId } = await start(tasks, 'work');
  await settle();
  await pass(clock, 3_000);
  expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
  trouble.error = undefined;
  await pass(clock, 1_000);
  expect((await tasks.engine.wait(taskId, LOCAL_PRINCIPAL)).state).toEqual({
    status: 'completed',
    result: text('done'),
  });
  expect(effects).toBe(1);
  await tasks.close();
});

it("keeps the store's own faults from the task and its reader: the run breaks off, and recovery decides", async () => {
  const folder = scratchFolder(); // In a file, where workers hold locks: this one lives on.
  const { logger, lines } = recordingLogger();
  const trouble = { error: new StoreFailedError('NOT NULL constraint failed: steps.seq') as Error | undefined };
  const { tasks, clock } = someTasks({ store: troubled('recordStep', trouble, `${folder.path}/tasks.db`), logger });
  tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    await task.step('one', () => 1);
    return text(`attempt ${task.attempt}`);
  });
  const { taskId } = await start(tasks, 'work');
  await settle();
  expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
  expect(lines.map(({ message }) => message)).toContain('a run broke off');
  trouble.error = undefined;
  await pass(clock, 80_000); // The worker lives, so its lease and a grace have to pass.
  expect((await tasks.engine.wait(taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ result: text('attempt 2') });
  await tasks.close();
  folder.remove();
});
