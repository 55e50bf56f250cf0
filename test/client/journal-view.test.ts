import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type Call,
  CallAmbiguousError,
  CallNotFoundError,
  CallOpenError,
  openTaskClient,
  RemoteUnreachableError,
} from '../../src/client/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { ScriptedRemote } from './scripted-remote.ts';
import { journalFile, pass, stage } from './support.ts';

async function ended(call: Call, remote: ScriptedRemote, clock: ManualClock): Promise<void> {
  remote.finish(`task-${remote.runs}`);
  await pass(clock, 2_000);
  await call.result();
}

describe('the calls in a journal', () => {
  it('are listed newest first, a page at a time, or only those that are open', async () => {
    const { client, server, remote, clock } = await stage();
    const calls: Call[] = [];
    for (let n = 1; n <= 5; n += 1) {
      const call = await server.callTool({ name: `tool ${n}` });
      calls.unshift(call);
      await remote.until('start', n);
      if (n % 2 === 0) await ended(call, remote, clock);
    }
    const ids = (listed: Call[]) => listed.map(({ id }) => id);
    expect(ids(await client.calls())).toEqual(ids(calls));
    expect(ids(await client.calls({ limit: 2 }))).toEqual(ids(calls.slice(0, 2)));
    expect(ids(await client.calls({ limit: 2, before: calls[1]?.id ?? '' }))).toEqual(ids(calls.slice(2, 4)));
    expect((await client.calls({ open: true })).map(({ tool }) => tool)).toEqual(['tool 5', 'tool 3', 'tool 1']);
    expect((await client.calls()).map(({ state }) => state.end?.kind)).toEqual([
      undefined,
      'completed',
      undefined,
      'completed',
      undefined,
    ]);
    await expect(client.calls({ limit: 0 })).rejects.toThrow('limit: a whole number from 1 to 1000, got 0');
  });

  it('are found by the beginning of an id, if only one begins so', async () => {
    const { client, server } = await stage();
    const call = await server.callTool({ name: 'x' });
    await server.callTool({ name: 'y' });
    expect((await client.find(call.id)).id).toBe(call.id);
    expect((await client.find(call.id.slice(5, 13))).id).toBe(call.id);
    await expect(client.find('call_')).rejects.toThrow(CallAmbiguousError);
    await expect(client.find('')).rejects.toThrow(CallNotFoundError);
    await expect(client.find('no such')).rejects.toThrow(CallNotFoundError);
  });

  it('are deleted when they are over, and not before', async () => {
    const { client, server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await expect(call.delete()).rejects.toThrow(CallOpenError);
    await ended(call, remote, clock);
    expect(await call.delete()).toBe(false); // Servers of this revision let nobody delete.
    await expect(call.refresh()).rejects.toThrow(CallNotFoundError);
    expect(await client.calls()).toEqual([]);
    await expect(call.delete()).rejects.toThrow(CallNotFoundError);
  });

  it('go from the server first, where it lets them, and stay where it cannot be asked [G1-C-13]', async () => {
    const { server, remote, clock } = await stage();
    const deleted: string[] = [];
    let reachable = false;
    remote.delete = async (taskId) => {
      if (!reachable) throw new RemoteUnreachableError('down', { mayHaveRun: false });
      deleted.push(taskId);
    };
    const call = await server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await ended(call, remote, clock);
    await expect(call.delete()).rejects.toThrow('down');
    expect((await call.refresh()).end?.kind).toBe('completed');
    reachable = true;
    expect(await call.delete()).toBe(true);
    expect(deleted).toEqual(['task-1']);
  });

  it('of a release that knew no groups are read, and go on', async () => {
    const journal = journalFile();
    const clock = new ManualClock();
    const remote = new ScriptedRemote(clock);
    const first = await stage({ journal, clock, on: remote });
    const { id } = await first.server.callTool({ name: 'x' });
    await remote.until('start', 1);
    await first.client.close();
    const db = new Database(journal);
    db.exec('drop index calls_grouped; drop index calls_of_parents');
    for (const column of ['group_id', 'group_limit', 'parent', 'traceparent', 'related', 'note', 'meta'])
      db.exec(`alter table calls drop column ${column}`);
    db.pragma('user_version = 1');
    db.close();

    const second = await openTaskClient({ journal, clock });
    onTestFinished(() => second.close());
    await second.connect('ci', { remote: () => remote });
    const call = await second.call(id);
    await ended(call, remote, clock);
    expect(remote.count('start')).toBe(1);
  });
});
