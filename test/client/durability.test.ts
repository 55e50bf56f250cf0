import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTaskClient, RemoteRefusedError, RemoteUnreachableError } from '../../src/client/index.ts';
import { systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { silent } from '../support/stores.ts';
import { completed, never, ScriptedRemote } from './scripted-remote.ts';
import { journalFile, pass, settled, stage, unread } from './support.ts';

describe('after a restart', () => {
  it('every open call is followed again, and no call is sent again [C-039] [G3-C-07]', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    const ids: string[] = [];
    for (const name of ['ends meanwhile', 'goes on', 'asks']) {
      ids.push((await first.server.callTool({ name })).id);
      await settled();
    }
    await first.client.close();
    remote.finish('task-1', 'ended while the host was down');
    remote.change('task-3', { status: 'input_required', statusMessage: 'which branch?' });

    const second = await openTaskClient({ journal, clock });
    onTestFinished(() => second.close());
    expect((await second.resume()).waiting.map(({ id }) => id)).toEqual(ids);
    await second.connect('ci', { remote: () => remote });
    expect((await second.resume()).following.map(({ id }) => id)).toEqual(ids);
    await pass(clock, 3_000);
    const completions = await unread(second);
    expect(completions.map(({ id, server, tool, end }) => ({ id, server, tool, end }))).toEqual([
      { id: ids[0], server: 'ci', tool: 'ends meanwhile', end: { kind: 'completed', result: expect.any(Object) } },
    ]);
    expect((await second.call(ids[1] as string)).state).toMatchObject({ phase: 'following', status: 'working' });
    expect((await second.call(ids[2] as string)).state).toMatchObject({
      status: 'input_required',
      statusMessage: 'which branch?',
    });
    expect([remote.runs, remote.count('start')]).toEqual([3, 3]);
  });

  it('a call without a handle is asked for by its key where the server honours keys [C-096] [C-099]', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    remote.onStart = (request, signal) => {
      remote.newTask(request);
      return never(signal); // It runs; the answer is lost.
    };
    const call = await first.server.callTool({ name: 'pay' });
    await remote.until('start', 1);
    await first.client.close();
    remote.onStart = (request) => ({ kind: 'task', task: remote.newTask(request) });
    const second = await stage({ journal, clock, on: remote });
    remote.finish('task-1', 'paid');
    await pass(clock, 3_000);
    expect(await (await second.client.call(call.id)).result()).toMatchObject({ content: [{ text: 'paid' }] });
    const keys = remote.asked.flatMap(({ request }) => request?.idempotencyKey ?? []);
    expect(keys.length).toBe(2);
    expect(new Set(keys).size).toBe(1);
    expect(remote.runs).toBe(1);
  });

  it('it is unknown where the server honours none, and never sent again', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    remote.repeatable = false;
    remote.onStart = (request, signal) => {
      remote.newTask(request);
      return never(signal);
    };
    const call = await first.server.callTool({ name: 'pay' });
    await remote.until('start', 1);
    await first.client.close();
    const second = await stage({ journal, clock, on: remote });
    await expect((await second.client.call(call.id)).result()).rejects.toMatchObject({
      code: 'CALL_UNKNOWN',
      message: expect.stringContaining('whether the tool ran is not known'),
    });
    await pass(clock, 60_000);
    expect([remote.runs, remote.count('start')]).toEqual([1, 1]);
  });

  it('no poll comes sooner than the server asked for [C-065]', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    remote.onStart = (request) => ({ kind: 'task', task: remote.newTask(request, { pollIntervalMs: 10_000 }) });
    await first.server.callTool({ name: 'x' });
    await pass(clock, 13_000);
    expect(remote.count('get')).toBe(1);
    await first.client.close();
    await pass(clock, 3_000);
    await stage({ journal, clock, on: remote });
    await pass(clock, 20_000);
    const [before, after] = remote.times('get') as [number, number];
    expect(after - before).toBeGreaterThanOrEqual(10_000);
    expect(after - before).toBeLessThanOrEqual(12_100);
  });

  it('a cancel that was asked for is passed on', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    const call = await first.server.callTool({ name: 'x' });
    await pass(clock, 500);
    await first.client.close();
    const second = await openTaskClient({ journal, clock });
    onTestFinished(() => second.close());
    await (await second.call(call.id)).cancel(); // Its server is not connected.
    await second.connect('ci', { remote: () => remote });
    await expect((await second.call(call.id)).result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    expect(remote.count('cancel')).toBe(1);
  });
});

