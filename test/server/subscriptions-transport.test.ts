import { InMemoryTransport, type JSONRPCMessage, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { text } from '../../src/engine/index.ts';
import { withTasks } from '../../src/server/handler.ts';
import { listenTransport } from '../../src/server/listen-transport.ts';
import { defaultPrincipal } from '../../src/server/principal.ts';
import { servingOf } from '../../src/server/serving.ts';
import { deferred, reaches, settle, someTasks, start } from '../support/engine.ts';
import { withTasks as capable, type Json, notification, request } from '../support/messages.ts';
import { countWatches } from './listener.ts';
import { closing, validated } from './peer.ts';

/** A server on one connection, as over stdio, and all that came back on it. */
async function connection() {
  const { tasks, clock } = someTasks();
  const go = deferred();
  tasks.registerTool('ask', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const answer = await task.ask('sure', { message: 'Sure?', schema: z.object({ pin: z.string() }) });
    return text(answer.action);
  });
  const factory = () => {
    const mcp = new McpServer(
      { name: 'mine', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
    );
    mcp.registerTool('touch', {}, async () => {
      mcp.sendToolListChanged();
      return { content: [] };
    });
    return mcp;
  };
  const serving = servingOf(tasks, {}, defaultPrincipal('local'));
  const [client, server] = InMemoryTransport.createLinkedPair();
  const connected = serveStdio(withTasks(tasks, factory, serving), {
    transport: listenTransport(server, tasks, serving),
  });
  const wire = validated().connection();
  const messages: Json[] = [];
  let ring = (): void => {};
  client.onmessage = (message) => {
    messages.push(message as unknown as Json);
    try {
      wire.checkOutgoing(message);
    } catch {
      // The validator keeps what it found, and is asked at the end of the test.
    }
    ring();
  };
  await client.start();
  onTestFinished(async () => {
    await connected.close();
    await closing(tasks, clock);
  });
  let read = 0;
  const next = async (): Promise<Json> => {
    while (messages.length <= read) {
      await new Promise<void>((resolve) => {
        ring = resolve;
      });
    }
    read += 1;
    return messages[read - 1]!;
  };
  const write = (message: Json): void => {
    wire.observeRequest(message);
    void client.send(message as unknown as JSONRPCMessage);
  };
  const listen = (id: unknown, notifications: unknown, capabilities: Json = capable) =>
    write(request(id, 'subscriptions/listen', { notifications }, capabilities));
  return { tasks, clock, go, connected, client, messages, next, write, listen };
}

const methodOf = (message: Json) => message['method'] ?? ('result' in message ? 'result' : 'error');
const paramsOf = (message: Json) => (message['params'] ?? {}) as Json & { _meta: Json };
const subscription = (message: Json) => paramsOf(message)._meta['io.modelcontextprotocol/subscriptionId'];

describe('a subscription to tasks on a connection', () => {
  it('is acknowledged, told of every change, and ended with its result [G3-S-43] [G3-S-83] [G3-S-84] [G3-S-86]', async () => {
    const { tasks, next, write, listen } = await connection();
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    write(request('d', 'server/discover', {}));
    await next();
    listen('l', { taskIds: [taskId, 'nobody'] });
    const seen = [await next(), await next()];
    write(request('u', 'tasks/cancel', { taskId }));
    seen.push(await next(), await next(), await next());
    const own = seen.filter(({ id }) => id !== 'u');
    expect(own.map(methodOf)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tasks',
      'notifications/tasks',
      'result',
    ]);
    expect(paramsOf(own[0]!)['notifications']).toEqual({ taskIds: [taskId] });
    expect(own.slice(0, 3).map(subscription)).toEqual(['l', 'l', 'l']);
    expect(own.slice(1, 3).map((message) => paramsOf(message)['status'])).toEqual(['input_required', 'cancelled']);
    expect(own[3]).toEqual({
      jsonrpc: '2.0',
      id: 'l',
      result: {
        resultType: 'complete',
        _meta: {
          'io.modelcontextprotocol/subscriptionId': 'l',
          'io.modelcontextprotocol/serverInfo': { name: 'mine', version: '1.0.0' },
        },
      },
    });
  });

  it('goes on with what the SDK tells of, and only that subscription is told [G3-S-85]', async () => {
    const { tasks, next, write, listen, messages } = await connection();
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    listen(1, { taskIds: [taskId], toolsListChanged: true });
    listen(2, { taskIds: [taskId], promptsListChanged: true });
    const seen = [await next(), await next(), await next(), await next()];
    expect(
      seen
        .filter((message) => methodOf(message) === 'notifications/tasks')
        .map(subscription)
        .sort(),
    ).toEqual([1, 2]);
    write(request('t', 'tools/call', { name: 'touch', arguments: {} }));
    const told = [await next(), await next()].find(({ method }) => method === 'notifications/tools/list_changed');
    expect(subscription(told!)).toBe(1);
    await tasks.engine.cancel(taskId, { subject: 'local' });
    await settle();
    expect(messages.filter(({ result }) => result !== undefined).map(({ id }) => id)).toEqual(['t', 2]);
    write(request('u', 'tools/call', { name: 'touch', arguments: {} }));
    await settle();
    expect(messages.filter(({ method }) => method === 'notifications/tools/list_changed')).toHaveLength(2);
  });

  it('is over for good once the client takes it back, even before it began', async () => {
    const { tasks, next, write, listen, messages } = await connection();
    const watches = countWatches(tasks);
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    listen('l', { taskIds: [taskId] });
    await next();
    await next();
    expect(watches.open).toBe(1);
    write(notification('notifications/cancelled', { requestId: 'l' }));
    listen('m', { taskIds: [taskId] });
    write(notification('notifications/cancelled', { requestId: 'm' }));
    await settle();
    expect(watches.open).toBe(0);
    await tasks.engine.cancel(taskId, { subject: 'local' });
    await settle();
    expect(messages).toHaveLength(2);
    listen('l', { taskIds: [taskId] }); // The id is free again.
    expect(methodOf(await next())).toBe('notifications/subscriptions/acknowledged');
    expect(paramsOf(await next())['status']).toBe('cancelled');
    expect((await next())['id']).toBe('l');
  });

  it('is ended by a server that closes: cancelled, then its result [G3-S-86]', async () => {
    const { tasks, next, listen, connected, messages } = await connection();
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    listen('l', { taskIds: [taskId] });
    await next();
    await next();
    listen('plain', { toolsListChanged: true });
    await next();
    await connected.close();
    const last = messages.slice(3);
    expect(last.map(methodOf)).toEqual(['notifications/cancelled', 'result', 'notifications/cancelled', 'result']);
    expect(last.map((message) => message['id'] ?? paramsOf(message)['requestId'])).toEqual([
      'l',
      'l',
      'plain',
      'plain',
    ]);
    expect([last[0]!, last[2]!].map(subscription)).toEqual(['l', 'plain']);
  });

  it('is let go of when the client goes away', async () => {
    const { tasks, next, listen, client } = await connection();
    const watches = countWatches(tasks);
    const { taskId } = await start(tasks, 'ask');
    listen('l', { taskIds: [taskId] });
    await next();
    expect(watches.open).toBeGreaterThan(0);
    await client.close();
    expect(watches.open).toBe(0);
  });

  it('is refused in the order that holds for every request [G3-S-46] [G3-S-77] [G3-S-79]', async () => {
    const { next, write, listen, messages } = await connection();
    const version = 'io.modelcontextprotocol/protocolVersion';
    const capabilities = 'io.modelcontextprotocol/clientCapabilities';
    const notifications = { taskIds: 5, toolsListChanged: 'yes' };
    const raw = (id: string, _meta: Json) =>
      write({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta } });
    write(request('first', 'tools/list', {}));
    await next();
    raw('no version', { [capabilities]: {} });
    raw('no capabilities', { [version]: '2026-07-28' });
    raw('unknown version', { [version]: '2099-01-01', [capabilities]: {} });
    listen('not declared', notifications, {});
    listen('bad filter', notifications);
    listen('bad ids', { taskIds: 5 });
    await settle();
    const answers = messages.slice(1).map(({ id, error }) => [id, (error as Json)['code']]);
    expect(Object.fromEntries(answers)).toEqual({
      'no version': -32602,
      'no capabilities': -32602,
      'unknown version': -32022,
      'not declared': -32021,
      'bad filter': -32602,
      'bad ids': -32602,
    });
    write(request('t', 'tools/call', { name: 'touch', arguments: {} }));
    await settle();
    expect(messages.map(methodOf).slice(7)).toEqual(['result']); // Nobody listens.
  });
});
