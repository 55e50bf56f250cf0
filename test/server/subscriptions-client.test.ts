import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { over, Peer, type Served, serve } from './peer.ts';

const anything = z.looseObject({});
const extensions = { 'io.modelcontextprotocol/tasks': {} };

function tools(tasks: Tasks): void {
  tasks.registerTool('ask', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const answer = await task.ask('sure', { message: 'Sure?', schema: z.object({ pin: z.string() }) });
    return text(answer.action === 'accept' ? answer.content.pin : answer.action);
  });
}

/** The official client, on a server that listens. */
async function connected(declared: Json = { elicitation: {}, extensions }) {
  const served = serve(tools);
  const { url } = await served.server.listen({ port: 0 });
  const client = new Client(
    { name: 'a test', version: '1.0.0' },
    { capabilities: declared, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: served.validator.wrapFetch(fetch) });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const seen: Json[] = [];
  let ring = (): void => {};
  client.setNotificationHandler('notifications/tasks', { params: anything }, (params) => {
    seen.push(params as Json);
    ring();
  });
  const until = async (status: string): Promise<Json> => {
    for (;;) {
      const task = seen.find((one) => one['status'] === status);
      if (task !== undefined) return task;
      await new Promise<void>((resolve) => {
        ring = resolve;
      });
    }
  };
  const listen = (taskIds: string[]) => client.listen({ taskIds } as Parameters<Client['listen']>[0]);
  return { ...served, client, seen, until, listen, over: new Peer(over(url), served.validator) };
}

const start = async ({ peer }: Pick<Served, 'peer'>): Promise<string> => (await peer.start('ask')).taskId;

describe('the official client, over HTTP', () => {
  it('listens to a task from question to result, without a single poll [G3-S-43] [G3-S-44] [G3-S-84] [G3-S-86]', async () => {
    const host = await connected();
    const taskId = await start(host);
    const subscription = await host.listen([taskId]);
    const asked = await host.until('input_required');
    expect(asked['inputRequests']).toMatchObject({ sure: { method: 'elicitation/create' } });
    await host.peer.update(taskId, { sure: { action: 'accept', content: { pin: '1234' } } });
    const done = await host.until('completed');
    expect(done).toMatchObject({ taskId, result: { content: [{ type: 'text', text: '1234' }] } });
    expect(await subscription.closed).toBe('graceful');
  });

  it('hangs up, and its server lets go', async () => {
    const host = await connected();
    const taskId = await start(host);
    const subscription = await host.listen([taskId]);
    await host.until('input_required');
    await subscription.close();
    expect(await subscription.closed).toBe('local');
    const before = host.seen.length;
    await host.peer.cancel(taskId);
    await host.client.ping().catch(() => {});
    await host.over.get(taskId);
    expect(host.seen).toHaveLength(before);
  });

  it('is told when the server closes [G3-S-86]', async () => {
    const host = await connected();
    const subscription = await host.listen([await start(host)]);
    await host.until('input_required');
    await host.server.close();
    expect(await subscription.closed).toBe('graceful');
  });

  it('is refused without the extension [G3-S-46]', async () => {
    const host = await connected({ elicitation: {} });
    await expect(host.listen(['nobody'])).rejects.toMatchObject({ code: -32021 });
  });
});
