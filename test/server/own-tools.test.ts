import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createTaskHandler } from '../../src/server/index.ts';
import { settle, someTasks } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { closing, Peer, validated } from './peer.ts';

/** A server with a tool of its own, which knows nothing of tasks and asks as the SDK has it. */
function ownServer() {
  const { tasks, clock } = someTasks();
  const handler = createTaskHandler(tasks, () => {
    const mcp = new McpServer({ name: 'own', version: '1.0.0' }, { capabilities: { tools: {} } });
    mcp.registerTool('ask', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, ctx) => {
      const answer = await ctx.mcpReq.elicitInput({
        message: what,
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      });
      return { content: [{ type: 'text', text: JSON.stringify(answer.content ?? answer.action) }] };
    });
    return mcp;
  });
  const peer = new Peer((request) => handler.fetch(request), validated());
  onTestFinished(() => closing({ close: async () => Promise.all([handler.close(), tasks.close()]) as never }, clock));
  return { peer, tasks, handler };
}

describe("a tool of the server's own, in a session over HTTP", () => {
  it('can ask the client, though each request has a server instance of its own', async () => {
    const peer = await LegacyPeer.connect(ownServer(), { capabilities: { elicitation: {} } });
    peer.onQuestion = ({ params }) => ({ result: { action: 'accept', content: { name: `${params['message']}!` } } });
    const replies = await Promise.all(['a', 'b', 'c'].map((what) => peer.call('ask', { what })));
    const texts = replies.map(({ result }) => (result['content'] as { text: string }[])[0]?.text);
    expect(texts).toEqual(['{"name":"a!"}', '{"name":"b!"}', '{"name":"c!"}']);
  });

  it('is told when the client cannot be asked', async () => {
    const peer = await LegacyPeer.connect(ownServer());
    expect((await peer.call('ask', { what: 'a' })).result).toMatchObject({ isError: true });
  });

  it('takes no answer from another session', async () => {
    const served = ownServer();
    const peer = await LegacyPeer.connect(served, { capabilities: { elicitation: {} } });
    const other = await LegacyPeer.connect(served, { capabilities: { elicitation: {} } });
    let asked = '';
    peer.onQuestion = ({ id }) => {
      asked = id;
      return undefined;
    };
    const call = peer.call('ask', { what: 'a' });
    await settle();
    expect(asked).not.toBe('');
    expect(await other.answer(asked, { result: { action: 'accept', content: { name: 'forged' } } })).toBe(202);
    await settle();
    expect(await peer.answer(asked, { result: { action: 'decline' } })).toBe(202);
    expect((await call).result).toMatchObject({ content: [{ text: '"decline"' }] });
  });
});
