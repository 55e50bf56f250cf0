import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { reaches, settle, someTasks } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { listener } from './listener.ts';
import { closing, Peer, serve, validated } from './peer.ts';

function tools(tasks: Tasks): void {
  tasks.registerTool('ask', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const answer = await task.ask('sure', { message: 'Sure?', schema: z.object({ pin: z.string() }) });
    return text(answer.action);
  });
}

/** A server with tools and resources of its own, which tells of changes through the SDK. */
function ownServer() {
  const { tasks, clock } = someTasks();
  tools(tasks);
  const handler = createTaskHandler(tasks, () => {
    const mcp = new McpServer(
      { name: 'mine', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
    );
    mcp.registerResource('motd', 'app://motd', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'hello' }] }));
    return mcp;
  });
  onTestFinished(async () => {
    await handler.close();
    await closing(tasks, clock);
  });
  const peer = new Peer((request) => handler.fetch(request), validated());
  return { tasks, handler, peer };
}

const granted = (message: Json | undefined) => ((message?.['params'] ?? {}) as Json)['notifications'];
const methodOf = (message: Json | undefined) => message?.['method'] ?? 'result';

describe('a subscription to tasks and to what the SDK tells of', () => {
  it('has both on one stream, which goes on when the tasks are over [G3-S-84] [G3-S-85]', async () => {
    const { tasks, handler, peer } = ownServer();
    const { taskId } = await peer.start('ask');
    await reaches(tasks, taskId, 'input_required');
    const wanted = { taskIds: [taskId], toolsListChanged: true, resourceSubscriptions: ['app://motd'] };
    const stream = await listener(peer, { ...wanted, promptsListChanged: true });
    expect(granted(await stream.next())).toEqual(wanted);
    expect(methodOf(await stream.next())).toBe('notifications/tasks');
    handler.notify.toolsChanged();
    expect(methodOf(await stream.next())).toBe('notifications/tools/list_changed');
    handler.notify.promptsChanged();
    handler.notify.resourcesChanged();
    handler.notify.resourceUpdated('app://other');
    await peer.cancel(taskId);
    expect(await stream.next()).toMatchObject({ params: { taskId, status: 'cancelled' } });
    handler.notify.resourceUpdated('app://motd');
    const updated = await stream.next();
    expect(updated).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'app://motd', _meta: { 'io.modelcontextprotocol/subscriptionId': stream.id } },
    });
    await handler.close();
    expect((await stream.rest()).map(methodOf)).toEqual(['result']);
  });

  it('ends with its server, with a result that is the last word [G3-S-86]', async () => {
    const { handler, peer } = ownServer();
    const { taskId } = await peer.start('ask');
    const streams = [
      await listener(peer, { taskIds: [taskId] }),
      await listener(peer, { taskIds: [taskId], toolsListChanged: true }),
    ];
    await handler.close();
    for (const stream of streams) {
      expect(methodOf(await stream.next())).toMatch(/acknowledged$/);
      expect((await stream.rest()).map(methodOf).at(-1)).toBe('result');
    }
  });
});

describe('the resource of a task', () => {
  it('is told of when it changes, to its owner alone', async () => {
    const principal = { current: 'alice' };
    const { peer, reaches } = serve(tools, { server: { principal: () => ({ subject: principal.current }) } });
    const { taskId } = await peer.start('ask');
    await reaches(taskId, 'input_required');
    const uri = `longcall://tasks/${taskId}`;
    const wanted = { resourceSubscriptions: [uri, 'longcall://tasks/nobody', `${uri}/result`] };
    principal.current = 'mallory';
    const foreign = await listener(peer, wanted, { capabilities: {} });
    expect(granted(await foreign.next())).toEqual({});
    expect((await foreign.rest()).map(methodOf)).toEqual(['result']);
    principal.current = 'alice';
    const stream = await listener(peer, wanted, { capabilities: {} }); // Resources need no extension.
    expect(granted(await stream.next())).toEqual({ resourceSubscriptions: [uri] });
    const updated = {
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri, _meta: { 'io.modelcontextprotocol/subscriptionId': stream.id } },
    };
    expect(await stream.next()).toEqual(updated);
    await peer.cancel(taskId);
    const rest = await stream.rest();
    expect(rest.slice(0, -1)).toEqual([updated]);
    expect(methodOf(rest.at(-1))).toBe('result');
  });

  it('can be subscribed to together with the task, and with resources of the server itself', async () => {
    const { tasks, handler, peer } = ownServer();
    const { taskId } = await peer.start('ask');
    await reaches(tasks, taskId, 'input_required');
    const uri = `longcall://tasks/${taskId}`;
    const stream = await listener(peer, { taskIds: [taskId], resourceSubscriptions: ['app://motd', uri, uri] });
    expect(granted(await stream.next())).toEqual({ taskIds: [taskId], resourceSubscriptions: ['app://motd', uri] });
    expect(methodOf(await stream.next())).toBe('notifications/tasks');
    expect(await stream.next()).toMatchObject({ method: 'notifications/resources/updated', params: { uri } });
    await settle();
    handler.notify.resourceUpdated('app://motd');
    await handler.close();
    const rest = await stream.rest();
    expect(rest.at(-2)).toMatchObject({ params: { uri: 'app://motd' } });
  });

  it('cannot be subscribed to where tasks are no resources', async () => {
    const { peer } = serve(tools, { server: { resources: false } });
    const { taskId } = await peer.start('ask');
    const stream = await listener(peer, { resourceSubscriptions: [`longcall://tasks/${taskId}`] });
    expect(granted(await stream.next())).toEqual({});
    expect((await stream.rest()).map(methodOf)).toEqual(['result']);
  });
});
