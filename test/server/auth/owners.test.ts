import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { type ListenOptions, oauth } from '../../../src/server/index.ts';
import type { ManualClock } from '../../../src/testing/index.ts';
import { deferred, settle } from '../../support/engine.ts';
import { LegacyPeer } from '../legacy-peer.ts';
import { type Listener, listener } from '../listener.ts';
import { type Peer, readReply } from '../peer.ts';
import { type Guarded, guarded, tools, whoami } from './guarded.ts';
import { type Issuer, issuer, RESOURCE } from './issuer.ts';

// Whose a task is, over every way in, once tokens are checked.

function register(tasks: Tasks): void {
  tools(tasks);
  tasks.registerTool('ask', {}, async (_args, task) => {
    const answer = await task.ask('sure', { message: 'Sure?', schema: z.object({ pin: z.string() }) });
    return text(answer.action === 'accept' ? answer.content.pin : answer.action);
  });
}

async function protectedServer(listen: ListenOptions = {}): Promise<Guarded & { login: Issuer }> {
  const login = await issuer();
  const auth = oauth({ issuer: login.url, jwksUri: login.jwksUri, resource: RESOURCE });
  return { login, ...(await guarded(auth, { listen, register })) };
}

describe('two users of one client', () => {
  it('do not see, answer or cancel the tasks of each other [G3-S-59]', async () => {
    const { login, as } = await protectedServer();
    const alice = as(await login.sign());
    const bob = as(await login.sign({ sub: 'bob' }));
    const { taskId } = await alice.start('ask');
    for (const id of [taskId, 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA']) {
      const replies = [await bob.get(id), await bob.update(id, { sure: { action: 'cancel' } }), await bob.cancel(id)];
      for (const { error } of replies) expect(error).toEqual({ code: -32602, message: 'Task not found' });
    }
    // A new token of hers, and another client of hers, are still her.
    const again = as(await login.sign({ client_id: 'another app', jti: 'another token' }));
    expect((await again.get(taskId)).result).toMatchObject({ taskId });
  });

  it('do not share a session of 2025-11-25', async () => {
    const { login, as } = await protectedServer();
    const alice = await LegacyPeer.connect({ peer: as(await login.sign()) });
    const bob = { peer: as(await login.sign({ sub: 'bob' })) };
    const { taskId } = await alice.start('slow');
    expect((await alice.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });

    const stolen = alice.on(bob);
    expect((await stolen.request('GET', { accept: 'text/event-stream' })).status).toBe(404);
    expect((await stolen.send('tasks/get', { taskId })).status).toBe(404);
    expect((await stolen.request('DELETE')).status).toBe(404);
    const own = await LegacyPeer.connect(bob);
    expect((await own.send('tasks/get', { taskId })).error.code).toBe(-32602);
    expect((await own.send('tasks/list')).result['tasks']).toEqual([]);
    expect((await alice.send('tasks/list')).result['tasks']).toMatchObject([{ taskId }]);
    expect((await alice.request('DELETE')).status).toBe(204);
  });

  it('do not listen to the tasks of each other', async () => {
    const { login, as } = await protectedServer();
    const alice = as(await login.sign());
    const { taskId } = await alice.start('slow');
    const own = await listener(alice, { taskIds: [taskId] });
    const others = await listener(as(await login.sign({ sub: 'bob' })), { taskIds: [taskId] });
    const acknowledged = async ({ next }: typeof own) => (await next())?.['params'];
    expect(await acknowledged(own)).toMatchObject({ notifications: { taskIds: [taskId] } });
    expect(JSON.stringify(await acknowledged(others))).not.toContain(taskId);
    expect(await own.next()).toMatchObject({ params: { taskId, status: 'working' } });
    await alice.cancel(taskId);
    expect(await own.next()).toMatchObject({ params: { taskId, status: 'cancelled' } });
  });
});

/** Time goes by with whoever reads a stream reading it: one that nobody reads for minutes is given up. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    clock.advance(10_000);
    await settle();
  }
}

describe('a stream of news', () => {
  it('ends when its token does, and goes on with the next', async () => {
    const { login, as, clock } = await protectedServer();
    const alice = as(await login.sign());
    const { taskId } = await alice.start('slow');
    const opened = async (peer: Peer): Promise<Listener> => {
      const stream = await listener(peer, { taskIds: [taskId] });
      await stream.next(); // What was granted.
      expect(await stream.next()).toMatchObject({ params: { taskId, status: 'working' } });
      return stream;
    };
    const stream = await opened(alice);
    await pass(clock, 600_000);
    const again = await opened(as(await login.sign({ jti: 'another token' })));
    clock.advance(30_000);
    expect(await stream.rest()).toEqual([]);
    await alice.cancel(taskId);
    expect(await again.next()).toMatchObject({ params: { taskId, status: 'cancelled' } });
  });

  it('of a session too, which lives on', async () => {
    const { login, as, clock } = await protectedServer();
    const session = await LegacyPeer.connect({ peer: as(await login.sign()) });
    const first = await session.channel();
    await pass(clock, 630_000);
    await first.ended;
    const renewed = session.on({ peer: as(await login.sign()) });
    const second = await renewed.channel();
    const { taskId } = await renewed.start('slow');
    await renewed.send('tasks/cancel', { taskId });
    await second.first(({ method }) => method === 'notifications/tasks/status');
    expect((await renewed.request('DELETE')).status).toBe(204);
    await second.ended;
  });

  it('is no call: that one gets the answer it was promised', async () => {
    const { login, as, clock, tasks } = await protectedServer();
    const [started, finish] = [deferred(), deferred()];
    tasks.registerTool('patient', { task: { support: 'forbidden' } }, async () => {
      started.resolve();
      await finish.promise;
      return text('done');
    });
    const alice = as(await login.sign());
    const opening = alice.stream('tools/call', { name: 'patient', arguments: {} }, { capabilities: {} });
    await started.promise;
    clock.advance(1_000); // Long enough for a stream to be opened before its answer.
    const response = await opening;
    await pass(clock, 630_000);
    finish.resolve();
    expect((await readReply(response)).result).toMatchObject({ content: [{ text: 'done' }] });
  });
});

describe('every way in', () => {
  it('asks for a token: sessions, their channels, listen streams', async () => {
    const { login, url, as } = await protectedServer();
    const session = await LegacyPeer.connect({ peer: as(await login.sign()) });
    const headers = { 'mcp-session-id': session.sessionId!, accept: 'text/event-stream, application/json' };
    const json = { ...headers, 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const listen = { ...json, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    for (const init of [
      { method: 'GET', headers },
      { method: 'DELETE', headers },
      { method: 'POST', headers: json, body },
      { method: 'POST', headers: listen, body },
      { method: 'PUT', headers: json, body },
      { method: 'OPTIONS', headers },
    ]) {
      expect((await fetch(url, init)).status).toBe(401);
      const other = {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${await login.sign({ aud: 'x' })}` },
      };
      expect((await fetch(url, other)).status).toBe(401);
    }
  });

  it('is open to others without `insecure`, for who has a token, from pages that may ask', async () => {
    const { login, url, as, log } = await protectedServer({ host: '0.0.0.0' });
    expect(await whoami(as(await login.sign()))).toEqual({ subject: `${login.url}|alice` });
    expect(log.filter(({ level }) => level === 'warn')).toEqual([]);
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    const authorization = `Bearer ${await login.sign()}`;
    const evil = { origin: 'https://evil.example', authorization };
    expect((await fetch(url, { method: 'POST', headers: evil })).status).toBe(403);
    const { origin } = new URL(url);
    const document = `${origin}/.well-known/oauth-protected-resource/mcp`;
    expect((await fetch(document)).status).toBe(200);
    expect((await fetch(document, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  });
});

describe('the official client', () => {
  it('works with a token, and gets a new one when it is told to', async () => {
    const { login, url, validator } = await protectedServer();
    let token = await login.sign({ exp: 1 });
    const challenges: (string | null)[] = [];
    const authProvider = {
      token: async () => token,
      onUnauthorized: async ({ response }: { response: Response }) => {
        challenges.push(response.headers.get('www-authenticate'));
        token = await login.sign();
      },
    };
    const client = new Client(
      { name: 'a test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const wire = { fetch: validator.wrapFetch(fetch), authProvider };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), wire));
    onTestFinished(() => client.close());
    const { content } = await client.callTool({ name: 'whoami', arguments: {} });
    expect(content).toEqual([{ type: 'text', text: JSON.stringify({ subject: `${login.url}|alice` }) }]);
    expect(challenges).toEqual([expect.stringContaining('resource_metadata="https://tasks.example/.well-known/')]);
  });

  it('of 2025-11-25 does too', async () => {
    const { login, url, validator } = await protectedServer();
    const client = new Client({ name: 'a test', version: '1.0.0' }, {});
    const token = await login.sign();
    const wire = { fetch: validator.wrapFetch(fetch), requestInit: { headers: { authorization: `Bearer ${token}` } } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), wire));
    onTestFinished(() => client.close());
    const { tools: listed } = await client.listTools();
    expect(listed.map(({ name }) => name)).toContain('slow');
  });

  it('is told what it lacks without one', async () => {
    const { login, url, as } = await protectedServer();
    const client = new Client({ name: 'a test', version: '1.0.0' }, {});
    const connected = client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await expect(connected).rejects.toThrow('Missing Authorization header');
    await whoami(as(await login.sign()));
  });
});
