import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTasks, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { silent } from '../support/stores.ts';
import { Peer, serve, validated } from './peer.ts';

function tools(tasks: Tasks): void {
  tasks.registerTool(
    'transcode',
    {
      title: 'Transcode',
      description: 'Transcodes a film',
      inputSchema: z.object({ file: z.string() }),
      outputSchema: z.object({ frames: z.number() }),
      annotations: { idempotentHint: true },
      task: { support: 'required' },
    },
    () => ({ structuredContent: { frames: 1 } }),
  );
  tasks.registerTool('greet', { task: { support: 'forbidden' } }, () => text('hello'));
}

describe('what a client learns about the server', () => {
  it('is the extension, without a trace of older task capabilities [G3-S-01] [G3-S-65] [G3-S-75]', async () => {
    const { peer } = serve(tools);
    const { status, result } = await peer.send('server/discover', {});
    expect(status).toBe(200);
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    expect(result['capabilities']).not.toHaveProperty('tasks');
  });

  it('does not depend on what the client itself can do', async () => {
    const { peer } = serve(tools);
    const { result } = await peer.send('server/discover', {}, { capabilities: {} });
    expect(result).toEqual((await peer.send('server/discover', {})).result);
  });

  it('is which tools there are, but not which of them run as tasks [G3-S-65]', async () => {
    const { peer } = serve(tools);
    const { result } = await peer.send('tools/list', {});
    expect(result['tools']).toEqual([
      {
        name: 'transcode',
        title: 'Transcode',
        description: 'Transcodes a film',
        inputSchema: expect.objectContaining({ type: 'object', required: ['file'] }),
        outputSchema: expect.objectContaining({ type: 'object', required: ['frames'] }),
        annotations: { idempotentHint: true },
      },
      { name: 'greet', inputSchema: { type: 'object', properties: {} } },
    ]);
  });

  it('is who serves, stamped on every result, and the kind of each result [G3-S-74] [G3-S-89]', async () => {
    const { peer } = serve(tools);
    const handle = await peer.call('transcode', { file: 'a' });
    const { taskId } = handle.result as { taskId: string };
    const replies = [
      handle,
      await peer.send('server/discover', {}),
      await peer.send('tools/list', {}),
      await peer.call('greet'),
      await peer.get(taskId),
      await peer.update(taskId, {}),
      await peer.cancel(taskId),
    ];
    expect(replies.map(({ result }) => result['resultType'])).toEqual(['task', ...Array(6).fill('complete')]);
    for (const { result } of replies) {
      expect(result['_meta']).toEqual({
        'io.modelcontextprotocol/serverInfo': { name: 'test-server', version: '1.2.3' },
      });
    }
  });

  it("are the author's own tools too, beside those of the tasks", async () => {
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: new ManualClock() });
    tools(tasks);
    const handler = createTaskHandler(tasks, () => {
      const mcp = new McpServer({ name: 'mine', version: '1.0.0' }, { instructions: 'Use both.' });
      mcp.registerTool('mine', {}, () => ({ content: [] }));
      return mcp;
    });
    const peer = new Peer((request) => handler.fetch(request), validated());
    expect((await peer.send('server/discover', {})).result).toMatchObject({
      instructions: 'Use both.',
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    const { result } = await peer.send('tools/list', {});
    expect((result['tools'] as { name: string }[]).map(({ name }) => name)).toEqual(['mine', 'transcode', 'greet']);
    await handler.close();
    await tasks.close();
  });

  it('is told on a mistake of the author: a factory must return an McpServer', async () => {
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: new ManualClock() });
    const handler = createTaskHandler(tasks, () => ({}) as McpServer);
    const peer = new Peer((request) => handler.fetch(request), validated());
    const { status, error } = await peer.send('tools/list', {});
    expect({ status, error }).toEqual({ status: 500, error: { code: -32603, message: 'Internal server error' } });
    await handler.close();
  });
});
