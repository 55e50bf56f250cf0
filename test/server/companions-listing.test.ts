import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { registerFixtureTools, said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { someTasks } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { Peer, serve, validated } from './peer.ts';

const plain = { capabilities: {} };
const names = [
  'task_wait',
  'task_status',
  'task_result',
  'task_logs',
  'task_answer',
  'task_cancel',
  'task_list',
  'task_delete',
];

describe('the tools for clients without tasks', () => {
  const listed = async (peer: Peer, sending: object = plain) => {
    const { result } = await peer.send('tools/list', {}, sending);
    return (result['tools'] as { name: string; description: string }[]).filter(({ name }) => names.includes(name));
  };

  it('are seen by those only: on 2026-07-28 it depends on the request, before on the session', async () => {
    const { peer } = serve(registerFixtureTools);
    expect((await listed(peer)).map(({ name }) => name)).toEqual(names);
    expect(await listed(peer, {})).toEqual([]);
    for (const [capabilities, seen] of [
      [{}, 8],
      [{ extensions: { 'io.modelcontextprotocol/tasks': {} } }, 8],
      [{ tasks: {} }, 0],
    ] as const) {
      const legacy = await LegacyPeer.connect({ peer }, { capabilities });
      const { result } = await legacy.send('tools/list');
      const all = (result['tools'] as { name: string }[]).map(({ name }) => name);
      expect(all.filter((name) => names.includes(name))).toHaveLength(seen);
    }
  });

  it('cost a model little, and share a prefix [C-114]', async () => {
    const { peer } = serve(registerFixtureTools);
    const tools = await listed(peer);
    for (const { name, description } of tools) {
      expect(name).toMatch(/^task_/);
      expect(description.length).toBeLessThan(130);
    }
    expect(JSON.stringify(tools).length).toBeLessThan(4_200);
  });

  it('can be left out', async () => {
    const { peer } = serve(registerFixtureTools, { server: { companions: false } });
    expect(await listed(peer)).toEqual([]);
    expect((await peer.call('task_list', {}, plain)).error).toMatchObject({ code: -32602 });
  });

  it('give way to tools of the server with the same name, which everybody sees', async () => {
    const { peer, clock } = serve((tasks) => {
      registerFixtureTools(tasks);
      tasks.registerTool('task_wait', { description: 'Mine.' }, () => text('mine'));
    });
    for (const sending of [plain, {}]) {
      const own = (await listed(peer, sending)).find(({ name }) => name === 'task_wait');
      expect(own?.description).toMatch(/^Mine\./);
    }
    const { answer } = await answered(clock, peer.call('slow_compute', { seconds: 60 }, plain));
    const { taskId } = answer.result['structuredContent'] as { taskId: string };
    expect(said(answer.result)).toContain(`Next: in a minute, call task_result with {"taskId":"${taskId}"}.`);
    expect(said((await peer.call('task_wait', {}, plain)).result)).toBe('mine');
  });

  it('give way to tools of the McpServer they are put on', async () => {
    const { tasks } = someTasks();
    registerFixtureTools(tasks);
    const handler = createTaskHandler(tasks, () => {
      const mcp = new McpServer({ name: 'own', version: '1.0.0' }, { capabilities: { tools: {} } });
      mcp.registerTool('task_wait', { description: 'Mine.' }, () => ({ content: [] }));
      return mcp;
    });
    const peer = new Peer((request) => handler.fetch(request), validated());
    expect((await listed(peer)).find(({ name }) => name === 'task_wait')?.description).toBe('Mine.');
    expect((await listed(peer, {})).map(({ name }) => name)).toEqual(['task_wait']);
    await handler.close();
    await tasks.close();
  });
});
