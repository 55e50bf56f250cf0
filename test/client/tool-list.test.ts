import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { text } from '../../src/engine/index.ts';
import { serve } from '../server/peer.ts';
import { fake } from './fake-server.ts';
import { remoteOf } from './remotes.ts';

const ours = ['2026-07-28', '2025-11-25', '2025-06-18'];

describe('the list of tools', () => {
  it.each(ours)('says in %s what each takes', async (protocol) => {
    const served = serve((tasks) => {
      const inputSchema = z.object({ branch: z.string().describe('which one') });
      tasks.registerTool('run_tests', { description: 'Runs them', inputSchema }, () => text('done'));
    });
    const remote = await remoteOf(served, { protocol });
    const tools = await remote.listTools();
    const [first] = tools.filter(({ name }) => name === 'run_tests');
    expect(first?.description).toMatch(/^Runs them/);
    expect(first?.inputSchema).toMatchObject({
      type: 'object',
      properties: { branch: { type: 'string', description: 'which one' } },
      required: ['branch'],
    });
  });

  it.each(ours)('is put together from its pages in %s, and what is no tool is left out', async (version) => {
    const cursors: unknown[] = [];
    const complete = version === '2026-07-28' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
    const page = (tools: unknown[], nextCursor?: string) => ({
      result: { ...complete, tools, ...(nextCursor !== undefined && { nextCursor }) },
    });
    const { remote } = await fake({
      version,
      methods: {
        'tools/list': ({ cursor }) => {
          cursors.push(cursor);
          if (cursor === undefined) return page([{ name: 'a', inputSchema: { type: 'object' } }, 'b', {}], 'two');
          return page([
            { name: 'c', description: 7, inputSchema: [] },
            { name: 'a', inputSchema: {} },
          ]);
        },
      },
    });
    cursors.length = 0; // A session of old is looked at before: what its tools are.
    expect(await remote.listTools()).toEqual([
      { name: 'a', inputSchema: { type: 'object' } },
      { name: 'c', inputSchema: { type: 'object' } },
    ]);
    expect(cursors).toEqual([undefined, 'two']);
  });

  it('is empty without a question where a server declares no tools', async () => {
    const { remote, count } = await fake({ version: '2025-06-18', capabilities: { prompts: {} }, methods: {} });
    expect(await remote.listTools()).toEqual([]);
    expect(count('tools/list')).toBe(0);
  });
});
