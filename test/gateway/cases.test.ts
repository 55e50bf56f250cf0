import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openTaskClient } from '../../src/client/index.ts';
import { deferred, recordingLogger } from '../support/engine.ts';
import { type Era, guest, plainServer, standing, upstream, words } from './support.ts';

const eras: Era[] = ['legacy', 'auto'];

async function called(url: string, protocol: string, name: string) {
  const client = await openTaskClient({ journal: ':memory:', minPollMs: 10 });
  onTestFinished(() => client.close());
  const server = await client.connect('gateway', { url, protocol });
  return server.callTool({ name });
}

describe('an answer with isError', () => {
  it.each(['2025-11-25', '2026-07-28'])(
    'keeps all that it says on its way through the gateway, %s [C-001]',
    async (protocol) => {
      const verdict = {
        content: [{ type: 'text' as const, text: 'two tests fail' }],
        structuredContent: { failed: ['a', 'b'] },
        isError: true,
      };
      const plain = await plainServer(() => {
        const server = new McpServer({ name: 'ci', version: '1' });
        server.registerTool('test', {}, () => verdict);
        return server;
      });
      const { url } = await standing({ upstreams: [upstream(plain.target)] });
      expect(await (await called(url, protocol, 'test')).result()).toEqual(verdict);
      const none = await guest(url, 'legacy');
      expect(await none.callTool({ name: 'test' })).toEqual(verdict);
    },
  );
});

describe('a cancel', () => {
  it('is nothing that went wrong: no line above info tells of it [C-027]', async () => {
    const waiting = deferred();
    const plain = await plainServer(() => {
      const server = new McpServer({ name: 'slow', version: '1' });
      server.registerTool('wait', {}, async ({ signal }) => {
        const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        waiting.resolve();
        await stopped;
        throw new Error('AbortError: the operation was aborted');
      });
      return server;
    });
    const { logger, lines } = recordingLogger();
    const { url, gateway } = await standing({ upstreams: [upstream(plain.target)] }, { logger });
    const call = await called(url, '2026-07-28', 'wait');
    await waiting.promise;
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    await call.cancel();
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await gateway.close();
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });
});

describe('two servers with tools of the same name', () => {
  it('each run their own, whether a call is passed through or a task [C-063]', async () => {
    const named = (name: string, folder: string) => () => {
      const server = new McpServer({ name, version: '1' });
      server.registerTool('where', {}, () => ({ content: [{ type: 'text', text: `${name} in ${folder}` }] }));
      return server;
    };
    const [red, blue] = [await plainServer(named('red', '/r')), await plainServer(named('blue', '/b'))];
    const seen = async (mode: 'direct' | 'task'): Promise<string[]> => {
      const { url } = await standing({
        upstreams: [
          upstream(red.target, { name: 'red', prefix: 'red_', policy: { mode } }),
          upstream(blue.target, { name: 'blue', prefix: 'blue_', policy: { mode } }),
        ],
      });
      const client = await guest(url, 'legacy');
      return [
        words(await client.callTool({ name: 'red_where' })),
        words(await client.callTool({ name: 'blue_where' })),
      ];
    };
    expect(await seen('direct')).toEqual(['red in /r', 'blue in /b']);
    expect(await seen('task')).toEqual(await seen('direct'));
  });
});

describe('a tool’s time limit', () => {
  it.each([
    ['2026-07-28', 'task'],
    ['2025-11-25', 'task'],
    ['none', 'task'],
    ['none', 'direct'],
  ] as const)('holds in every mode, and the work is told to stop: %s, %s [C-094]', async (protocol, mode) => {
    const stopped = deferred();
    const plain = await plainServer(() => {
      const server = new McpServer({ name: 'slow', version: '1' });
      server.registerTool('wait', {}, async ({ signal }) => {
        signal.addEventListener('abort', () => stopped.resolve());
        await stopped.promise;
        return { content: [] };
      });
      return server;
    });
    const { url } = await standing({ upstreams: [upstream(plain.target, { policy: { mode, timeoutMs: 300 } })] });
    const outcome: unknown =
      protocol === 'none'
        ? await (await guest(url, 'legacy')).callTool({ name: 'wait' }).catch((error: unknown) => error)
        : await (await called(url, protocol, 'wait')).result().catch((error: unknown) => error);
    const told = outcome instanceof Error ? outcome.message : words(outcome);
    expect(told).toContain('300 ms');
    await stopped.promise;
  });
});

describe.each(eras)('among a hundred tools of other servers, %s', (era) => {
  it('how to go on stands in the list and in the answer, in few words [C-114]', async () => {
    const gate = deferred();
    const plain = await plainServer(() => {
      const server = new McpServer({ name: 'many', version: '1' });
      for (let n = 1; n <= 100; n += 1) {
        server.registerTool(`tool_${n}`, { inputSchema: { n: z.number().optional() } }, async () => {
          await gate.promise;
          return { content: [] };
        });
      }
      return server;
    });
    const policy = { fallback: { detachAfterMs: 50 } };
    const { url } = await standing({ upstreams: [upstream(plain.target, { policy })] });
    const client = await guest(url, era);
    const { tools } = await client.listTools();
    const followUps = tools.filter(({ name }) => name.startsWith('task_'));
    expect(tools).toHaveLength(100 + followUps.length);
    expect(followUps.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['task_wait', 'task_status', 'task_result']),
    );
    const startable = tools.find(({ name }) => name === 'tool_42');
    expect(startable?.description).toContain('task_wait');
    for (const { description = '' } of followUps) expect(description.length).toBeLessThan(200);
    const note = words(await client.callTool({ name: 'tool_42', arguments: {} }));
    expect(note).toMatch(/^NOT finished: tool_42 is still running/);
    expect(note).toMatch(/call task_wait with \{/);
    expect(words(await client.callTool({ name: 'task_list', arguments: {} }))).toMatch(/ tool_42: working/);
    gate.resolve();
  });
});
