import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { type Peer, type Reply, serve } from './peer.ts';

// A client of 2025-11-25, by hand: without a session, as hosts that reconnect for each call do.

function register(tasks: Tasks): void {
  tasks.registerTool('optional', { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(`${n}`));
  tasks.registerTool('required', { task: { support: 'required' } }, () => text('ran'));
  tasks.registerTool('forbidden', { task: { support: 'forbidden' } }, () => text('ran'));
}

function send(peer: Peer, method: string, params: Json, version = '2025-11-25'): Promise<Reply> {
  return peer.post(
    { jsonrpc: '2.0', id: 1, method, params },
    { headers: { 'mcp-protocol-version': version, 'mcp-method': undefined, 'mcp-name': undefined } },
  );
}

describe('a client of 2025-11-25', () => {
  it('sees a server without tasks', async () => {
    const { peer } = serve(register);
    const { result } = await send(peer, 'initialize', {
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'old', version: '1' },
      capabilities: {
        tasks: { requests: { tools: { call: {} } } },
        extensions: { 'io.modelcontextprotocol/tasks': {} },
      },
    });
    expect(result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'test-server' } });
    expect(result['capabilities']).not.toHaveProperty('tasks');
    expect(result['capabilities']).not.toHaveProperty('extensions');
    const { result: list } = await send(peer, 'tools/list', {});
    for (const tool of list['tools'] as Json[]) expect(tool).not.toHaveProperty('execution');
  });

  it.each([['2025-11-25'], ['2025-06-18'], ['2025-03-26']])(
    'is served inline at %s, whatever it asks for',
    async (version) => {
      const { peer } = serve(register);
      const plain = { content: [{ type: 'text', text: '1' }] };
      for (const extra of [
        {},
        { task: { ttl: 60_000 } },
        { _meta: { 'modelcontextprotocol.io/task': { taskId: 'x' } } },
      ]) {
        const { result } = await send(peer, 'tools/call', { name: 'optional', arguments: { n: 1 }, ...extra }, version);
        expect(result).toEqual(plain);
      }
      expect((await send(peer, 'tools/call', { name: 'forbidden', arguments: {} }, version)).result).toMatchObject({
        content: [{ text: 'ran' }],
      });
    },
  );

  it('is told what it needs for a tool that runs only as a task [C-015]', async () => {
    const { peer } = serve(register);
    const { status, error } = await send(peer, 'tools/call', { name: 'required', arguments: {}, task: {} });
    expect({ status, error }).toEqual({
      status: 200,
      error: { code: -32601, message: expect.stringMatching(/^tool required .*2026-07-28 and the tasks extension/) },
    });
  });

  it.each(['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update', 'server/discover'])(
    'has no %s',
    async (method) => {
      const { peer } = serve(register);
      expect((await send(peer, method, { taskId: 'x' })).error.code).toBe(-32601);
    },
  );

  it('that goes away has cancelled nothing: the work goes on', async () => {
    const running = deferred();
    const goOn = deferred();
    const ended = deferred<boolean>();
    const { peer, tasks } = serve((tasks) =>
      tasks.registerTool('slow', {}, async (_args, task) => {
        running.resolve();
        await goOn.promise;
        ended.resolve(task.signal.aborted);
        return text('done');
      }),
    );
    const request = new AbortController();
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow', arguments: {} } };
    const headers = { 'mcp-protocol-version': '2025-11-25', 'mcp-method': undefined, 'mcp-name': undefined };
    const reply = peer.post(message, { headers, signal: request.signal });
    await running.promise;
    request.abort();
    await reply;
    await settle();
    goOn.resolve();
    expect(await ended.promise).toBe(false);
    expect(tasks.tools).toHaveLength(1);
    await send(peer, 'tools/list', {});
  });
});
