import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { type Json, response } from '../messages.ts';
import { createWireValidator } from '../wire-validator.ts';

describe('over a client transport', () => {
  it("lets good messages by and makes the SDK client's request fail at a bad one", async () => {
    const validator = createWireValidator();
    const [near, far] = InMemoryTransport.createLinkedPair();
    far.onmessage = (message) => {
      const { id, method } = message as { id: number; method: string };
      if (method === 'server/discover') {
        const shape = {
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          ttlMs: 0,
          cacheScope: 'private',
        };
        void far.send(response(id, { resultType: 'complete', ...shape }) as never);
      }
      if (method === 'tools/call') void far.send(response(id, complete()) as never);
      if (method === 'tools/list') void far.send(response(id, { resultType: 'complete', tools: [] }) as never);
    };
    await far.start();
    const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const tapped = validator.tapTransport(near);
    expect(tapped).toBeInstanceOf(InMemoryTransport);
    await client.connect(tapped);
    await client.callTool({ name: 't', arguments: {} });
    validator.assertClean();
    expect(validator.checked).toBe(2);
    await expect(client.listTools()).rejects.toThrow("must have required property 'cacheScope'");
    expect(() => validator.assertClean()).toThrow('tools/list /result');
    await client.close();
  });

  it('tells onerror about a bad notification', async () => {
    const validator = createWireValidator();
    const [near, far] = InMemoryTransport.createLinkedPair();
    const errors: Error[] = [];
    const received: unknown[] = [];
    near.onerror = (error) => errors.push(error);
    validator.tapTransport(near).onmessage = (message) => received.push(message);
    await near.start();
    await far.send({ jsonrpc: '2.0', method: 'notifications/tasks/status' });
    expect(errors).toHaveLength(1);
    expect(received).toHaveLength(1);
    expect(() => validator.assertClean()).toThrow('must be a notification of 2026-07-28');
  });

  function complete(): Json {
    return { resultType: 'complete', content: [] };
  }
});
