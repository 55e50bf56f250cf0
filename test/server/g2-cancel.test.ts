import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// Cancelling a task of 2025-11-25: by tasks/cancel only, at once, and for good.

function register(tasks: Tasks): void {
  tasks.registerTool('quick', {}, () => text('done'));
  tasks.registerTool('reports', {}, () => ({ ...text('no such film'), isError: true }));
  tasks.registerTool('breaks', {}, () => {
    throw new Error('broke');
  });
}

/** A tool that goes on when it is told to stop, until `go`. */
function deaf() {
  const [stopped, go, ended] = [deferred(), deferred(), deferred()];
  const served = serve((tasks) => {
    register(tasks);
    tasks.registerTool('deaf', {}, async (_args, task) => {
      task.signal.addEventListener('abort', () => stopped.resolve(), { once: true });
      await go.promise;
      ended.resolve();
      return text('too late');
    });
  });
  return { served, stopped, go, ended };
}

const over = [
  ['with a session', (served: Served) => LegacyPeer.connect(served)],
  ['without one', async (served: Served) => LegacyPeer.stateless(served, '2025-11-25')],
] as const;

describe.each(over)('tasks/cancel over HTTP, %s', (_, connect) => {
  it('answers with the task, cancelled already, and stops the work [G2-S-44] [G2-S-45] [C-029]', async () => {
    const { served, stopped } = deaf();
    const peer = await connect(served);
    const { taskId } = await peer.start('deaf');
    const { result } = await peer.send('tasks/cancel', { taskId });
    expect(result).toMatchObject({ taskId, status: 'cancelled', statusMessage: 'cancelled by the client' });
    await stopped.promise;
    expect((await peer.send('tasks/get', { taskId })).result).toEqual(result);
    expect((await peer.send('tasks/list')).result).toEqual({ tasks: [result] });
  });

  it('stays so when the work ends all the same [G2-S-17] [G2-S-46]', async () => {
    const { served, go, ended } = deaf();
    const peer = await connect(served);
    const { taskId } = await peer.start('deaf');
    const { result } = await peer.send('tasks/cancel', { taskId });
    go.resolve();
    await ended.promise;
    await settle();
    expect((await peer.send('tasks/get', { taskId })).result).toEqual(result);
    expect((await peer.send('tasks/result', { taskId })).error).toMatchObject({ message: 'Task was cancelled' });
  });

  it.each([
    ['quick', 'completed'],
    ['reports', 'failed'],
    ['breaks', 'failed'],
  ])('is refused once %s is over, and changes nothing [G2-S-17] [G2-S-43] [G2-S-52]', async (tool, status) => {
    const peer = await connect(serve(register));
    const { taskId } = await peer.start(tool);
    const before = await peer.send('tasks/result', { taskId });
    const task = (await peer.send('tasks/get', { taskId })).result;
    expect((await peer.send('tasks/cancel', { taskId })).error).toEqual({
      code: -32602,
      message: `Cannot cancel task: it is already ${status}`,
    });
    expect((await peer.send('tasks/get', { taskId })).result).toEqual(task);
    const after = await peer.send('tasks/result', { taskId });
    expect([after.result, after.error]).toEqual([before.result, before.error]);
  });

  it('is refused the second time too [G2-S-43]', async () => {
    const { served } = deaf();
    const peer = await connect(served);
    const { taskId } = await peer.start('deaf');
    const replies = await Promise.all([1, 2, 3].map(() => peer.send('tasks/cancel', { taskId })));
    expect(replies.filter(({ result }) => result !== undefined)).toHaveLength(1);
    for (const { error } of replies.filter(({ result }) => result === undefined)) {
      expect(error).toEqual({ code: -32602, message: 'Cannot cancel task: it is already cancelled' });
    }
  });

  it('and the end of the work: the first counts, 40 times over [G2-S-15] [G2-S-17] [G2-S-45] [G2-S-46]', async () => {
    const peer = await connect(serve(register));
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const { taskId } = await peer.start('quick');
        const [cancel, payload] = await Promise.all([
          peer.send('tasks/cancel', { taskId }),
          peer.send('tasks/result', { taskId }),
        ]);
        const { status } = (await peer.send('tasks/get', { taskId })).result;
        return {
          status,
          cancelled: cancel.result?.['status'],
          refused: cancel.error?.code,
          failed: payload.error?.code,
        };
      }),
    );
    const cancelled = { status: 'cancelled', cancelled: 'cancelled', refused: undefined, failed: -32603 };
    const completed = { status: 'completed', cancelled: undefined, refused: -32602, failed: undefined };
    for (const outcome of outcomes) expect(outcome).toEqual(outcome.status === 'cancelled' ? cancelled : completed);
  });
});

describe('notifications/cancelled', () => {
  it('is about nothing once the call is answered, handle or result [G2-S-48]', async () => {
    const { served, stopped } = deaf();
    const peer = await LegacyPeer.connect(served);
    const handle = await peer.stream('tools/call', { name: 'deaf', arguments: {}, task: {} }, { id: 7 });
    const [, taskId] = /"taskId":"([^"]+)"/.exec(await handle.text())!;
    const plain = await peer.stream('tools/call', { name: 'quick', arguments: {} }, { id: 'plain' });
    expect(await plain.text()).toContain('done');
    for (const requestId of [7, 'plain', taskId, 99]) {
      const { status } = await peer.notify('notifications/cancelled', { requestId, reason: 'AbortError' });
      expect(status).toBe(202);
    }
    await settle();
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
    void stopped;
  });

  it('calls the task off as long as nobody knows its id', async () => {
    const opened = deferred();
    const { served } = deaf();
    const { engine } = served.tasks;
    const create = engine.create.bind(engine);
    const creating = deferred();
    engine.create = async (request) => {
      const created = await create(request);
      creating.resolve();
      await opened.promise; // As a slow disk would.
      return created;
    };
    const peer = await LegacyPeer.connect(served);
    const reply = peer.stream('tools/call', { name: 'deaf', arguments: {}, task: {} }, { id: 'the call' });
    await creating.promise;
    await peer.notify('notifications/cancelled', { requestId: 'the call' });
    await settle();
    opened.resolve();
    expect(await (await reply).text()).not.toContain('data:');
    await settle();
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ status: 'cancelled' }] });
  });

  it('ends a plain call in mid-run, and the work with it', async () => {
    const { served, stopped } = deaf();
    const peer = await LegacyPeer.connect(served);
    const running = await peer.stream('tools/call', { name: 'deaf', arguments: {} }, { id: 'plain' });
    await settle();
    await peer.notify('notifications/cancelled', { requestId: 'plain', reason: 'the user pressed a key' });
    await stopped.promise;
    expect(await running.text()).not.toContain('"result"');
  });

  it('of one session is not about the requests of another', async () => {
    const { served, go } = deaf();
    const [peer, other] = [await LegacyPeer.connect(served), await LegacyPeer.connect(served)];
    const { taskId } = await peer.start('deaf');
    const waiting = await peer.stream('tasks/result', { taskId }, { id: 'wait' });
    await other.notify('notifications/cancelled', { requestId: 'wait' });
    await LegacyPeer.stateless(served, '2025-11-25').notify('notifications/cancelled', { requestId: 'wait' });
    await settle();
    go.resolve();
    expect(await waiting.text()).toContain('too late');
  });
});