describe('a call whose server cannot be reached', () => {
  it('is sent again, since it certainly never arrived, also where the server honours no keys', async () => {
    const { server, remote, clock } = await stage();
    remote.repeatable = false;
    remote.onStart = (request) => {
      if (remote.count('start') < 4) throw new RemoteUnreachableError('ECONNREFUSED', { mayHaveRun: false });
      return { kind: 'task', task: remote.newTask(request) };
    };
    const call = await server.callTool({ name: 'x' });
    await settled();
    expect(await call.refresh()).toMatchObject({ phase: 'intended', unreachableSince: expect.any(Number) });
    await pass(clock, 20_000);
    expect(remote.runs).toBe(1);
    expect((await call.refresh()).phase).toBe('following');
  });

  it('is unknown at once where it may have arrived and the server honours no keys', async () => {
    const { server, remote, clock } = await stage();
    remote.repeatable = false;
    remote.onStart = (request) => {
      remote.newTask(request);
      throw new RemoteUnreachableError('socket hang up', { mayHaveRun: true });
    };
    const call = await server.callTool({ name: 'x' });
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_UNKNOWN' });
    await pass(clock, 60_000);
    expect(remote.runs).toBe(1);
  });

  it('is repeated under its key where it may have arrived, and runs once [C-099]', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => {
      const task = remote.newTask(request);
      if (remote.count('start') < 3) throw new RemoteUnreachableError('socket hang up', { mayHaveRun: true });
      return { kind: 'task', task };
    };
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 10_000);
    remote.finish('task-1');
    await pass(clock, 3_000);
    expect(await call.result()).toMatchObject({ content: [{ text: 'done' }] });
    expect([remote.runs, remote.count('start')]).toEqual([1, 3]);
  });

  it('stays one that may have run, though a later try certainly never arrived [C-096]', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => {
      remote.newTask(request);
      throw new RemoteUnreachableError('socket hang up', { mayHaveRun: remote.count('start') === 1 });
    };
    const call = await server.callTool({ name: 'pay' });
    await pass(clock, 10_000);
    expect(remote.count('start')).toBeGreaterThan(2);
    expect(remote.asked.map(({ request }) => request?.repeatAgeMs !== undefined)).toEqual([
      false,
      ...Array.from({ length: remote.count('start') - 1 }, () => true),
    ]);
    expect((await call.refresh()).phase).toBe('sent');
    remote.repeatable = false; // As after a change of the server.
    await pass(clock, 60_000);
    expect((await call.refresh()).end?.kind).toBe('unknown');
  });

  it('is unknown where its repeat was refused, which says nothing about the first', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => {
      remote.newTask(request);
      if (remote.count('start') === 1) throw new RemoteUnreachableError('socket hang up', { mayHaveRun: true });
      throw new RemoteRefusedError({ code: -32_602, message: 'not again' });
    };
    const call = await server.callTool({ name: 'pay' });
    await pass(clock, 10_000);
    expect((await call.refresh()).end).toEqual({ kind: 'unknown', message: expect.stringMatching(/not again$/) });
  });

  it('is given up when its time is over, and can be cancelled before it was ever sent', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = () => {
      throw new RemoteUnreachableError('ECONNREFUSED', { mayHaveRun: false });
    };
    const late = await server.callTool({ name: 'x' }, { ttlMs: 30_000 });
    const unwanted = await server.callTool({ name: 'x' });
    await pass(clock, 2_000);
    await unwanted.cancel();
    await expect(unwanted.result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await pass(clock, 120_000);
    await expect(late.result()).rejects.toMatchObject({ code: 'CALL_EXPIRED' });
    expect(remote.count('cancel')).toBe(0);
  });
});

