import {
  CallToolResultSchema,
  ElicitRequestSchema,
  TaskStatusNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/core/index.ts';
import { createTasks, text } from '../../../src/engine/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { settle } from '../../support/engine.ts';
import { silent } from '../../support/stores.ts';
import { createWireValidator } from '../../support/wire-validator.ts';
import { call, connected, streamed } from './servers.ts';

// A server and a client of the SDK's version 1, as they are; only the store is ours. By the system's clock, which both use.
function someTasks() {
  const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: systemClock, drainMs: 0 });
  onTestFinished(() => tasks.close());
  return tasks;
}

const built = text('built');
const resultOf = (client: Awaited<ReturnType<typeof connected>>['client'], taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

describe('registerToolTask on a durable store', () => {
  it('goes from a call to its result, in messages that are legal', async () => {
    const validator = createWireValidator();
    const { client, next } = await connected(someTasks(), { validator });
    const told: string[] = [];
    client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => {
      told.push(`${params.status} ${params.statusMessage ?? ''}`.trim());
    });
    const stream = streamed(client, 'build', 60_000);
    const job = await next();
    await job.update('working', 'half way');
    await job.finish('completed', built as never);
    const seen = await stream;
    expect(seen[0]).toMatchObject({
      type: 'taskCreated',
      task: { taskId: job.taskId, status: 'working', ttl: 60_000 },
    });
    expect(seen.at(-1)).toMatchObject({ type: 'result', result: built });
    expect(told).toEqual(['working half way', 'completed']);
    expect(job.signal.aborted).toBe(false);
    expect(await resultOf(client, job.taskId)).toMatchObject({
      ...built,
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: job.taskId } },
    });
    validator.assertClean();
    expect(validator.checked).toBeGreaterThan(5);
  });

  it('serves a call without a task, too: the SDK polls for it', async () => {
    const { client, next } = await connected(someTasks());
    const answer = client.callTool({ name: 'maybe', arguments: { target: 'app' } });
    await (await next()).finish('failed', { ...text('no disk'), isError: true } as never);
    expect(await answer).toMatchObject({ ...text('no disk'), isError: true });
  });

  it('lists, and cancels, which the work hears of; what it brings late hurts nobody', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const { client, next } = await connected(someTasks());
    const taskId = await call(client);
    const job = await next();
    const stopped = new Promise((resolve) => job.signal.addEventListener('abort', resolve));
    expect(await client.experimental.tasks.listTasks()).toMatchObject({ tasks: [{ taskId, status: 'working' }] });
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ taskId, status: 'cancelled' });
    await stopped;
    void job.finish('completed', built as never); // As in the background: nobody looks at what comes of it.
    await settle();
    expect(unhandled).toEqual([]);
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'cancelled' });
    await expect(resultOf(client, taskId)).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('Task was cancelled'),
      data: { taskId, status: 'cancelled' },
    });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
  });

  it('asks its client while that waits for the result', async () => {
    const { client, next } = await connected(someTasks());
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: params.message === 'Go on?' ? 'accept' : 'cancel',
      content: { ok: true },
    }));
    const stream = streamed(client, 'build');
    const job = await next();
    const { action } = await job.ask('Go on?');
    await job.update('working');
    await job.finish('completed', text(action) as never);
    const seen = await stream;
    expect(seen.map((message) => (message.type === 'taskStatus' ? message.task.status : message.type))).toContain(
      'input_required',
    );
    expect(seen.at(-1)).toMatchObject({ type: 'result', result: text('accept') });
  });

  it('[G2-S-56] [G2-S-57] [G2-S-58] tells principals apart, whoever shares a server', async () => {
    const tasks = someTasks();
    const alice = await connected(tasks, { who: 'alice' });
    const bob = await connected(tasks, { who: 'bob' });
    const taskId = await call(alice.client);
    const job = await alice.next();
    await job.finish('completed', text('secret') as never);
    const open = await call(alice.client);
    for (const id of [taskId, open]) {
      await expect(bob.client.experimental.tasks.getTask(id)).rejects.toMatchObject({ code: -32602 });
      await expect(resultOf(bob.client, id)).rejects.toMatchObject({ code: -32602 });
      await expect(bob.client.experimental.tasks.cancelTask(id)).rejects.toMatchObject({ code: -32602 });
    }
    expect((await bob.client.experimental.tasks.listTasks()).tasks).toEqual([]);
    const again = await connected(tasks, { who: 'alice' });
    expect(await resultOf(again.client, taskId)).toMatchObject(text('secret'));
    expect((await again.client.experimental.tasks.listTasks()).tasks).toHaveLength(2);
    expect(await again.client.experimental.tasks.cancelTask(open)).toMatchObject({ status: 'cancelled' });
  });

  it('shows an expired task as failed, to its poller and its waiter alike', async () => {
    const { client, next } = await connected(someTasks());
    const taskId = await call(client, 60);
    const job = await next();
    await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
    const why = expect.stringContaining('expired before completion');
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'failed', statusMessage: why });
    await expect(resultOf(client, taskId)).rejects.toMatchObject({ code: -32603, message: why });
  });

  it('goes on after the connection that started it is gone', async () => {
    const tasks = someTasks();
    const first = await connected(tasks);
    const taskId = await call(first.client);
    const job = await first.next();
    const problems: unknown[] = [];
    first.server.server.onerror = (error) => problems.push(error);
    await first.client.close();
    await job.update('working', 'alone'); // There is nobody to be notified, which is no fault of the work.
    await job.finish('completed', built as never);
    expect(problems).toMatchObject([{ message: 'Not connected' }, { message: 'Not connected' }]);
    expect(job.signal.aborted).toBe(false);
    const second = await connected(tasks);
    expect(await resultOf(second.client, taskId)).toMatchObject(built);
  });
});
