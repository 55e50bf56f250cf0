import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// tasks/result of 2025-11-25: what the call itself would have been answered with, once there is such a thing.

const RELATED = 'io.modelcontextprotocol/related-task';
const verdict = {
  content: [{ type: 'text', text: 'no such film' }],
  structuredContent: { reason: 'unknown', tried: 3 },
  isError: true,
};

/** `go` lets the tool `waits` end. */
function tools(go: Promise<void> = Promise.resolve()) {
  return (tasks: Tasks): void => {
    tasks.registerTool('waits', {}, async () => {
      await go;
      return { ...text('done'), _meta: { mine: 1, [RELATED]: { taskId: 'forged' } } };
    });
    tasks.registerTool('reports', {}, () => verdict as never);
    tasks.registerTool('breaks', {}, () => {
      throw Object.assign(new Error('the projector broke'), { code: -32050, data: { reel: 3 } });
    });
    tasks.registerTool('throws', {}, () => {
      throw new Error('out of film');
    });
    tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  };
}

const over = [
  ['with a session', (served: Served) => LegacyPeer.connect(served)],
  ['without one', async (served: Served) => LegacyPeer.stateless(served, '2025-11-25')],
] as const;

const metaOf = (taskId: string): Json => ({ [RELATED]: { taskId } });

describe.each(over)('tasks/result over HTTP, %s', (_, connect) => {
  it('blocks until the end, then gives the result with the key of its task [G2-S-28] [G2-S-29] [G2-S-31] [C-006]', async () => {
    const go = deferred();
    const peer = await connect(serve(tools(go.promise)));
    const { taskId } = await peer.start('waits');
    let answered = false;
    const waiting = peer.send('tasks/result', { taskId }).finally(() => {
      answered = true;
    });
    await settle();
    expect(answered).toBe(false);
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
    go.resolve();
    const { result, others } = await waiting;
    expect(others).toEqual([]);
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }], _meta: { mine: 1, ...metaOf(taskId) } });
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'completed' });
  });

  it('gives the same as often as it is asked, to whoever asks [G2-S-28] [C-101]', async () => {
    const served = serve(tools());
    const peer = await connect(served);
    const other = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('waits');
    const answers: unknown[] = [];
    for (const reader of [peer, peer, other, other])
      answers.push((await reader.send('tasks/result', { taskId })).result);
    // Dropped, unread.
    const dropped = new AbortController();
    await peer.stream('tasks/result', { taskId }, { signal: dropped.signal });
    dropped.abort();
    answers.push((await peer.send('tasks/result', { taskId })).result);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('is answered on every stream that waits [G2-S-29]', async () => {
    const go = deferred();
    const peer = await connect(serve(tools(go.promise)));
    const { taskId } = await peer.start('waits');
    const waiting = [1, 2, 3].map(() => peer.send('tasks/result', { taskId }));
    await settle();
    go.resolve();
    for (const reply of await Promise.all(waiting)) expect(reply.result).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('gives the error of a call that failed as that error [G2-S-30] [G2-S-54]', async () => {
    const peer = await connect(serve(tools()));
    const { taskId } = await peer.start('breaks');
    const { status, message } = await peer.send('tasks/result', { taskId });
    expect(status).toBe(200);
    expect(message['error']).toEqual({ code: -32050, message: 'the projector broke', data: { reel: 3 } });
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({
      status: 'failed',
      statusMessage: 'the projector broke',
    });
    const thrown = await peer.start('throws');
    expect((await peer.send('tasks/result', { taskId: thrown.taskId })).error).toMatchObject({ code: -32603 });
  });

  it('gives what a tool itself calls an error as the result it is [G2-S-30] [G2-S-54] [G2-S-55] [C-001]', async () => {
    const peer = await connect(serve(tools()));
    const { taskId } = await peer.start('reports');
    expect((await peer.send('tasks/result', { taskId })).result).toEqual({ ...verdict, _meta: metaOf(taskId) });
    const failed = { taskId, status: 'failed', statusMessage: 'no such film' };
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject(failed);
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [failed] });
    expect((await peer.call('reports')).result).toEqual(verdict);
  });

  it('ends for all who wait when the task is cancelled, and says so ever after [G2-S-28]', async () => {
    const peer = await connect(serve(tools()));
    const { taskId } = await peer.start('forever');
    const waiting = [1, 2].map(() => peer.send('tasks/result', { taskId }));
    await settle();
    await peer.send('tasks/cancel', { taskId });
    const error = { code: -32603, message: 'Task was cancelled', data: { taskId, status: 'cancelled' } };
    for (const reply of await Promise.all(waiting)) expect(reply.error).toEqual(error);
    expect((await peer.send('tasks/result', { taskId })).error).toEqual(error);
  });
});

describe('a server whose clients throw failed payloads away', () => {
  it('can call what a tool calls an error completed [C-001]', async () => {
    const served = serve(tools(), { server: { isErrorStatus: 'completed' } });
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('reports');
    expect((await peer.send('tasks/result', { taskId })).result).toEqual({ ...verdict, _meta: metaOf(taskId) });
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'completed' });
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ status: 'completed' }] });
    const broken = await peer.start('breaks');
    await peer.send('tasks/result', { taskId: broken.taskId });
    expect((await peer.send('tasks/get', { taskId: broken.taskId })).result).toMatchObject({ status: 'failed' });
  });

  it('does not hold an output schema against an error [C-005]', async () => {
    const served = serve((tasks) =>
      tasks.registerTool('reports', { outputSchema: z.object({ frames: z.number() }) }, () => verdict as never),
    );
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('reports');
    expect((await peer.send('tasks/result', { taskId })).result).toEqual({ ...verdict, _meta: metaOf(taskId) });
  });
});

describe('a reader that hangs up', () => {
  it('cancels nothing, and leaves nothing behind, 500 times over [G2-S-69] [C-056]', async () => {
    const go = deferred();
    const served = serve(tools(go.promise));
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('waits');
    const watched = watching(served);
    const leave = new AbortController();
    const streams = Array.from({ length: 500 }, () =>
      peer.stream('tasks/result', { taskId }, { signal: leave.signal }),
    );
    await Promise.all(streams);
    await settle();
    expect(watched.size).toBe(500);
    leave.abort();
    await settle();
    expect(watched.size).toBe(0);
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
    go.resolve();
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('is not missed where it called the request off', async () => {
    const go = deferred();
    const served = serve(tools(go.promise));
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('waits');
    const watched = watching(served);
    const reply = peer.stream('tasks/result', { taskId }, { id: 'the wait' });
    const response = await reply;
    await settle();
    expect(watched.size).toBe(1);
    await peer.notify('notifications/cancelled', { requestId: 'the wait', reason: 'enough' });
    expect(await response.text()).not.toContain('data:'); // It ends, without an answer.
    await settle();
    expect(watched.size).toBe(0);
    go.resolve();
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject({ content: [{ text: 'done' }] });
  });
});

/** Who waits for news of tasks from now on. */
function watching({ tasks }: Served): { readonly size: number } {
  const { engine } = tasks;
  const watch = engine.watch.bind(engine);
  const open = new Set<object>();
  engine.watch = (taskId, listener) => {
    const one = {};
    open.add(one);
    const unwatch = watch(taskId, listener);
    return () => {
      open.delete(one);
      unwatch();
    };
  };
  return open;
}
