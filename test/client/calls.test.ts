import { describe, expect, it } from 'vitest';
import {
  CallCancelledError,
  CallDetachedError,
  CallExpiredError,
  CallFailedError,
  CallLostError,
  CallNotFoundError,
  CallRefusedError,
  CallUnknownError,
  ClientClosedError,
  RemoteGoneError,
  RemoteProtocolError,
  RemoteRefusedError,
  RemoteUnreachableError,
} from '../../src/client/index.ts';
import { aRemoteTask, completed, never } from './scripted-remote.ts';
import { pass, settled, stage } from './support.ts';

describe('a call', () => {
  it('returns once the intent is on disk, while the server has not answered [C-068]', async () => {
    const { server, remote } = await stage({
      prepare: (remote) => {
        remote.onStart = (_, signal) => never(signal);
      },
    });
    const call = await server.callTool({ name: 'run_tests', arguments: { suite: 'all' } });
    expect(call.state).toMatchObject({ id: call.id, server: 'ci', tool: 'run_tests', phase: 'sent', followed: true });
    await remote.until('start', 1);
    expect(remote.asked[0]?.request).toMatchObject({ name: 'run_tests', arguments: { suite: 'all' } });
  });

  it('looks the same whether the server answers at once or makes a task of it [G3-C-29]', async () => {
    const { server, remote, clock } = await stage();
    const slow = await server.callTool({ name: 'slow' });
    await remote.until('start', 1);
    remote.onStart = () => ({ kind: 'immediate', outcome: completed('at once') });
    const quick = await server.callTool({ name: 'quick' });
    expect(await quick.result()).toMatchObject({ content: [{ text: 'at once' }] });
    remote.finish('task-1', 'later');
    await pass(clock, 2_000);
    expect(await slow.result()).toMatchObject({ content: [{ text: 'later' }] });
    expect(await slow.result()).toEqual(await slow.result());
  });

  it('returns a failure of the tool, and throws an error of the protocol with its code and data', async () => {
    const { server, remote } = await stage();
    remote.onStart = ({ name }) => ({
      kind: 'immediate',
      outcome:
        name === 'broken'
          ? { status: 'completed', result: { isError: true, content: [] } }
          : { status: 'failed', error: { code: -32_603, message: 'boom', data: { at: 'line 1' } } },
    });
    expect(await (await server.callTool({ name: 'broken' })).result()).toEqual({ isError: true, content: [] });
    const failed = await server.callTool({ name: 'failing' });
    await expect(failed.result()).rejects.toThrow(CallFailedError);
    await expect(failed.result()).rejects.toMatchObject({
      code: 'CALL_FAILED',
      callId: failed.id,
      rpcCode: -32_603,
      message: 'boom',
      data: { at: 'line 1' },
    });
  });

  it.each([
    ['refused', new RemoteRefusedError({ code: -32_602, message: 'no tool x' }), CallRefusedError],
    ['unknown', new RemoteProtocolError('resultType: "maybe"'), CallUnknownError],
  ])('ends as %s where the request to start it was met with %o', async (kind, error, type) => {
    const { server, remote } = await stage();
    remote.onStart = () => {
      throw error;
    };
    const call = await server.callTool({ name: 'x' });
    await expect(call.result()).rejects.toThrow(type);
    expect(call.state).toMatchObject({ phase: 'ended', end: { kind } });
    expect(remote.count('start')).toBe(1);
  });

  it.each([
    ['lost', new RemoteGoneError('no such task'), CallLostError],
    ['lost', new RemoteProtocolError('no status'), CallLostError],
  ])('ends as %s where a poll was met with %o', async (kind, error, type) => {
    const { server, remote, clock } = await stage();
    remote.onGet = () => {
      throw error;
    };
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 2_000);
    await expect(call.result()).rejects.toThrow(type);
    expect(call.state.end).toMatchObject({ kind });
    expect(remote.count('get')).toBe(1);
  });

  it('says expired, not lost, where the time of a task that is gone was over [EC-33]', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => ({
      kind: 'task',
      task: remote.newTask(request, { ttlMs: 5_000, pollIntervalMs: 10_000 }),
    });
    remote.onGet = () => {
      throw new RemoteGoneError('no such task');
    };
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 13_000);
    await expect(call.result()).rejects.toThrow(CallExpiredError);
  });

  it('gives a task up whose time is over by our own clock, though its server says working for ever [G3-C-08]', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => ({
      kind: 'task',
      task: remote.newTask(request, { ttlMs: 10_000, status: 'unheard_of' }),
    });
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 69_000);
    expect((await call.refresh()).phase).toBe('following');
    await pass(clock, 12_000);
    await expect(call.result()).rejects.toThrow(CallExpiredError);
  });

  it('fetches the outcome of a task that is over, where the answer did not hold it', async () => {
    const { server, remote, clock } = await stage();
    remote.revision = '2025-11-25';
    remote.onStart = () => ({ kind: 'task', task: aRemoteTask({ status: 'failed' }) });
    remote.onOutcome = () => ({ status: 'completed', result: { isError: true, content: [] } });
    const call = await server.callTool({ name: 'x' });
    expect(await call.result()).toEqual({ isError: true, content: [] });
    await pass(clock, 5_000);
    expect([remote.count('get'), remote.count('outcome')]).toEqual([0, 1]);
  });

  it('asks for the result as soon as input is required before 2026-07-28, and goes on polling [G2-C-10] [G2-C-11] [G2-C-12]', async () => {
    const { server, remote, clock } = await stage();
    remote.revision = '2025-11-25';
    let answer = (): void => {};
    remote.onOutcome = () => new Promise((resolve) => (answer = () => resolve(completed('approved'))));
    const call = await server.callTool({ name: 'deploy' });
    await remote.until('start', 1);
    remote.change('task-1', { status: 'input_required' });
    await pass(clock, 1_500);
    expect(remote.count('outcome')).toBe(1);
    const polls = remote.count('get');
    await pass(clock, 5_000);
    expect(remote.count('get')).toBeGreaterThan(polls);
    expect(remote.count('outcome')).toBe(1);
    answer();
    expect(await call.result()).toMatchObject({ content: [{ text: 'approved' }] });
  });

  it('tells of every change until its end', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    const told: unknown[] = [];
    const reading = (async () => {
      for await (const { phase, statusMessage, progress, end } of call.updates()) {
        told.push(end?.kind ?? statusMessage ?? progress?.progress ?? phase);
      }
    })();
    await remote.until('start', 1);
    await settled();
    remote.change('task-1', { statusMessage: '1/2' });
    await pass(clock, 2_500);
    remote.change('task-1', { statusMessage: '2/2' });
    await pass(clock, 2_500);
    remote.finish('task-1');
    await pass(clock, 2_500);
    await reading;
    expect(told.filter((word, index) => word !== told[index - 1])).toEqual([
      'sent',
      'following',
      '1/2',
      '2/2',
      'completed',
    ]);
  });

  it('shows the progress of a call that is answered when it is over', async () => {
    const { server, remote } = await stage();
    let finish = (): void => {};
    remote.onStart = (request) => {
      request.onProgress?.({ progress: 3, total: 10 });
      return new Promise((resolve) => (finish = () => resolve({ kind: 'immediate', outcome: completed('x') })));
    };
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    expect(await call.refresh()).toMatchObject({ phase: 'sent', progress: { progress: 3, total: 10 } });
    finish();
    await call.result();
  });

  it('goes on when nobody waits any more: after detach, and after timeoutMs [C-096]', async () => {
    const { server, remote, clock, client } = await stage();
    const first = await server.callTool({ name: 'x' }, { timeoutMs: 3_000 });
    const second = await server.callTool({ name: 'x' });
    const waiting = [first.result(), second.result()].map((result) => result.catch((error: unknown) => error));
    await settled();
    second.detach();
    await pass(clock, 3_000);
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(CallDetachedError);
    expect(remote.count('cancel')).toBe(0);
    remote.finish('task-1', 'first');
    remote.finish('task-2', 'second');
    await pass(clock, 3_000);
    expect(await (await client.call(first.id)).result()).toMatchObject({ content: [{ text: 'first' }] });
    expect(await (await client.call(second.id)).result()).toMatchObject({ content: [{ text: 'second' }] });
    expect(remote.runs).toBe(2);
  });

  it('says what is wrong with what it was given, and writes nothing', async () => {
    const { server, client } = await stage();
    await expect(server.callTool({ name: '' })).rejects.toThrow(/^name: a tool's name, got ""$/);
    await expect(server.callTool({ name: 'x', arguments: [] as never })).rejects.toThrow(/^arguments: an object$/);
    await expect(server.callTool({ name: 'x', arguments: { at: new Date() } as never })).rejects.toThrow(
      /"at" is a Date/,
    );
    await expect(server.callTool({ name: 'x' }, { timeoutMs: 0.5 })).rejects.toThrow(
      /^timeoutMs: a whole number .* got 0.5$/,
    );
    await expect(server.callTool({ name: 'x' }, { onAbort: 'stop' as never })).rejects.toThrow(/^onAbort: 'cancel' or/);
    await expect(client.connect('ci', { remote: () => never(undefined) })).rejects.toThrow(/"ci" is connected already/);
    await expect(client.call('call_none')).rejects.toThrow(CallNotFoundError);
    expect(await client.resume()).toEqual({ following: [], waiting: [] });
  });

  it('rejects who waits when the client is closed, and is in the journal', async () => {
    const { server, remote, client, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    const result = call.result().catch((error: unknown) => error);
    await remote.until('start', 1);
    await client.close();
    expect(await result).toBeInstanceOf(ClientClosedError);
    expect(remote.disposed).toBe(1);
    expect(clock.pendingTimers).toBe(0);
    await expect(client.call(call.id)).rejects.toThrow(ClientClosedError);
  });
});

