import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RemoteTask } from '../../src/client/remote.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { serve } from '../server/peer.ts';
import { deferred } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { aTask, fake } from './fake-server.ts';
import { remoteOf, startTask } from './remotes.ts';

function tools(tasks: Tasks): void {
  tasks.registerTool('ask', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const answer = await task.ask('go', { message: 'Go?', schema: z.object({}) });
    return text(answer.action);
  });
}

/** Collects what is pushed, and waits for it. */
function collecting() {
  const seen: RemoteTask[] = [];
  let ring = (): void => {};
  const pushed: string[][] = [];
  const onPushed = (taskIds: ReadonlySet<string>): void => void pushed.push([...taskIds]);
  const until = async (wanted: (task: RemoteTask) => boolean): Promise<RemoteTask> => {
    for (;;) {
      const found = seen.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        ring = resolve;
      });
    }
  };
  const onTask = (task: RemoteTask): void => {
    seen.push(task);
    ring();
  };
  return { seen, pushed, until, onTask, onPushed };
}

describe('what a server pushes', () => {
  it('is told on 2026-07-28, from question to result [G3-C-19]', async () => {
    const served = serve(tools);
    const remote = await remoteOf(served, { abilities: { form: true } });
    const { taskId } = await startTask(remote, 'ask');
    const { until, onTask } = collecting();
    const stop = remote.watch?.([taskId], onTask, () => {});
    expect((await until(({ status }) => status === 'input_required')).questions.get('go')).toMatchObject({
      kind: 'form',
    });
    await remote.answer(taskId, new Map([['go', { action: 'decline' }]]));
    const done = await until(({ outcome }) => outcome !== undefined);
    expect(done.outcome).toEqual({ status: 'completed', result: { content: [{ type: 'text', text: 'decline' }] } });
    stop?.();
  });

  it('is told on 2025-11-25, and the outcome is fetched [G2-C-15]', async () => {
    const served = serve(tools);
    const onQuestion = async () => ({ action: 'decline' }) as const;
    const remote = await remoteOf(served, { protocol: '2025-11-25', abilities: { form: true }, onQuestion });
    const { taskId } = await startTask(remote, 'ask');
    const { until, onTask, pushed, onPushed } = collecting();
    const stop = remote.watch?.([taskId], onTask, onPushed);
    void remote.outcome(taskId);
    await until(({ status }) => status === 'input_required');
    expect(pushed.at(-1)).toEqual([taskId]);
    expect(await until(({ status }) => status === 'completed')).not.toHaveProperty('outcome');
    stop?.();
  });

  const event = (message: Json): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
  const listening = (params: Json, id: unknown, task: Json): string => {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    const { notifications } = params;
    return (
      event({ method: 'notifications/subscriptions/acknowledged', params: { _meta, notifications } }) +
      event({ method: 'notifications/tasks', params: { ...task, _meta } })
    );
  };

  it('is counted on for what the server granted, not for what was asked [G3-C-25]', async () => {
    const { remote } = await fake({
      methods: {
        'subscriptions/listen': async (_params, request) => {
          const { id } = (await request.json()) as Json;
          const granted = listening({ notifications: { taskIds: ['t-2'] } }, id, aTask({ taskId: 't-2' }));
          return new Response(granted, { headers: { 'content-type': 'text/event-stream' } });
        },
      },
    });
    const { until, onTask, pushed, onPushed } = collecting();
    const stop = remote.watch?.(['t-1', 't-2'], onTask, onPushed);
    await until(({ taskId }) => taskId === 't-2');
    expect(pushed.at(-1)).toEqual(['t-2']);
    stop?.();
  });

  it('is listened for again when its stream ends, for what is still open [G3-C-26]', async () => {
    const clock = new ManualClock();
    const listens: Json[] = [];
    const again = deferred();
    const { remote } = await fake({
      clock,
      methods: {
        'subscriptions/listen': async (params, request) => {
          const { id } = (await request.json()) as Json;
          listens.push(params);
          if (listens.length === 2) again.resolve();
          const taskId = listens.length === 1 ? 't-1' : 't-2';
          const ended = aTask({ taskId, status: 'completed', result: { content: [] } });
          const headers = { 'content-type': 'text/event-stream' };
          return new Response(listening(params, id, ended), { headers });
        },
      },
    });
    const { until, onTask, seen, pushed, onPushed } = collecting();
    remote.watch?.(['t-1', 't-2'], onTask, onPushed);
    await until(({ taskId }) => taskId === 't-1');
    while (listens.length < 2) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await again.promise;
    await until(({ taskId }) => taskId === 't-2');
    expect(listens.map(({ notifications }) => notifications)).toEqual([
      { taskIds: ['t-1', 't-2'] },
      { taskIds: ['t-2'] },
    ]);
    expect(seen).toHaveLength(2);
    expect(pushed.filter((taskIds) => taskIds.length > 0)).toEqual([['t-1', 't-2'], ['t-2']]);
    expect(pushed.at(-1)).toEqual([]); // The stream has ended.
    clock.advance(120_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(listens).toHaveLength(2);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(1_000);
  });

  it('is listened for again when an error ends a stream that was granted, as a gateway that was restarted says', async () => {
    const clock = new ManualClock();
    let listens = 0;
    const { remote } = await fake({
      clock,
      methods: {
        'subscriptions/listen': async (params, request) => {
          const { id } = (await request.json()) as Json;
          listens += 1;
          const status = listens === 1 ? {} : { status: 'completed', result: { content: [] } };
          const restarted = event({ id, error: { code: -32_603, message: 'the gateway restarted' } });
          const headers = { 'content-type': 'text/event-stream' };
          return new Response(listening(params, id, aTask(status)) + restarted, { headers });
        },
      },
    });
    const { until, onTask, pushed, onPushed } = collecting();
    remote.watch?.(['t-1'], onTask, onPushed);
    while (listens < 2) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(({ status }) => status === 'completed');
    expect(pushed.slice(0, 2)).toEqual([['t-1'], []]);
  });

  it('as the end of a task ends its progress too', async () => {
    let progressToken: unknown;
    const { remote } = await fake({
      methods: {
        'tools/call': ({ _meta }) => {
          progressToken = (_meta as Json).progressToken;
          return { result: { ...aTask(), resultType: 'task' } };
        },
        'subscriptions/listen': async (params, request) => {
          const { id } = (await request.json()) as Json;
          const progress = event({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
          const over = listening(params, id, aTask({ status: 'completed', result: { content: [] } }));
          const other = listening(params, id, aTask({ taskId: 't-2' }));
          const headers = { 'content-type': 'text/event-stream' };
          return new Response(progress + over + progress + other, { headers });
        },
      },
    });
    const heard: unknown[] = [];
    const onProgress = (progress: unknown): void => void heard.push(progress);
    await remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k', onProgress });
    const { until, onTask, onPushed } = collecting();
    const stop = remote.watch?.(['t-1', 't-2'], onTask, onPushed);
    await until(({ taskId }) => taskId === 't-2');
    stop?.();
    expect(heard).toEqual([{ progress: 1 }]);
  });

  it('is not asked for again where it was refused', async () => {
    const clock = new ManualClock();
    const { remote, count } = await fake({ clock, methods: {} });
    const { pushed, onPushed } = collecting();
    remote.watch?.(['t-1'], () => {}, onPushed);
    await remote.get('t-1').catch(() => undefined);
    clock.advance(120_000);
    await remote.get('t-1').catch(() => undefined);
    expect(count('subscriptions/listen')).toBe(1);
    expect(pushed.flat()).toEqual([]);
  });
});
