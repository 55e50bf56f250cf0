import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, TaskCancelledError } from '../../src/core/index.ts';
import { type TaskContext, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

/** Runs until it is told to stop, and says what it was told. */
function untilAborted(stopped: (reason: unknown) => void) {
  return async (_args: unknown, task: TaskContext) => {
    await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve(), { once: true }));
    stopped(task.signal.reason);
    return text('too late');
  };
}

describe('tasks/cancel', () => {
  it('ends a task at once, stops its work and drops what comes late [G3-S-20] [G3-S-38] [G3-S-42]', async () => {
    const stopped = deferred<unknown>();
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, untilAborted(stopped.resolve)));
    const { taskId } = await peer.start('slow');
    const { status, result } = await peer.cancel(taskId);
    expect(status).toBe(200);
    expect(result).toEqual({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'test-server', version: '1.2.3' } },
    });
    const before = (await peer.get(taskId)).result;
    expect(before['status']).toBe('cancelled');
    expect(await stopped.promise).toBeInstanceOf(TaskCancelledError);
    await settle();
    expect((await peer.get(taskId)).result).toEqual(before);
  });

  it('withdraws what a waiting task asked [G3-S-35]', async () => {
    const { peer, reaches } = serve((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
        await task.ask('go', { message: 'Go on?', schema });
        return text('went on');
      }),
    );
    const { taskId } = await peer.start('asks');
    await reaches(taskId, 'input_required');
    await peer.cancel(taskId);
    const { result } = await peer.get(taskId);
    expect(result['status']).toBe('cancelled');
    expect(result).not.toHaveProperty('inputRequests');
    const late = await peer.update(taskId, { go: { action: 'accept', content: { ok: true } } });
    expect(late.result).toMatchObject({ resultType: 'complete' });
    expect((await peer.get(taskId)).result).toEqual(result);
  });

  it.each([
    ['completed', () => text('done')],
    [
      'failed',
      () => {
        throw new Error('broken');
      },
    ],
  ])('is acknowledged for a task that has %s, which stays as it is [G3-S-15] [G3-S-41]', async (status, handler) => {
    const { peer, reaches, clock } = serve((tasks) => tasks.registerTool('quick', {}, handler));
    const { taskId } = await peer.start('quick');
    const before = await reaches(taskId, status);
    clock.advance(10);
    for (let time = 0; time < 3; time += 1) {
      expect((await peer.cancel(taskId)).result).toMatchObject({ resultType: 'complete' });
    }
    expect((await peer.get(taskId)).result).toEqual(before);
  });

  it('is acknowledged again for a task that was cancelled [G3-S-41]', async () => {
    const { peer, clock } = serve((tasks) => tasks.registerTool('slow', {}, () => new Promise(() => {})));
    const { taskId } = await peer.start('slow');
    const first = await peer.cancel(taskId);
    const before = (await peer.get(taskId)).result;
    clock.advance(10);
    expect((await peer.cancel(taskId)).result).toEqual(first.result);
    expect((await peer.get(taskId)).result).toEqual(before);
  });
});

describe('a client that goes away', () => {
  it('before its handle is sent has called the task off [G3-S-88]', async () => {
    const request = new AbortController();
    const created = deferred<string>();
    const cancelled = deferred();
    const { peer, tasks } = serve((tasks) => tasks.registerTool('slow', {}, () => new Promise(() => {})), {
      tasks: {
        store: interceptedStore(async (method, call) => {
          const value = await call();
          if (method === 'create') {
            request.abort(); // The task is on disk, its handle not on the wire.
            created.resolve((value as { task: { taskId: string } }).task.taskId);
          }
          if (method === 'cancelOrphan') cancelled.resolve();
          return value;
        }),
      },
    });
    const reply = await peer.call('slow', {}, { signal: request.signal });
    expect(reply.message).toEqual({});
    await cancelled.promise;
    const { state } = await tasks.engine.get(await created.promise, LOCAL_PRINCIPAL);
    expect(state).toEqual({ status: 'cancelled', reason: expect.stringMatching(/^the request was cancelled/) });
    await peer.send('tools/list', {});
  });

  it('after its handle was sent has cancelled nothing [G3-S-88]', async () => {
    const goOn = deferred();
    const { peer, reaches } = serve((tasks) =>
      tasks.registerTool('slow', {}, async (_args, task) => {
        await goOn.promise;
        return text(String(task.signal.aborted));
      }),
    );
    const request = new AbortController();
    const { taskId } = await peer.start('slow', {}, { signal: request.signal });
    request.abort();
    await settle();
    goOn.resolve();
    const { result } = await reaches(taskId, 'completed');
    expect(result).toMatchObject({ content: [{ text: 'false' }] });
  });

  it.each(['optional', 'forbidden'] as const)(
    'while an %s tool runs inline has cancelled it [G3-S-88]',
    async (support) => {
      const running = deferred<string>();
      const stopped = deferred<unknown>();
      const { peer, tasks } = serve((tasks) =>
        tasks.registerTool('slow', { task: { support } }, (args, task) => {
          running.resolve(task.id);
          return untilAborted(stopped.resolve)(args, task);
        }),
      );
      const request = new AbortController();
      const reply = peer.call('slow', {}, { capabilities: {}, signal: request.signal });
      const taskId = await running.promise;
      request.abort();
      expect((await reply).message).toEqual({});
      await stopped.promise;
      if (support === 'optional') {
        const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
        expect(state).toEqual({ status: 'cancelled', reason: expect.stringMatching(/^the request was cancelled/) });
      }
      await peer.send('tools/list', {});
    },
  );
});

describe('a call of a session that is cancelled while its task is being created', () => {
  it('is called off once there is a task, though its stream was closed first', async () => {
    const creating = deferred();
    const goOn = deferred();
    const stopped = deferred<unknown>();
    const { peer, tasks } = serve((on) => on.registerTool('slow', {}, untilAborted(stopped.resolve)), {
      tasks: {
        store: interceptedStore(async (method, call) => {
          if (method === 'create') {
            creating.resolve();
            await goOn.promise;
          }
          return call();
        }),
      },
    });
    const legacy = await LegacyPeer.connect({ peer }, { version: '2025-06-18' });
    const hangUp = new AbortController();
    const request = { id: 'taken back', signal: hangUp.signal };
    const answer = legacy.stream('tools/call', { name: 'slow', arguments: {} }, request).catch(() => undefined);
    await creating.promise;
    hangUp.abort();
    await settle();
    await legacy.notify('notifications/cancelled', { requestId: 'taken back', reason: 'cancelled' });
    goOn.resolve();
    expect(await stopped.promise).toBeInstanceOf(TaskCancelledError);
    const { tasks: all } = await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 2 });
    expect(all).toMatchObject([{ state: { status: 'cancelled' } }]);
    await (await answer)?.body?.cancel();
  });
});
