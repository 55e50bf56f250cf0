import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SetLevelRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import type { UpstreamTarget } from '../../src/gateway/config/types.ts';
import { type Era, guest, modernServer, plainServer, standing, upstream } from './support.ts';

const done = { content: [{ type: 'text' as const, text: 'done' }] };

/** Logs at two levels in each call. */
const chatty: Record<'2025-11-25' | '2026-07-28', () => Promise<{ target: UpstreamTarget }>> = {
  '2025-11-25': () =>
    plainServer(() => {
      const server = new McpServerV1({ name: 'chatty', version: '1' }, { capabilities: { logging: {} } });
      let wanted = 'none';
      server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
        wanted = params.level;
        return {};
      });
      server.registerTool('talk', {}, async ({ sendNotification }) => {
        const log = (level: 'info' | 'error', data: string) =>
          sendNotification({ method: 'notifications/message', params: { level, data } });
        if (wanted === 'debug') await log('info', 'in the cellar');
        if (wanted !== 'none') await log('error', 'on fire');
        return done;
      });
      return server;
    }),
  '2026-07-28': () =>
    modernServer(() => {
      const server = new McpServer({ name: 'chatty', version: '1' }, { capabilities: { logging: {} } });
      server.registerTool('talk', {}, async (ctx: ServerContext) => {
        await ctx.mcpReq.log('info', 'in the cellar');
        await ctx.mcpReq.log('error', 'on fire');
        return done;
      });
      return server;
    }),
};

const eras: Era[] = ['legacy', 'auto'];

describe.each(Object.entries(chatty))('what an upstream of %s logs while it works', (_, make) => {
  it.each(eras)('reaches a client of %s who wants to hear it, and no more of it than that', async (era) => {
    const { url } = await standing({ upstreams: [upstream((await make()).target, { policy: { mode: 'direct' } })] });
    const heard: unknown[] = [];
    const client = await guest(url, era, {
      prepare: (one) =>
        one.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data)),
    });
    const talk = async (level: 'error' | 'debug'): Promise<unknown[]> => {
      heard.length = 0;
      if (era === 'legacy') await client.setLoggingLevel(level);
      const _meta = era === 'legacy' ? {} : { 'io.modelcontextprotocol/logLevel': level };
      await client.callTool({ name: 'talk', _meta });
      return [...heard];
    };
    expect(await talk('error')).toEqual(['on fire']);
    expect(await talk('debug')).toEqual(['in the cellar', 'on fire']);
  });
});

it('a level that there is not is refused, whatever the upstream speaks', async () => {
  for (const make of Object.values(chatty)) {
    const { url } = await standing({ upstreams: [upstream((await make()).target)] });
    const client = await guest(url, 'legacy');
    await expect(client.setLoggingLevel('loud' as never)).rejects.toMatchObject({ code: -32602 });
  }
});
