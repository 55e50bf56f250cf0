import { InMemoryTaskStore, type TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { RELATED_TASK_META_KEY, type Task } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/core/index.ts';
import { durableTaskStore } from '../../../src/server/sdk-v1/index.ts';
import { someTasks } from '../../support/engine.ts';
import { inRequest } from './requests.ts';

// What code that was written against the SDK's own store may rely on, held against both.
const REQUEST = { method: 'tools/call', params: { name: 'build', arguments: { target: 'app' } } };
const RESULT = { content: [{ type: 'text', text: 'built' }], _meta: { mine: 1 }, structuredContent: { ok: true } };
const FAILURE = { content: [{ type: 'text', text: 'no disk' }], isError: true };

const stores: { name: string; open(): TaskStore }[] = [
  {
    name: 'InMemoryTaskStore of the SDK',
    open() {
      const store = new InMemoryTaskStore();
      onTestFinished(() => store.cleanup());
      return store;
    },
  },
  {
    name: 'durableTaskStore',
    open() {
      const { tasks } = someTasks({ clock: systemClock as never });
      onTestFinished(() => tasks.close());
      return durableTaskStore(tasks);
    },
  },
];

describe.each(stores)('a TaskStore of the SDK v1: $name', ({ open }) => {
  const within = <Value>(work: (store: TaskStore) => Promise<Value>) => {
    const store = open();
    return inRequest(() => work(store));
  };
  const create = (store: TaskStore, params = {}) => store.createTask(params, 1, REQUEST);

  it('makes a task that works, with an id of its own and what was wished for', () =>
    within(async (store) => {
      const task = await create(store, { ttl: 60_000, pollInterval: 250 });
      const { taskId, createdAt } = task;
      expect(task).toEqual({
        taskId,
        createdAt,
        status: 'working',
        ttl: 60_000,
        lastUpdatedAt: createdAt,
        pollInterval: 250,
      });
      expect(new Date(createdAt).toISOString()).toBe(createdAt);
      expect(await store.getTask(taskId)).toEqual(task);
      const other = await create(store);
      expect(other.taskId).not.toBe(taskId);
      expect(other.pollInterval).toBe(1_000);
      expect(await store.getTask('nobody-knows-it')).toBeNull();
    }));

  it('hands out copies', () =>
    within(async (store) => {
      const { taskId } = await create(store);
      ((await store.getTask(taskId)) as Task).status = 'failed';
      expect(await store.getTask(taskId)).toMatchObject({ status: 'working' });
    }));

  it('says how it goes; a later word without a message leaves the message', () =>
    within(async (store) => {
      const { taskId, lastUpdatedAt } = await create(store);
      await store.updateTaskStatus(taskId, 'working', 'half');
      const half = (await store.getTask(taskId)) as Task;
      expect(half).toMatchObject({ status: 'working', statusMessage: 'half' });
      await store.updateTaskStatus(taskId, 'input_required');
      const waits = (await store.getTask(taskId)) as Task;
      expect(waits).toMatchObject({ status: 'input_required', statusMessage: 'half' });
      await store.updateTaskStatus(taskId, 'working', 'on');
      expect(await store.getTask(taskId)).toMatchObject({ status: 'working', statusMessage: 'on' });
      expect(Date.parse(half.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(lastUpdatedAt));
    }));

  it.each([
    ['completed', RESULT],
    ['failed', FAILURE],
    ['completed', FAILURE],
    ['completed', { ...FAILURE, _meta: { mine: 1 } }],
    ['completed', {}],
  ] as const)('keeps a result as it was, and that it is %s: %j', (status, result) =>
    within(async (store) => {
      const { taskId } = await create(store);
      await expect(store.getTaskResult(taskId)).rejects.toThrow();
      await store.storeTaskResult(taskId, status, result as never);
      expect(await store.getTask(taskId)).toMatchObject({ status });
      expect(await store.getTaskResult(taskId)).toEqual(result);
      expect(await store.getTaskResult(taskId)).toEqual(result);
    }),
  );

  it.each(['completed', 'failed', 'cancelled'] as const)('may be told that it is %s, without a result', (status) =>
    within(async (store) => {
      const { taskId } = await create(store);
      await store.updateTaskStatus(taskId, status, 'so it is');
      expect(await store.getTask(taskId)).toMatchObject({ status });
    }),
  );

  it('never changes how a task ended', () =>
    within(async (store) => {
      for (const end of ['completed', 'failed', 'cancelled'] as const) {
        const { taskId } = await create(store);
        if (end === 'cancelled') await store.updateTaskStatus(taskId, 'cancelled');
        else await store.storeTaskResult(taskId, end, FAILURE as never);
        const ended = await store.getTask(taskId);
        await store.storeTaskResult(taskId, 'completed', RESULT as never).catch(() => {});
        await store.updateTaskStatus(taskId, 'working', 'again').catch(() => {});
        await expect(store.updateTaskStatus(taskId, 'cancelled')).rejects.toThrow(end);
        expect(await store.getTask(taskId)).toEqual(ended);
        if (end === 'cancelled') await expect(store.getTaskResult(taskId)).rejects.toThrow();
        else expect(await store.getTaskResult(taskId)).toEqual(FAILURE);
      }
    }));

  it('lists every task once, page by page, and refuses cursors it did not give', () =>
    within(async (store) => {
      const ids = new Set<string>();
      for (let n = 0; n < 60; n += 1) ids.add((await create(store)).taskId);
      const seen: string[] = [];
      let pages = 0;
      let cursor: string | undefined;
      do {
        const page = await store.listTasks(cursor);
        seen.push(...page.tasks.map(({ taskId }) => taskId));
        cursor = page.nextCursor;
        pages += 1;
      } while (cursor !== undefined);
      expect(seen).toHaveLength(60);
      expect(new Set(seen)).toEqual(ids);
      expect(pages).toBeGreaterThan(1);
      await expect(store.listTasks('forged')).rejects.toThrow(/cursor/i);
    }));

  it('keeps the related-task key for the SDK to set', () =>
    within(async (store) => {
      const { taskId } = await create(store);
      await store.storeTaskResult(taskId, 'completed', RESULT as never);
      expect((await store.getTaskResult(taskId))._meta).not.toHaveProperty([RELATED_TASK_META_KEY]);
    }));
});
