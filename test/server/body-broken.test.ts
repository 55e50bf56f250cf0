import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { serve } from './peer.ts';

describe('a request whose body breaks off', () => {
  it.each(['2026-07-28', '2025-11-25', 'none'])('is refused, and nothing comes of it: %s', async (version) => {
    const { server, peer, tasks, log } = serve((tasks) => void tasks.registerTool('quick', {}, () => text('done')));
    await peer.send('tools/list', {});
    const call = JSON.stringify(peer.request('tools/call', { name: 'quick', arguments: {} }));
    for (const announced of [true, false]) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(call));
        },
        pull(controller) {
          controller.error(new Error('aborted'));
        },
      });
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(version !== 'none' && { 'mcp-protocol-version': version }),
        ...(version === '2026-07-28' && { 'mcp-method': 'tools/call', 'mcp-name': 'quick' }),
        ...(announced && { 'content-length': String(call.length + 10) }),
      };
      const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, duplex: 'half' } as never);
      const response = await server.fetch(request);
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } });
    }
    expect((await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 5 })).tasks).toEqual([]);
    expect(log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });
});
