import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/task-server.ts';
import { serve } from '../server/peer.ts';

function register(tasks: Tasks): void {
  const task = { pollIntervalMs: 5 }; // This client sleeps by a clock of its own.
  tasks.registerTool('optional', { task }, () => text('done'));
  tasks.registerTool('required', { task: { ...task, support: 'required' } }, () => ({
    ...text('2 failed'),
    isError: true,
  }));
  tasks.registerTool('object', { task, outputSchema: z.object({ n: z.number() }) }, () => ({
    structuredContent: { n: 1 },
  }));
  tasks.registerTool('list', { task, outputSchema: z.array(z.number()) }, () => ({ structuredContent: [1, 2] }));
  const either = z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]);
  tasks.registerTool('either', { task, outputSchema: either }, () => ({ structuredContent: { b: 1 } }));
  const mixed = z.union([z.object({ a: z.string() }), z.array(z.number())]);
  tasks.registerTool('mixed', { task, outputSchema: mixed }, () => ({ structuredContent: { a: 'b' } }));
  tasks.registerTool('asks', { task }, async (_args, context) => {
    const { action } = await context.ask('go', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
    return text(action);
  });
}

async function connected(capabilities: object, options: TaskServerOptions = {}) {
  const { peer } = serve(register, { server: options });
  const client = new Client({ name: 'v1', version: '1.0.0' }, { capabilities });
  const fetch = (url: string | URL, init?: RequestInit) => peer.fetch(new Request(url, init));
  await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch }) as never);
  onTestFinished(() => client.close());
  await client.listTools();
  const stream = async (name: string) => {
    const seen = [];
    const calls = client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    for await (const message of calls) seen.push(message);
    return { types: seen.map(({ type }) => type), last: seen.at(-1) };
  };
  return { client, stream };
}

describe('callToolStream of the SDK v1', () => {
  it.each(['optional', 'object', 'list', 'either', 'mixed'])(
    'has a task and its result, which fits what was listed: %s',
    async (name) => {
      const { stream } = await connected({});
      const { types, last } = await stream(name);
      expect(types[0]).toBe('taskCreated');
      expect(last).toMatchObject({ type: 'result', result: { content: [{ type: 'text' }] } });
    },
  );

  it('throws the payload of a failure away, unless the server calls the task completed', async () => {
    const failed = await (await connected({})).stream('required');
    expect(failed.last).toMatchObject({ type: 'error', error: { message: expect.stringContaining('failed') } });
    const completed = await (await connected({}, { isErrorStatus: 'completed' })).stream('required');
    expect(completed.last).toMatchObject({
      type: 'result',
      result: { isError: true, content: [{ text: '2 failed' }] },
    });
  });

  it('is asked while it waits', async () => {
    const { client, stream } = await connected({ elicitation: { form: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
    expect((await stream('asks')).last).toMatchObject({ type: 'result', result: { content: [{ text: 'decline' }] } });
  });
});