describe('the inbox', () => {
  it('tells of every end until it is acknowledged, also after a restart, and never again then [C-039]', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    remote.onStart = ({ name }) => ({ kind: 'immediate', outcome: completed(name) });
    const calls = [];
    for (const name of ['a', 'b', 'c']) {
      const call = await first.server.callTool({ name });
      await call.result();
      calls.push(call);
    }
    expect((await unread(first.client)).map(({ tool }) => tool)).toEqual(['a', 'b', 'c']);
    const again = await unread(first.client);
    await again[1]?.acknowledge();
    await first.client.close();

    const second = await stage({ journal, clock, on: remote });
    const rest = await unread(second.client);
    expect(rest.map(({ id }) => id)).toEqual([calls[0]?.id, calls[2]?.id]);
    await second.client.acknowledge(calls[0]?.id as string);
    await (await second.client.call(calls[2]?.id as string)).acknowledge();
    expect(await unread(second.client)).toEqual([]);
    await second.client.close();
    expect(await unread((await stage({ journal, clock, on: remote })).client)).toEqual([]);
  });

  it('does not tell what was acknowledged while the one before was worked on, and tells of new ends as they come', async () => {
    const { client, server, remote } = await stage();
    remote.onStart = ({ name }) => ({ kind: 'immediate', outcome: completed(name) });
    for (const name of ['a', 'b']) await (await server.callTool({ name })).result();
    const b = (await unread(client))[1]?.id as string;
    const reading = client.inbox();
    expect((await reading.next()).value?.tool).toBe('a');
    await client.acknowledge(b);
    const next = reading.next();
    await settled();
    const call = await server.callTool({ name: 'c' });
    expect((await next).value?.id).toBe(call.id);
    await reading.return();
  });

  it('forgets what was acknowledged long ago, and nothing else', async () => {
    const { client, server, remote, clock } = await stage({ keepAcknowledgedMs: 60_000 });
    remote.onStart = ({ name }) => ({ kind: 'immediate', outcome: completed(name) });
    const [read, kept] = [await server.callTool({ name: 'a' }), await server.callTool({ name: 'b' })];
    await Promise.all([read.result(), kept.result()]);
    await read.acknowledge();
    await pass(clock, 30_000, 1_000);
    expect(await read.result()).toMatchObject({ content: [{ text: 'a' }] });
    await pass(clock, 150_000, 1_000);
    await expect(client.call(read.id)).rejects.toMatchObject({ code: 'CALL_NOT_FOUND' });
    await pass(clock, 600_000, 10_000);
    expect((await unread(client)).map(({ id }) => id)).toEqual([kept.id]);
  });
});

