import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolResultSchema, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/core/index.ts';
import { createTasks, text } from '../../../src/engine/index.ts';
import { durableTaskStore } from '../../../src/server/sdk-v1/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { silent } from '../../support/stores.ts';
import { authOf } from './requests.ts';
import { aClient, aServer, call, jobs, streamed } from './servers.ts';

/** A listener as the SDK's examples have it: a server for each session, or for each request; `req.auth` by the token. */
async function listening({ sessions = true } = {}) {
  const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: systemClock, drainMs: 0 });
  const store = durableTaskStore(tasks); // One for all of them.
  const queue = jobs();
  const open = new Map<string, StreamableHTTPServerTransport>();
  const transportFor = async (session: string | undefined, body: unknown) => {
    const found = session === undefined ? undefined : open.get(session);
    if (found !== undefined) return found;
    if (sessions && !isInitializeRequest(body)) return undefined;
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: sessions ? randomUUID : undefined,
      onsessioninitialized: (id: string) => void open.set(id, transport),
    } as never);
    await aServer(store, queue.started).connect(transport as never);
    return transport;
  };
  const http = createServer(async (request: IncomingMessage & { auth?: AuthInfo }, response) => {
    const who = request.headers.authorization?.replace('Bearer ', '');
    if (who !== undefined) request.auth = authOf(who);
    let sent = '';
    for await (const some of request) sent += String(some);
    const body = sent === '' ? undefined : JSON.parse(sent);
    const transport = await transportFor(request.headers['mcp-session-id']?.toString(), body);
    if (transport === undefined) response.writeHead(404).end();
    else await transport.handleRequest(request, response, body);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  onTestFinished(async () => {
    for (const transport of open.values()) await transport.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await tasks.close();
  });
  const connect = async (who?: string, sessionId?: string) => {
    const client = aClient();
    const headers = who === undefined ? {} : { authorization: `Bearer ${who}` };
    const transport = new StreamableHTTPClientTransport(url, {
      requestInit: { headers },
      ...(sessionId !== undefined && { sessionId }),
    });
    await client.connect(transport as never);
    onTestFinished(() => client.close());
    return { client, sessionId: transport.sessionId };
  };
  return { tasks, connect, next: queue.next };
}

describe.each([{ sessions: true }, { sessions: false }])('over HTTP of the SDK v1, $sessions', ({ sessions }) => {
  it('[G2-S-57] [C-058] belongs to the token, not to the session', async () => {
    const { tasks, connect, next } = await listening({ sessions });
    const alice = await connect('alice');
    const stream = streamed(alice.client, 'build');
    const job = await next();
    await tasks.engine.held.complete(job.taskId, text('for alice'));
    expect((await stream).at(-1)).toMatchObject({ type: 'result', result: text('for alice') });
    expect(alice.sessionId !== undefined).toBe(sessions);

    // In a session of his own, and with hers.
    for (const bob of [await connect('bob'), await connect('bob', alice.sessionId)]) {
      const { tasks: theirs } = bob.client.experimental;
      await expect(theirs.getTask(job.taskId)).rejects.toMatchObject({ code: -32602 });
      await expect(theirs.getTaskResult(job.taskId, CallToolResultSchema)).rejects.toMatchObject({ code: -32602 });
      await expect(theirs.cancelTask(job.taskId)).rejects.toMatchObject({ code: -32602 });
      expect((await theirs.listTasks()).tasks).toEqual([]);
    }
  });

  it('[C-030] is found by its owner in a new session, and can be ended there', async () => {
    const { connect, next } = await listening({ sessions });
    const first = await connect('alice');
    const taskId = await call(first.client);
    const { signal } = await next();
    await first.client.close();
    const { client } = await connect('alice');
    expect((await client.experimental.tasks.listTasks()).tasks).toMatchObject([{ taskId, status: 'working' }]);
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ status: 'cancelled' });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });

  it('[G2-S-60] is found by its id alone where nobody is known, and listed to nobody', async () => {
    const { connect } = await listening({ sessions });
    const first = await connect();
    const taskId = await call(first.client);
    const second = await connect();
    expect(await second.client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId });
    await expect(second.client.experimental.tasks.listTasks()).rejects.toThrow('are not listed');
    const alice = await connect('alice');
    await expect(alice.client.experimental.tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
  });
});
