import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { openGateway } from '../../../src/gateway/gateway.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import type { Json } from '../../support/messages.ts';
import { gatewayOf, onPort, stateFolder, upstream } from './stage.ts';

/** A server with the tasks of 2025-11-25 that gives every task the id it is told to; its tool is over once `over` says so. */
async function fixedIds(name: string, id: string, over: { yet: boolean }) {
  const now = new Date().toISOString();
  const task = () => ({
    taskId: id,
    status: over.yet ? 'completed' : 'working',
    createdAt: now,
    lastUpdatedAt: now,
    ttl: 600_000,
    pollInterval: 20,
  });
  const results: Record<string, () => object> = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name, version: '1' },
    }),
    'tools/list': () => ({
      tools: [{ name: 'build', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }],
    }),
    'tools/call': () => ({ task: task() }),
    'tasks/get': task,
    'tasks/result': () => ({
      content: [{ type: 'text', text: `built by ${name}` }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: id } },
    }),
    'tasks/cancel': () => ({ ...task(), status: 'cancelled' }),
  };
  return onPort(async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id: requestId, method } = (await request.json()) as { id?: unknown; method: string };
    if (requestId === undefined) return new Response(null, { status: 202 });
    const result = results[method]?.();
    const answer = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
    return Response.json({ jsonrpc: '2.0', id: requestId, ...answer });
  });
}

it.each([
  ['t1', 't1'],
  ['with slashes', '../a/b?c#d%2F'],
  ['in Unicode', 'tâche-✓-𝒳'],
  ['of 4 kB', 'x'.repeat(4096)],
])(
  'keeps tasks of two upstreams apart that give the same id: %s [C-083] [GW-01] [GW-02] [GW-15]',
  async (_what, id) => {
    const over = { yet: false };
    const [one, two] = [await fixedIds('one', id, over), await fixedIds('two', id, over)];
    const upstreams = ['one', 'two'].map((name, index) => {
      return upstream((index === 0 ? one : two).target, { name, prefix: `${name}_` });
    });
    const folder = stateFolder();
    const [a, b] = [
      await gatewayOf({ upstreams }, { stateFolder: folder }),
      await gatewayOf({ upstreams }, { stateFolder: folder }),
    ];
    const tasks = await Promise.all([
      a.peer.start('one_build'),
      a.peer.start('two_build'),
      b.peer.start('one_build'),
      b.peer.start('two_build'),
    ]);
    const ids = tasks.map(({ taskId }) => taskId);
    expect(new Set(ids).size).toBe(4);
    for (const taskId of ids) {
      expect(taskId).toMatch(/^tsk_[\w-]{24,}$/); // At least 122 random bits, and nothing of the upstream's.
      expect((await b.peer.get(taskId)).result).toMatchObject({ taskId, status: 'working' });
    }
    await b.gateway.close();
    const again = await gatewayOf({ upstreams }, { stateFolder: folder });
    over.yet = true;
    for (const standing of [a, again]) {
      const session = await LegacyPeer.connect(standing);
      for (const [index, taskId] of ids.entries()) {
        const { result } = await session.send('tasks/result', { taskId });
        expect(result).toEqual({
          content: [{ type: 'text', text: `built by ${index % 2 === 0 ? 'one' : 'two'}` }],
          _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
        });
        const modern = (await standing.peer.get(taskId)).body;
        expect(modern).not.toContain('related-task');
        if (id.length > 2) expect(modern).not.toContain(JSON.stringify(id).slice(1, -1));
      }
    }
    for (const { of } of [one, two]) {
      expect(new Set(of('tasks/get').map(({ params }) => (params as Json)['taskId']))).toEqual(new Set([id]));
    }
  },
);

it('gives each of 10,000 interleaved calls its own answer, whatever its id is [C-085]', async () => {
  const fixture = new URL('../fixtures/upstream.mjs', import.meta.url).pathname;
  const target = { command: process.execPath, args: [fixture], env: { PATH: process.env['PATH'] ?? '' } };
  const upstreams = [
    upstream(target, { name: 'plain', prefix: 'plain_', policy: { mode: 'direct' } }),
    upstream(target, { name: 'tasks', prefix: 'tasks_', policy: { mode: 'task' } }),
  ];
  const gateway = await openGateway({
    stateFolder: stateFolder(),
    config: { upstreams, limits: { openTasksPerPrincipal: 10_000 } },
  });
  onTestFinished(() => gateway.close());
  const [input, output] = [new PassThrough(), new PassThrough()];
  gateway.serve({ input, output });
  const answers = new Map<unknown, Json[]>();
  const asked = new Set<unknown>();
  let wake = (): void => {};
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as Json;
      if ('method' in message) {
        if ('id' in message) expect(asked.has(message['id'])).toBe(false);
        asked.add(message['id']);
        continue;
      }
      answers.set(message['id'], [...(answers.get(message['id']) ?? []), message]);
    }
    wake();
  });
  const write = (message: Json): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const all = async (count: number): Promise<void> => {
    while (answers.size < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  const clientInfo = { name: 'odd', version: '1' };
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  write({ id: 'hello', method: 'initialize', params: hello });
  await all(1);
  write({ method: 'notifications/initialized' });

  /** Numbers from 0 on, and texts that look like them, and others that no number is. */
  const idOf = (index: number): unknown => [index, `${index}`, `id/${index} ✓`, `-${index}`][index % 4];
  const CALLS = 10_000;
  const isTask = (index: number): boolean => index % 10 === 9;
  for (let begun = 0; begun < CALLS; begun += 500) {
    for (let index = begun; index < begun + 500; index += 1) {
      const name = isTask(index) ? 'tasks_echo' : 'plain_echo';
      const params = { name, arguments: { message: `m${index}` }, ...(isTask(index) && { task: {} }) };
      write({ id: idOf(index), method: 'tools/call', params });
    }
    await all(1 + begun + 500);
  }
  const wrong: unknown[] = [];
  const ids: string[] = [];
  for (let index = 0; index < CALLS; index += 1) {
    const [answer, ...more] = answers.get(idOf(index)) ?? [];
    const result = (answer?.['result'] ?? {}) as { content?: { text: string }[]; task?: { taskId: string } };
    if (isTask(index)) ids.push(String(result.task?.taskId));
    else if (result.content?.[0]?.text !== `m${index}` || more.length > 0) wrong.push([index, answer, more]);
  }
  expect(wrong).toEqual([]);
  expect(new Set(ids).size).toBe(CALLS / 10);
  for (const [index, taskId] of ids.entries()) write({ id: `r${index}`, method: 'tasks/result', params: { taskId } });
  await all(1 + CALLS + ids.length);
  for (const [index] of ids.entries()) {
    const [{ result } = {}] = answers.get(`r${index}`) ?? [];
    expect(result).toMatchObject({ content: [{ text: `m${index * 10 + 9}` }] });
  }
}, 120_000);