describe('two clients on one journal', () => {
  it('share the calls: each is followed by one, and both see its end', async () => {
    const journal = journalFile();
    const clock = new ManualClock();
    const one = await stage({ journal, clock });
    const two = await stage({ journal, clock });
    const calls = [await one.server.callTool({ name: 'a' }), await two.server.callTool({ name: 'b' })];
    await pass(clock, 5_000);
    expect([one.remote.runs, two.remote.runs]).toEqual([1, 1]);
    one.remote.finish('task-1', 'by one');
    await pass(clock, 5_000);
    expect(two.remote.times('get', 'task-1').length).toBe(two.remote.count('get'));
    const seen = await two.client.call(calls[0]?.id as string);
    expect(await seen.result()).toMatchObject({ content: [{ text: 'by one' }] });
    expect((await unread(two.client)).map(({ id }) => id)).toEqual([calls[0]?.id]);
    // A cancel by one reaches the call that the other follows.
    await (await one.client.call(calls[1]?.id as string)).cancel();
    await pass(clock, 3_000);
    expect([one.remote.count('cancel'), two.remote.count('cancel')]).toEqual([0, 1]);
  });

  it('ask once for a cancel that the server refuses, and go on polling', async () => {
    const journal = journalFile();
    const clock = new ManualClock();
    const one = await stage({ journal, clock });
    const two = await stage({ journal, clock });
    const call = await two.server.callTool({ name: 'a' });
    await one.server.callTool({ name: 'b' }); // Written about all the time: the other looks at the journal again and again.
    await pass(clock, 2_000);
    two.remote.onCancel = () => {
      throw new RemoteRefusedError({ code: -32_601, message: 'this server cancels nothing' });
    };
    await (await one.client.call(call.id)).cancel();
    await pass(clock, 10_000);
    expect(two.remote.count('cancel')).toBe(1);
    expect((await one.client.call(call.id)).state.cancelRequested).toBe(false);
    await (await one.client.call(call.id)).cancel();
    await pass(clock, 3_000);
    expect(two.remote.count('cancel')).toBe(2);
    two.remote.finish('task-1', 'all the same');
    await pass(clock, 5_000);
    expect(await call.result()).toMatchObject({ content: [{ text: 'all the same' }] });
  });

  it('go on with what the other let go of', async () => {
    const journal = journalFile();
    const clock = new ManualClock();
    const remote = new ScriptedRemote(clock);
    const one = await stage({ journal, clock, on: remote });
    const two = await stage({ journal, clock, on: remote });
    const call = await one.server.callTool({ name: 'a' });
    await pass(clock, 2_000);
    await one.client.close();
    await pass(clock, 2_000);
    remote.finish('task-1');
    await pass(clock, 3_000);
    expect(await (await two.client.call(call.id)).result()).toMatchObject({ content: [{ text: 'done' }] });
    expect(remote.runs).toBe(1);
  });

  it('take over from one that stands still, and fence it off when it wakes up', async () => {
    const journal = journalFile();
    const [slow, clock] = [new ManualClock(), new ManualClock()];
    const remote = new ScriptedRemote(clock);
    const one = await stage({ journal, clock: slow, on: remote });
    const two = await stage({ journal, clock, on: remote });
    const call = await one.server.callTool({ name: 'a' });
    await pass(slow, 2_000);
    await pass(clock, 29_000, 500);
    expect((await two.client.resume()).following.length).toBe(1);
    const before = remote.count('get');
    await pass(clock, 40_000, 500); // Its beat stood still for a lease.
    expect(remote.count('get')).toBeGreaterThan(before);
    // It wakes up, wants to poll, and finds that the call is not its own any more.
    const polls = remote.count('get');
    await pass(slow, 8_000);
    expect(remote.count('get')).toBe(polls);
    remote.finish('task-1');
    await pass(clock, 40_000, 500);
    expect((await unread(two.client)).map(({ id }) => id)).toEqual([call.id]);
    expect(remote.count('start')).toBe(1);
  });
});

describe('the file of a journal', () => {
  it('is private, and holds no address and no credential', async () => {
    const journal = journalFile();
    const { server, client } = await stage({ journal });
    await server.callTool({ name: 'x' });
    await settled();
    expect(statSync(journal).mode & 0o777).toBe(0o600);
    await client.close();
    expect(readFileSync(journal, 'latin1')).not.toContain('scripted server');
    expect(existsSync(`${journal}-wal`)).toBe(false);
  });

  it('is no task store, nor the other way round', async () => {
    const journal = journalFile();
    const environment = { clock: new ManualClock(), random: systemRandom, logger: silent };
    await (await openTaskClient({ journal })).close();
    await expect(sqliteStore(journal).open(environment)).rejects.toThrow(/database of another program/);
    const tasks = journalFile();
    await (await sqliteStore(tasks).open(environment)).store.close();
    await expect(openTaskClient({ journal: tasks })).rejects.toThrow(/database of another program/);
    await expect(openTaskClient({ journal: '' })).rejects.toThrow(/^journal: a file name or ':memory:', got ""$/);
    await expect(openTaskClient({ journal: ':memory:', maxInFlight: 0 })).rejects.toThrow(/^maxInFlight: .* got 0$/);
  });
});