describe('cancelling a call', () => {
  it('tells the server once, and asks for the status no more [C-067] [G3-C-18]', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 2_500);
    const polls = remote.count('get');
    await call.cancel();
    await expect(call.result()).rejects.toThrow(CallCancelledError);
    await pass(clock, 60_000);
    expect([remote.count('cancel'), remote.count('get') - polls]).toEqual([1, 0]);
    await call.cancel();
    expect(remote.count('cancel')).toBe(1);
  });

  it.each(['start', 'get', 'outcome', 'trouble'])(
    'by its signal stops everything, during %s [C-067]',
    async (during) => {
      const { server, remote, clock } = await stage();
      if (during === 'get') remote.onGet = (_, signal) => never(signal);
      if (during === 'outcome') {
        remote.onStart = (request) => ({ kind: 'task', task: remote.newTask(request, { status: 'input_required' }) });
        remote.revision = '2025-11-25';
        remote.onOutcome = (_, signal) => never(signal);
      }
      if (during === 'trouble') {
        remote.onGet = () => {
          throw new RemoteUnreachableError('connection refused', { mayHaveRun: true });
        };
      }
      let answer = (): void => {};
      if (during === 'start') {
        remote.onStart = (request) =>
          new Promise((resolve) => (answer = () => resolve({ kind: 'task', task: remote.newTask(request) })));
      }
      const stop = new AbortController();
      const call = await server.callTool({ name: 'x' }, { signal: stop.signal });
      await pass(clock, 3_000);
      stop.abort();
      await settled();
      answer(); // No id, no cancelling: a start is waited for.
      await pass(clock, 3_000);
      await expect(call.result()).rejects.toThrow(CallCancelledError);
      expect(remote.count('cancel')).toBe(1);
      const asked = remote.asked.length;
      await pass(clock, 60_000);
      expect(remote.asked.length).toBe(asked);
      expect(clock.pendingTimers).toBe(1); // The client's own round.
    },
  );

  it('only detaches by the signal where that was asked for [C-067]', async () => {
    const { server, remote, clock } = await stage();
    const stop = new AbortController();
    const call = await server.callTool({ name: 'x' }, { signal: stop.signal, onAbort: 'detach' });
    await pass(clock, 500);
    stop.abort();
    await expect(call.result()).rejects.toThrow(CallDetachedError);
    await pass(clock, 5_000);
    expect(remote.count('cancel')).toBe(0);
    expect(remote.count('get')).toBeGreaterThan(0);
  });

  it('is tried until the server can be reached', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await settled();
    remote.onCancel = () => {
      if (remote.count('cancel') < 3) throw new RemoteUnreachableError('connection refused', { mayHaveRun: false });
    };
    await call.cancel();
    await pass(clock, 10_000);
    await expect(call.result()).rejects.toThrow(CallCancelledError);
    expect(remote.count('cancel')).toBe(3);
  });

  it('changes nothing of a task that was over already: its result is read', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await settled();
    remote.finish('task-1', 'just in time');
    remote.onCancel = () => {
      throw new RemoteRefusedError({ code: -32_602, message: 'the task is terminal' });
    };
    await call.cancel();
    await pass(clock, 2_500);
    expect(await call.result()).toMatchObject({ content: [{ text: 'just in time' }] });
    await call.cancel();
    expect(await call.result()).toMatchObject({ content: [{ text: 'just in time' }] });
  });
});
