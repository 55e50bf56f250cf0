import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Tasks } from '../../src/engine/index.ts';
import { answered } from '../hosts/waiting.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

interface Listed {
  name: string;
  description?: string;
  outputSchema?: Json;
}

const point = z.object({ x: z.number(), y: z.number() }).meta({ id: 'Point' });
const tree = z.object({
  value: z.number(),
  get children() {
    return z.array(tree);
  },
});

/** What each tool promises, and what it keeps its promise with. */
const promised = {
  flat: [z.object({ n: z.number() }), { n: 1 }],
  shared: [z.object({ from: point, to: point }), { from: { x: 0, y: 0 }, to: { x: 1, y: 1 } }],
  recursive: [tree, { value: 1, children: [{ value: 2, children: [] }] }],
  list: [z.array(z.number()), [1, 2]],
  either: [z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]), { b: 1 }],
} as const;
const names = Object.keys(promised) as (keyof typeof promised)[];

function register(tasks: Tasks): void {
  const inputSchema = z.object({ seconds: z.number() });
  for (const name of names) {
    const [outputSchema, structuredContent] = promised[name];
    tasks.registerTool(
      name,
      { description: `Gives ${name}.`, inputSchema, outputSchema },
      async ({ seconds }, task) => {
        if (seconds > 0) await task.sleep(seconds * 1_000);
        return { structuredContent };
      },
    );
  }
  const never = { support: 'forbidden' } as const;
  tasks.registerTool('never', { description: 'Never.', outputSchema: promised.flat[0], task: never }, () => ({
    structuredContent: { n: 1 },
  }));
}

/** The clients that hold structured content against the schema they were shown. */
const clients: Record<
  string,
  (served: Served) => Promise<{
    listTools(): Promise<{ tools: unknown[] }>;
    callTool(params: { name: string; arguments: Json }): Promise<unknown>;
    close(): Promise<void>;
  }>
> = {
  'SDK v1': async ({ peer }) => {
    const client = new ClientV1({ name: 'v1', version: '1.0.0' });
    const fetch = (url: string | URL, init?: RequestInit) => peer.fetch(new Request(url, init));
    await client.connect(new TransportV1(new URL('http://127.0.0.1/mcp'), { fetch }) as never);
    return client;
  },
  'SDK v2 on 2025-11-25': ({ peer }) => connect(peer, {}),
  'SDK v2 on 2026-07-28': ({ peer }) => connect(peer, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
};

async function connect(peer: Served['peer'], options: object): Promise<Client> {
  const client = new Client({ name: 'v2', version: '1.0.0' }, options);
  const fetch = (url: string | URL, init?: RequestInit) => peer.fetch(new Request(url, init));
  await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch }) as Transport);
  return client;
}

describe.each(Object.entries(clients))('%s, which checks what tools promised', (_, open) => {
  it.each(names)('takes result and note of a tool with the schema %s', async (name) => {
    const served = serve(register);
    const client = await open(served);
    onTestFinished(() => client.close());
    const { tools } = (await client.listTools()) as { tools: Listed[] };
    const { outputSchema, description } = tools.find((tool) => tool.name === name)!;
    expect(description).toBe(
      `Gives ${name}.\nIf this takes long, it answers with a taskId instead of its result: then call task_wait with it.`,
    );
    // What refers to its own root cannot be moved.
    expect(outputSchema === undefined).toBe(name === 'recursive');
    const quick = (await client.callTool({ name, arguments: { seconds: 0 } })) as Json;
    const slow = (await answered(served.clock, client.callTool({ name, arguments: { seconds: 60 } }))).answer as Json;
    expect(slow).toMatchObject({ structuredContent: { taskId: expect.any(String), status: 'working' } });
    const valid = new Ajv2020({ strict: false }).compile(outputSchema ?? {});
    for (const { structuredContent } of [quick, slow])
      expect({ structuredContent, valid: valid(structuredContent) }).toMatchObject({ valid: true });
    if (outputSchema === undefined) return;
    for (const wrong of [{}, { n: 'x' }, { taskId: 1, status: 'working' }, 5]) expect(valid(wrong)).toBe(false);
  });

  it('sees a tool that never runs as a task as it is', async () => {
    const client = await open(serve(register));
    onTestFinished(() => client.close());
    const { tools } = (await client.listTools()) as { tools: Listed[] };
    const { description, outputSchema } = tools.find((tool) => tool.name === 'never')!;
    expect(description).toBe('Never.');
    expect(outputSchema).not.toHaveProperty('anyOf');
  });
});

describe('what tools/list shows', () => {
  const bare = (tools: Listed[]) =>
    tools.map(({ name, description, outputSchema }) => ({ name, description, outputSchema }));

  it('to a client that knows tasks is what the author wrote, and no more', async () => {
    const { peer } = serve(register);
    const legacy = await LegacyPeer.connect({ peer }, { capabilities: { tasks: {} } });
    for (const { result } of [await peer.send('tools/list', {}), await legacy.send('tools/list')]) {
      const tools = result['tools'] as Listed[];
      expect(tools.map(({ name }) => name)).toEqual([...names, 'never']);
      for (const { name, description, outputSchema } of tools) {
        expect(description).toBe(name === 'never' ? 'Never.' : `Gives ${name}.`);
        expect(JSON.stringify(outputSchema)).not.toContain('taskId');
      }
    }
  });

  it('is for nobody else, whatever a cache may think [C-114]', async () => {
    const { peer } = serve(register);
    const knows = await peer.send('tools/list', {});
    const other = await peer.send('tools/list', {}, { capabilities: {} });
    const again = await peer.send('tools/list', {});
    for (const { result } of [knows, other]) expect(result).toMatchObject({ cacheScope: 'private' });
    expect(bare(again.result['tools'] as Listed[])).toEqual(bare(knows.result['tools'] as Listed[]));
    expect(bare(other.result['tools'] as Listed[])).not.toEqual(bare(knows.result['tools'] as Listed[]));
  });

  it('a client that declares tasks where there are none is one without', async () => {
    const { peer } = serve(register);
    const legacy = await LegacyPeer.connect({ peer }, { version: '2025-06-18', capabilities: { tasks: {} } });
    const { result } = await legacy.send('tools/list');
    expect((result['tools'] as Listed[]).map(({ name }) => name)).toContain('task_wait');
  });

  it('of a tool that this client cannot have is as it is', async () => {
    const { peer } = serve((tasks) => {
      const config = {
        description: 'Task only.',
        outputSchema: promised.flat[0],
        task: { support: 'required' as const },
      };
      tasks.registerTool('tool', config, () => ({ structuredContent: { n: 1 } }));
      const refused = { ...config, task: { fallback: { mode: 'refuse' as const } } };
      tasks.registerTool('refused', refused, () => ({ structuredContent: { n: 1 } }));
    });
    const { result } = await peer.send('tools/list', {}, { capabilities: {} });
    for (const { description, outputSchema } of (result['tools'] as Listed[]).slice(0, 2)) {
      expect(description).toBe('Task only.');
      expect(outputSchema).not.toHaveProperty('anyOf');
    }
    const older = await LegacyPeer.connect({ peer }, { version: '2025-06-18' });
    const [tool] = (await older.send('tools/list')).result['tools'] as Listed[];
    expect(tool?.outputSchema).toHaveProperty('anyOf');
  });
});
