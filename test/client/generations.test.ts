import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Remote } from '../../src/client/remote.ts';
import { RemoteGoneError, RemoteRefusedError } from '../../src/client/remote-errors.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { type Served, serve } from '../server/peer.ts';
import { atOnce, ended, remoteOf, start, startTask } from './remotes.ts';

const verdict = {
  isError: true,
  content: [{ type: 'text' as const, text: '3 of 200 tests fail' }],
  structuredContent: { failed: 3 },
};

function tools(tasks: Tasks): void {
  const task = { task: { onWorkerLost: 'rerun' } } as const;
  tasks.registerTool('add', { ...task, inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) =>
    text(String(a + b)),
  );
  // What a tool says of a failure need not be what it says of a success.
  tasks.registerTool(
    'judge',
    { ...task, outputSchema: z.object({ passed: z.number() }) },
    async () => verdict as never,
  );
  tasks.registerTool('break', task, async () => {
    throw Object.assign(new Error('no such column'), { code: -32050, data: { column: 'x' } });
  });
  tasks.registerTool('wait', task, async (_args, context) => {
    await context.ask('go', { message: 'Go?', schema: z.object({}) });
    return text('gone');
  });
}

// What a caller gets must not depend on how its server says it.
describe.each(['2026-07-28', '2025-11-25'])('a server of ours, spoken to in %s', (protocol) => {
  const connect = async (): Promise<{ served: Served; remote: Remote }> => {
    const served = serve(tools);
    return { served, remote: await remoteOf(served, { protocol, abilities: { form: true } }) };
  };

  it('says what it is [G3-C-23] [G3-C-24]', async () => {
    const { remote } = await connect();
    expect(remote.revision).toBe(protocol);
    expect(remote.repeatable).toBe(true);
    expect(remote.origin).toBe('http://127.0.0.1/mcp (test-server)');
  });

  it('starts a task and fetches its result [G3-C-02] [G2-C-06]', async () => {
    const { served, remote } = await connect();
    const task = await startTask(remote, 'add', { a: 1, b: 2 });
    expect(task).toMatchObject({ status: 'working', ttlMs: expect.any(Number), pollIntervalMs: expect.any(Number) });
    const outcome = await ended(remote, task, served.reaches(task.taskId, 'completed'));
    expect(outcome).toEqual({ status: 'completed', result: { content: [{ type: 'text', text: '3' }] } });
  });

  it("keeps a tool's own failure whole, whatever its status is called [C-001] [C-002] [C-005]", async () => {
    const { served, remote } = await connect();
    const task = await startTask(remote, 'judge');
    const outcome = await ended(remote, task, served.reaches(task.taskId, 'completed'));
    expect(outcome).toEqual({ status: 'completed', result: verdict });
  });

  it('keeps code and data of an error [C-002]', async () => {
    const { served, remote } = await connect();
    const task = await startTask(remote, 'break');
    const outcome = await ended(remote, task, served.reaches(task.taskId, 'failed'));
    const error = { code: -32050, message: 'no such column', data: { column: 'x' } };
    expect(outcome).toEqual({ status: 'failed', error });
  });

  it('cancels a task, and once more without complaint [G3-C-17] [G2-C-18]', async () => {
    const { served, remote } = await connect();
    const task = await startTask(remote, 'wait');
    await served.reaches(task.taskId, 'input_required');
    await remote.cancel(task.taskId);
    expect(await remote.get(task.taskId)).toMatchObject({ status: 'cancelled', outcome: { status: 'cancelled' } });
    expect(await remote.outcome(task.taskId)).toMatchObject({ status: 'cancelled' });
    await remote.cancel(task.taskId);
  });

  it('says that a task is gone, in each way to ask for it [C-010]', async () => {
    const { remote } = await connect();
    for (const taskId of ['tsk_none', 'ü', 'x'.repeat(10_000)]) {
      await expect(remote.get(taskId)).rejects.toThrow(RemoteGoneError);
      await expect(remote.outcome(taskId)).rejects.toThrow(RemoteGoneError);
      await expect(remote.cancel(taskId)).rejects.toThrow(RemoteGoneError);
    }
  });

  it('tells a refusal from a failure', async () => {
    const { remote } = await connect();
    await expect(start(remote, 'unknown')).rejects.toThrow(RemoteRefusedError);
    const wrong = atOnce(remote, 'add', { a: 'one' });
    // Who asked for a task in a session cannot be answered with a result.
    if (protocol === '2025-11-25') await expect(wrong).rejects.toThrow(/Invalid arguments for tool add: a: /);
    else expect(await wrong).toMatchObject({ status: 'completed', result: { isError: true } });
  });

  it('sends a call twice under one key, and has one task', async () => {
    const { remote } = await connect();
    const call = { name: 'wait', arguments: {}, idempotencyKey: 'the same' };
    const [first, second] = [await remote.start(call), await remote.start(call)];
    expect(first).toMatchObject({ kind: 'task' });
    expect((second as { task: unknown }).task).toMatchObject({
      taskId: (first as { task: { taskId: string } }).task.taskId,
    });
  });
});
