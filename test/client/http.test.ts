import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectRemote } from '../../src/client/connect-remote.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { bearerTokens } from '../../src/server/index.ts';
import { guarded } from '../server/auth/guarded.ts';
import { serve } from '../server/peer.ts';
import { deferred } from '../support/engine.ts';
import { connected, ended, startTask } from './remotes.ts';

const TOKEN = 'a-token-of-alice-that-is-long-enough-0123456789';

function tools(tasks: Tasks): void {
  tasks.registerTool('wait', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const answer = await task.ask('go', { message: 'Go?', schema: z.object({}) });
    return text(answer.action);
  });
}

describe('over a socket', () => {
  it.each(['2026-07-28', '2025-11-25'])(
    'a task is started, asked about, cancelled and told of, in %s',
    async (protocol) => {
      const served = serve(tools);
      const { url } = await served.server.listen({ port: 0 });
      const fetch = served.validator.wrapFetch(globalThis.fetch);
      const remote = await connected({ url, protocol, abilities: { form: true }, http: { fetch } });
      const task = await startTask(remote, 'wait');
      const told = deferred();
      const stop = remote.watch?.(
        [task.taskId],
        ({ status }) => {
          if (status === 'cancelled') told.resolve();
        },
        () => {},
      );
      await served.reaches(task.taskId, 'input_required');
      await remote.cancel(task.taskId);
      await told.promise;
      expect(await ended(remote, task, Promise.resolve())).toMatchObject({ status: 'cancelled' });
      stop?.();
    },
  );

  it('giving up on a call cancels nothing', async () => {
    const begun = deferred();
    const gate = deferred();
    const served = serve((tasks) => {
      tasks.registerTool('inline', { task: { support: 'forbidden' } }, async () => {
        begun.resolve();
        await gate.promise;
        finished.resolve();
        return text('done');
      });
    });
    const finished = deferred();
    const { url } = await served.server.listen({ port: 0 });
    const remote = await connected({ url, http: { fetch: served.validator.wrapFetch(globalThis.fetch) } });
    const stop = new AbortController();
    const call = remote.start({ name: 'inline', arguments: {}, idempotencyKey: 'k', signal: stop.signal });
    await begun.promise;
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    gate.resolve();
    await finished.promise;
  });

  it("a token comes from the SDK's own provider, and without one the server is out of reach", async () => {
    const auth = bearerTokens({ tokens: [{ token: TOKEN, subject: 'alice' }] });
    const { url, validator } = await guarded(auth, { register: tools });
    const fetch = validator.wrapFetch(globalThis.fetch);
    await expect(connectRemote({ url })).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: false });
    const remote = await connected({
      url,
      http: { fetch, authProvider: { token: async () => TOKEN } },
      abilities: { form: true },
    });
    expect(await startTask(remote, 'wait')).toMatchObject({ status: 'working' });
    let asked = 0;
    const onUnauthorized = async (): Promise<void> => {
      asked += 1;
      throw new Error('log in first');
    };
    const stranger = connectRemote({ url, http: { authProvider: { token: async () => undefined, onUnauthorized } } });
    await expect(stranger).rejects.toThrow('log in first');
    expect(asked).toBe(1);
  });
});
