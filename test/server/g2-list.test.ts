import { describe, expect, it } from 'vitest';
import { ANONYMOUS_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { isSdkV1 } from './binding.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { over, Peer, type Served, serve } from './peer.ts';
import { users } from './users.ts';

// tasks/list of 2025-11-25, and who sees what: a task belongs to its principal, not to a session.

function register(tasks: Tasks): void {
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  tasks.registerTool('quick', {}, () => text('done'));
}

async function pages(peer: LegacyPeer): Promise<string[][]> {
  const ids: string[][] = [];
  let cursor: unknown;
  do {
    const { result } = await peer.send('tasks/list', cursor === undefined ? {} : { cursor });
    ids.push((result['tasks'] as Json[]).map(({ taskId }) => String(taskId)));
    cursor = result['nextCursor'];
  } while (cursor !== undefined);
  return ids;
}

/** One more task, a moment after the one before. */
async function next({ clock }: Served, peer: LegacyPeer): Promise<string> {
  clock.advance(1);
  return (await peer.start('forever')).taskId;
}

describe('the list of tasks', () => {
  it('has every task once, page by page, the newest first [G2-S-39] [G2-S-40] [G2-S-41]', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served);
    const started: string[] = [];
    for (let n = 0; n < 120; n += 1) started.push(await next(served, peer));
    const listed = await pages(peer);
    expect(listed.map(({ length }) => length)).toEqual([50, 50, 20]);
    expect(listed.flat()).toEqual(started.reverse());
  });

  it('goes on where it was, whatever comes and goes meanwhile [G2-S-42]', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served);
    const started: string[] = [];
    for (let n = 0; n < 60; n += 1) started.push(await next(served, peer));
    const first = (await peer.send('tasks/list')).result;
    const cursor = first['nextCursor'];
    const last = (first['tasks'] as Json[]).at(-1)!['taskId'];
    await served.tasks.engine.delete(String(last), { subject: 'local' });
    await peer.start('forever');
    const { result } = await peer.send('tasks/list', { cursor });
    expect((result['tasks'] as Json[]).map(({ taskId }) => taskId)).toEqual(started.slice(0, 10).reverse());
    expect((await peer.send('tasks/list', { cursor })).result).toEqual(result);
  });

  it.each([['garbage'], [''], ['tsk_AAAAAAAAAAAAAAAAAAAAAAAA'], [7], [null], [{}]])(
    'does not go on from %j [G2-S-50]',
    async (cursor) => {
      const peer = await LegacyPeer.connect(serve(register));
      const { error } = await peer.send('tasks/list', { cursor });
      expect(error).toEqual({ code: -32602, message: expect.stringContaining('params.cursor') });
    },
  );
});

describe('two users of one server', () => {
  it('see their own tasks only; of others nothing is known [G2-S-56] [G2-S-57] [G2-S-58] [C-058] [C-010]', async () => {
    const as = users(serve(register));
    const [ann, bob] = [await LegacyPeer.connect(as('ann')), await LegacyPeer.connect(as('bob'))];
    const { taskId } = await ann.start('forever');
    const own = await bob.start('forever');
    expect(await pages(ann)).toEqual([[taskId]]);
    expect(await pages(bob)).toEqual([[own.taskId]]);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const body = async (id: string) => (await bob.stream(method, { taskId: id }, { id: 1 })).text();
      const foreign = await body(taskId);
      const unknown = await body('tsk_AAAAAAAAAAAAAAAAAAAAAAAA');
      expect(foreign).toBe(unknown);
      expect(foreign).toContain('-32602');
    }
    expect((await ann.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
  });

  it('cannot use each other’s cursors [G2-S-50] [G2-S-58]', async () => {
    const as = users(serve(register));
    const [ann, bob] = [await LegacyPeer.connect(as('ann')), await LegacyPeer.connect(as('bob'))];
    for (let n = 0; n < 51; n += 1) await ann.start('quick');
    const cursor = (await ann.send('tasks/list')).result['nextCursor'];
    expect((await bob.send('tasks/list', { cursor })).error.code).toBe(-32602);
    expect((await ann.send('tasks/list', { cursor })).result['tasks']).toHaveLength(1);
  });

  // Whose its sessions are, a transport of the SDK's first version does not know.
  it.skipIf(isSdkV1())('can do nothing with each other’s sessions', async () => {
    const as = users(serve(register));
    const ann = await LegacyPeer.connect(as('ann'));
    const { taskId } = await ann.start('forever');
    const thief = ann.on(as('bob'));
    expect((await thief.send('tasks/get', { taskId })).status).toBe(404);
    expect((await thief.request('GET', { accept: 'text/event-stream' })).status).toBe(404);
    expect((await thief.request('DELETE')).status).toBe(404);
    expect((await ann.send('tasks/get', { taskId })).result).toMatchObject({ taskId });
  });

  it('find their tasks again in another session, or without one [G2-S-41] [C-061]', async () => {
    const as = users(serve(register));
    const { taskId } = await (await LegacyPeer.connect(as('ann'))).start('forever');
    const again = [await LegacyPeer.connect(as('ann')), LegacyPeer.stateless(as('ann'), '2025-11-25')];
    for (const peer of again) {
      expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ taskId });
      expect(await pages(peer)).toEqual([[taskId]]);
    }
    expect((await again[1]!.send('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
  });
});

describe('callers nobody can tell apart', () => {
  it('are what a server on the network says that it has, and their tasks live for a day [G2-S-59] [G2-S-60] [C-060]', async () => {
    const served = serve((tasks) => {
      register(tasks);
      tasks.registerTool('brief', { task: { ttlMs: 60_000 } }, () => new Promise<never>(() => {}));
    });
    const { url } = await served.server.listen({ port: 0, host: '0.0.0.0', insecure: true });
    expect(served.log).toContainEqual({ level: 'warn', fields: {}, message: expect.stringMatching(/no task lists/) });
    const peer = await LegacyPeer.connect({
      peer: new Peer(over(url.replace('0.0.0.0', '127.0.0.1')), served.validator),
    });
    expect(await peer.start('forever')).toMatchObject({ ttl: 86_400_000 });
    expect(await peer.start('brief')).toMatchObject({ ttl: 60_000 });
    expect(await peer.start('forever', {}, { ttl: 172_800_000 })).toMatchObject({ ttl: 172_800_000 });
    const local = await LegacyPeer.connect(served);
    expect(await local.start('forever')).toMatchObject({ ttl: 7 * 86_400_000 });
  });

  it.each([['with a session'], ['without one']])(
    'have no list, %s; an id is all they have [G2-S-03] [G2-S-61] [C-060] [C-061]',
    async (how) => {
      const served = serve(register, { server: { principal: () => ANONYMOUS_PRINCIPAL } });
      const peer = await LegacyPeer.connect(served);
      expect(peer.hello['capabilities']).toMatchObject({ tasks: { cancel: {}, requests: { tools: { call: {} } } } });
      expect(peer.hello['capabilities']).not.toHaveProperty(['tasks', 'list']);
      const { taskId } = await peer.start('forever');
      const other =
        how === 'with a session' ? await LegacyPeer.connect(served) : LegacyPeer.stateless(served, '2025-11-25');
      for (const caller of [peer, other]) {
        expect((await caller.send('tasks/list')).error).toMatchObject({ code: -32601 });
        expect((await caller.send('tasks/get', { taskId })).result).toMatchObject({ taskId });
      }
      expect((await other.send('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
    },
  );
});
