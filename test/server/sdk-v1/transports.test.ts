import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import {
  WebStandardStreamableHTTPServerTransport,
  type WebStandardStreamableHTTPServerTransportOptions,
} from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { attachTasks } from '../../../src/server/sdk-v1/index.ts';
import { deferred, settle, someTasks } from '../../support/engine.ts';
import type { Json } from '../../support/messages.ts';
import { isAnswer, LegacyPeer } from '../legacy-peer.ts';
import { closing, Peer, validated } from '../peer.ts';

// What transports of the SDK's version 1 can be besides a session with streams.

const info = { name: 'own', version: '1.0.0' };
const principal = () => ({ subject: 'ann' });
const content = (said: string) => ({ content: [{ type: 'text', text: said }] });

/** Tools that end when told to, and that ask. */
function aStage() {
  const { tasks, clock } = someTasks();
  const go = deferred();
  tasks.registerTool('waits', { task: { pollIntervalMs: 20 } }, async () => {
    await go.promise;
    return text('done');
  });
  tasks.registerTool('asks', { task: { pollIntervalMs: 20 } }, async (_args, task) =>
    text((await task.ask('go', { message: 'Go?', schema: z.object({ ok: z.boolean() }) })).action),
  );
  onTestFinished(() => closing(tasks, clock));
  return { tasks, go };
}

/** One session over HTTP, by hand. */
async function session(tasks: Tasks, options: WebStandardStreamableHTTPServerTransportOptions) {
  const mcp = new McpServer(info);
  attachTasks(mcp, tasks, { principal });
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, ...options });
  await mcp.connect(transport as never);
  onTestFinished(() => mcp.close());
  const served = { peer: new Peer((request) => transport.handleRequest(request), validated()) };
  const peer = await LegacyPeer.connect(served, { capabilities: { elicitation: {} } });
  return Object.assign(peer, { transport });
}

it('the older HTTP transport, whose answers all go one way, carries tasks and what they ask', async () => {
  const { tasks } = aStage();
  const transports = new Map<string, SSEServerTransport>();
  const http = createServer(async (request: IncomingMessage, response) => {
    if (request.method === 'POST') {
      const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? '';
      return transports.get(id)?.handlePostMessage(request, response);
    }
    const transport = new SSEServerTransport('/messages', response);
    transports.set(transport.sessionId, transport);
    const mcp = new McpServer(info);
    attachTasks(mcp, tasks, { principal });
    await mcp.connect(transport as never);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close());
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: {}, tasks: {} } });
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return { action: 'decline' };
  });
  const transport = new SSEClientTransport(new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`));
  await client.connect(validated().tapTransport(transport as never) as never);
  onTestFinished(() => client.close());
  const stream = client.experimental.tasks.callToolStream({ name: 'asks' }, CallToolResultSchema, { task: {} });
  let last: unknown;
  for await (const message of stream) last = 'result' in message ? message.result : message;
  expect(last).toMatchObject(content('decline'));
  expect(asked).toEqual(['Go?']);
});

it('a transport that answers with JSON serves tasks all the same', async () => {
  const { tasks, go } = aStage();
  const peer = await session(tasks, { enableJsonResponse: true });
  const { taskId } = await peer.start('waits');
  expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
  const result = peer.send('tasks/result', { taskId });
  go.resolve();
  expect((await result).result).toMatchObject(content('done'));
  expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId, status: 'completed' }] });
});

it('a stream that can be gone on with is not given up when it breaks: the answer comes where it goes on', async () => {
  const { tasks, go } = aStage();
  const peer = await session(tasks, { eventStore: new InMemoryEventStore() });
  const { taskId } = await peer.start('waits');
  const leave = new AbortController();
  const { body } = await peer.stream('tasks/result', { taskId }, { signal: leave.signal });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  const [, lastEventId = ''] = /^id: (.+)$/m.exec((await reader.read()).value ?? '') ?? [];
  expect(lastEventId).not.toBe('');
  await reader.cancel();
  leave.abort();
  await settle();
  go.resolve();
  // Past the validator, which knows no answer on another stream than that of its request.
  const headers = {
    accept: 'text/event-stream',
    'mcp-session-id': peer.sessionId ?? '',
    'mcp-protocol-version': '2025-11-25',
    'last-event-id': lastEventId,
  };
  const resumed = await peer.transport.handleRequest(new Request('http://127.0.0.1/mcp', { headers }));
  const answer = await firstOf(resumed, isAnswer);
  expect(answer['result']).toMatchObject(content('done'));
});

async function firstOf(response: Response, wanted: (message: Json) => boolean): Promise<Json> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  for (;;) {
    const { done, value } = await reader.read();
    seen += value ?? '';
    const found = [...seen.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as Json).find(wanted);
    if (found !== undefined) return found;
    if (done) throw new Error(`the stream ended without it: ${seen}`);
  }
}
