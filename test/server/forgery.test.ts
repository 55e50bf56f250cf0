import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import type { Json } from '../support/messages.ts';
import { silent } from '../support/stores.ts';
import { closing, Peer, serve, validated } from './peer.ts';

const MARK = 'longcall/outcome';
const noTasks = { capabilities: {} };

/** What a tool of a careless author, or of a server it stands in front of, may say about tasks. */
const forged = {
  content: [{ type: 'text', text: 'mine' }],
  resultType: 'task',
  taskId: 'tsk_forged',
  status: 'working',
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttlMs: null,
  _meta: { [MARK]: 'guess', 'io.modelcontextprotocol/related-task': { taskId: 'x' }, 'example.com/kept': 1 },
};

describe("a tool's result", () => {
  it.each(['optional', 'forbidden'] as const)(
    'of an %s tool is never taken for a task, nor for an outcome [G3-S-09]',
    async (support) => {
      const { peer } = serve((tasks) => tasks.registerTool('tool', { task: { support } }, () => forged));
      const { result, body } = await peer.call('tool', {}, noTasks);
      expect(result).toMatchObject({ resultType: 'complete', content: forged.content });
      expect(result['_meta']).toEqual({
        'example.com/kept': 1,
        'io.modelcontextprotocol/serverInfo': { name: 'test-server', version: '1.2.3' },
      });
      expect(body).not.toContain(MARK);
    },
  );

  it('inside a task, neither [G3-S-09] [G3-S-70]', async () => {
    const { peer, reaches } = serve((tasks) => tasks.registerTool('tool', {}, () => forged));
    const { taskId } = await peer.start('tool');
    const { result } = await reaches(taskId, 'completed');
    expect(result).toMatchObject({ resultType: 'complete', _meta: { 'example.com/kept': 1 } });
    expect((await peer.get(taskId)).body).not.toMatch(/longcall\/outcome|related-task/);
  });

  it('before a task, neither [G3-S-09]', async () => {
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', { task: { prepare: () => ({ respond: forged }) } }, () => text('')),
    );
    const { result, body } = await peer.call('tool');
    expect(result).toMatchObject({ resultType: 'complete', content: forged.content });
    expect(body).not.toContain(MARK);
  });
});

describe('what a client puts into _meta', () => {
  it('cannot name an outcome, though a tool echoes it', async () => {
    const clock = new ManualClock();
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock, drainMs: 0 });
    tasks.registerTool('slow', {}, () => new Promise(() => {}));
    const handler = createTaskHandler(tasks, () => {
      const mcp = new McpServer({ name: 'echo', version: '1.0.0' });
      mcp.registerTool('echo', {}, (ctx) => ({ content: [], _meta: ctx.mcpReq._meta as Json }));
      return mcp;
    });
    onTestFinished(() => closing({ close: () => handler.close().then(() => tasks.close()) }, clock));
    const peer = new Peer((request) => handler.fetch(request), validated());
    await peer.start('slow');
    const meta = { [MARK]: 'tsk_forged', 'example.com/mine': 1 };
    const { result, body } = await peer.call('echo', {}, { meta });
    expect(result['_meta']).toMatchObject({ 'example.com/mine': 1 });
    expect(result['_meta']).not.toHaveProperty([MARK]);
    expect(body).not.toContain('tsk_forged');
  });

  it.each([[{ [MARK]: 'x' }], [{ [MARK]: { result: { resultType: 'task' } } }], [{ [MARK]: null }]])(
    'does not change how it is served: %j',
    async (meta) => {
      const { peer } = serve((tasks) => tasks.registerTool('tool', {}, () => text('done')));
      expect((await peer.call('tool', {}, { ...noTasks, meta })).result).toMatchObject({ content: [{ text: 'done' }] });
      const { taskId } = await peer.start('tool', {}, { meta });
      for (const { body } of [await peer.get(taskId, { meta }), await peer.cancel(taskId, { meta })]) {
        expect(body).not.toContain(MARK);
      }
    },
  );

  it.each<[string, unknown]>([
    ['traceparent', 5],
    ['traceparent', { a: 1 }],
    ['tracestate', []],
    ['longcall/progress', 'x'],
    ['__proto__', { tasks: true }],
  ])('may be of any type where we look: %s = %j', async (key, value) => {
    const { peer } = serve((tasks) => tasks.registerTool('tool', {}, () => text('done')));
    const meta = JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`) as Json;
    const message = peer.request('tools/call', { name: 'tool', arguments: {} }, { meta });
    const { status, message: answer } = await peer.post(message);
    expect({ status, task: (answer['result'] as Json)?.['resultType'] }).toEqual({ status: 200, task: 'task' });
  });
});
