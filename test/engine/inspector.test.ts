import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL, TaskNotFoundError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, reaches, settle, someTasks, start } from '../support/engine.ts';

let tasks: Tasks;
let go: ReturnType<typeof deferred<void>>;
beforeEach(() => {
  ({ tasks } = someTasks());
  go = deferred();
  const inputSchema = z.object({ fail: z.boolean().default(false) });
  tasks.registerTool('quick', { inputSchema }, ({ fail }) => {
    if (fail) throw new Error('boom');
    return text('done');
  });
  tasks.registerTool('slow', {}, async (_args, task) => {
    await task.step('first', () => 'secret value');
    await Promise.race([go.promise, new Promise((resolve) => task.signal.addEventListener('abort', resolve))]);
    return text('done');
  });
});
afterEach(() => tasks.close());

describe('tasks.inspect', () => {
  it('shows operators the tasks of everybody', async () => {
    const { taskId } = await start(tasks, 'quick', { fail: true });
    await reaches(tasks, taskId, 'failed');
    const { tasks: listed } = await tasks.inspect.list({ status: 'failed' });
    expect(listed.map((task) => task.taskId)).toEqual([taskId]);
    expect(await tasks.inspect.get(taskId)).toMatchObject({ name: 'quick', error: { message: 'boom' } });
    expect(await tasks.inspect.attempts(taskId)).toMatchObject([{ attempt: 1, outcome: 'failed', error: 'boom' }]);
    expect(await tasks.inspect.payloads(taskId)).toMatchObject({ input: { fail: true } });
    expect(await tasks.inspect.counts()).toMatchObject({ total: 1, byStatus: { failed: 1 } });
    expect(await tasks.inspect.storage()).toMatchObject({ fileBytes: expect.any(Number), walBytes: 0 }); // In memory.
    expect(await tasks.inspect.find(taskId.slice(0, 8))).toEqual([taskId]);
  });

  it('tells the story of a run', async () => {
    const { taskId } = await start(tasks, 'slow');
    await settle();
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    const timeline = await tasks.inspect.timeline(taskId);
    expect(timeline.map(({ type }) => type)).toEqual(['created', 'claimed', 'step_recorded', 'completed']);
    expect(JSON.stringify(timeline)).not.toContain('secret');
    expect(await tasks.inspect.timeline(taskId, { after: timeline[1]?.seq ?? 0, limit: 1 })).toEqual([timeline[2]]);
  });

  it('runs a requeued task, and leaves an open one alone', async () => {
    const { taskId } = await start(tasks, 'slow');
    expect(await tasks.inspect.requeue(taskId)).toEqual({ outcome: 'still_open' });
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    const requeued = await tasks.inspect.requeue(taskId);
    if (requeued.outcome !== 'requeued') throw new Error('not requeued');
    expect(requeued.taskId).not.toBe(taskId);
    await reaches(tasks, requeued.taskId, 'completed');
    expect((await tasks.engine.get(requeued.taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ status: 'completed' });
  });

  it('stops handlers by cancelling, one or many, and by removing', async () => {
    const taskIds: string[] = [];
    for (let n = 0; n < 3; n += 1) taskIds.push((await start(tasks, 'slow')).taskId);
    const [one = '', ...others] = taskIds;
    await settle();
    expect(await tasks.inspect.cancel(one, { reason: 'too slow', by: 'ops@example' })).toBe('cancelled');
    expect(await tasks.inspect.cancel(one)).toBe('already_terminal');
    expect((await tasks.inspect.timeline(one)).at(-1)?.body).toEqual({ reason: 'too slow', by: 'ops@example' });
    expect((await tasks.inspect.cancelMany({ name: 'slow' })).sort()).toEqual(others.sort());
    const running = await start(tasks, 'slow');
    await settle();
    await tasks.inspect.remove(running.taskId);
    await expect(tasks.engine.get(running.taskId, LOCAL_PRINCIPAL)).rejects.toThrow(TaskNotFoundError);
    expect(await tasks.inspect.counts()).toMatchObject({ total: 3, byRunState: { done: 3 } });
  });

  it('says so when there is no such task', async () => {
    const { inspect } = tasks;
    for (const look of [
      inspect.get,
      inspect.payloads,
      inspect.readLog,
      inspect.requeue,
      inspect.cancel,
      inspect.remove,
    ]) {
      await expect((look as (id: string) => Promise<unknown>).call(inspect, 'tsk_unknown')).rejects.toThrow(
        TaskNotFoundError,
      );
    }
  });

  it('refuses limits and cursors that are none', async () => {
    const { inspect } = tasks;
    for (const limit of [0, 1_001, 1.5])
      await expect(inspect.list({ limit })).rejects.toThrow(/list: limit.*1 to 1000/);
    await expect(inspect.list({ cursor: 'garbage' })).rejects.toThrow(TypeError);
    await expect(inspect.timeline('x', { limit: 0 })).rejects.toThrow(RangeError);
  });
});
