import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type ConnectedServer, openTaskClient } from '../../src/client/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { createTasks, text } from '../../src/engine/index.ts';
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts';
import { Lanes } from '../../src/gateway/lanes/lanes.ts';
import { createTaskServer } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { encodeIdempotencyKey } from '../../src/wire/idempotency.ts';
import { deferred } from '../support/engine.ts';
import { type Json, request, withTasks } from '../support/messages.ts';
import { silent } from '../support/stores.ts';
import { guest, plainServer, standing, stateFolder, upstream, words } from './support.ts';

/** A client of ours, which follows tasks of every generation. */
async function host(url: string, protocol: string): Promise<ConnectedServer> {
  const client = await openTaskClient({ journal: ':memory:', minPollMs: 10 });
  onTestFinished(() => client.close());
  return client.connect('gateway', { url, protocol });
}

function works(gate: Promise<void>, seen: { calls: number; aborted: () => void }): McpServer {
  const server = new McpServer({ name: 'works', version: '1' });
  const tool = async (_args: unknown, { signal }: { signal: AbortSignal }) => {
    seen.calls += 1;
    signal.addEventListener('abort', seen.aborted);
    await gate;
    return { content: [{ type: 'text' as const, text: `done, call ${seen.calls}` }] };
  };
  server.registerTool('build', { inputSchema: { target: z.string() } }, tool);
  server.registerTool('look', { inputSchema: {}, annotations: { readOnlyHint: true, idempotentHint: true } }, tool);
  return server;
}

function scene() {
  const gate = deferred();
  const aborted = deferred();
  const seen = { calls: 0, aborted: () => aborted.resolve() };
  return { gate, aborted, seen, make: () => works(gate.promise, seen) };
}

const protocols = ['2026-07-28', '2025-11-25'];

describe.each(protocols)('a tool of a server without tasks, to a client of %s', (protocol) => {
  it('is a task: called now, fetched later', async () => {
    const { gate, seen, make } = scene();
    const { url } = await standing({ upstreams: [upstream((await plainServer(make)).target)] });
    const server = await host(url, protocol);
    expect(server.revision).toBe(protocol);
    const call = await server.callTool({ name: 'build', arguments: { target: 'all' } });
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    gate.resolve();
    expect(words(await call.result())).toBe('done, call 1');
    expect(seen.calls).toBe(1);
  });

  it('is cancelled where it runs [P7]', async () => {
    const { aborted, make } = scene();
    const { url } = await standing({ upstreams: [upstream((await plainServer(make)).target)] });
    const call = await (await host(url, protocol)).callTool({ name: 'build', arguments: { target: 'all' } });
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    await call.cancel();
    await aborted.promise;
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  });
});

describe('a gateway that is started again', () => {
  it('says that a call was lost with its connection, and whether it may have run is not known [P16]', async () => {
    const { gate, seen, make } = scene();
    const folder = stateFolder();
    const plain = await plainServer(make);
    const config = { upstreams: [upstream(plain.target)] };
    const first = await openGateway({ stateFolder: folder, config });
    const { url } = await first.listen({ port: 0 });
    await (await host(url, '2026-07-28')).callTool({ name: 'build', arguments: { target: 'all' } });
    await until(() => seen.calls === 1);
    const taskId = await theOpenTask(first);
    await plain.crash(); // As it is when the upstream is a process of the gateway's.
    await first.close();
    gate.resolve();

    const { gateway } = await standing(config, { stateFolder: folder });
    await until(async () => (await gateway.tasks.inspect.get(taskId)).status === 'failed');
    const { error } = await gateway.tasks.inspect.payloads(taskId);
    expect(JSON.stringify(error)).toContain('It may or may not have taken effect');
    expect(seen.calls).toBe(1);
  });

  it('has a call made again that was lost, where that is safe', async () => {
    const { gate, seen, make } = scene();
    const plain = await plainServer(make);
    const { url } = await standing({ upstreams: [upstream(plain.target)] });
    const call = await (await host(url, '2026-07-28')).callTool({ name: 'look', arguments: {} });
    await until(() => seen.calls === 1);
    await plain.crash();
    gate.resolve();
    expect(words(await call.result())).toBe('done, call 2');
  });

  it('goes on with tasks of an upstream that has tasks of its own', async () => {
    const gate = deferred();
    let runs = 0;
    const tasks = createTasks({ store: sqliteStore(':memory:') });
    tasks.registerTool('migrate', {}, async () => {
      runs += 1;
      await gate.promise;
      return text('migrated');
    });
    const server = createTaskServer(tasks, { name: 'durable', version: '1' }, { signals: false });
    onTestFinished(() => server.close());
    const { url: up } = await server.listen({ port: 0 });
    const folder = stateFolder();
    const config = { upstreams: [upstream({ url: up, headers: {}, forwardAuthorization: false })] };
    const first = await openGateway({ stateFolder: folder, config });
    const { url } = await first.listen({ port: 0 });
    const call = await (await host(url, '2026-07-28')).callTool({ name: 'migrate' });
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    await until(() => runs === 1);
    const taskId = await theOpenTask(first);
    await first.close();

    const { gateway } = await standing(config, { stateFolder: folder });
    gate.resolve();
    await until(async () => (await gateway.tasks.inspect.get(taskId)).status === 'completed');
    expect(runs).toBe(1);
  });
});

it('answers a quick tool with its result, also where the client knows tasks', async () => {
  const { gate, make } = scene();
  gate.resolve();
  const { target } = await plainServer(make);
  const { url } = await standing({ upstreams: [upstream(target)], inlineWithinMs: 10_000 });
  const call = await (await host(url, '2026-07-28')).callTool({ name: 'look' });
  const phases: string[] = [];
  for await (const { phase } of call.updates()) phases.push(phase);
  expect(phases).not.toContain('following');
  expect(words(await call.result())).toBe('done, call 1');
});

it('makes room for one caller more by leaving who was not here for longest, and never who is', async () => {
  const { gate, make } = scene();
  const plain = await plainServer(make);
  const secret = new Uint8Array(32);
  const client = await openTaskClient({ journal: ':memory:' });
  onTestFinished(() => client.close());
  const parts = {
    client,
    clock: systemClock,
    logger: silent,
    secret,
    changed: () => {},
    opened: () => {},
    ended: () => {},
  };
  const lanes = new Lanes(upstream(plain.target), { ...parts, reach: () => ({ target: plain.target as never }) });
  const user = (n: number) => ({ principal: { subject: `user ${n}` }, abilities: { form: false } });
  const [first] = await Promise.all(Array.from({ length: 64 }, (_, n) => lanes.get(user(n))));
  const working = first?.during(undefined as never, () => gate.promise);
  const second = await lanes.get(user(1));
  await lanes.get(user(64));
  expect(lanes.open).toHaveLength(64);
  expect(lanes.open).toEqual(expect.arrayContaining([first, second]));
  gate.resolve();
  await working;
  await lanes.close();
});

describe('a call that comes again, since its answer was lost', () => {
  const again = async (url: string, name: string): Promise<Json> => {
    const message = request(1, 'tools/call', { name, arguments: {} }, withTasks, encodeIdempotencyKey('k', 1_000));
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
    };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
    const text = await response.text();
    return JSON.parse(text.slice(text.indexOf('{'))) as Json;
  };

  it('is found by its key, or made, also when nobody has asked a gateway for its tools since it was started', async () => {
    const { gate, seen, make } = scene();
    const plain = await plainServer(make);
    const { url } = await standing({ upstreams: [upstream(plain.target)] });
    const { result } = (await again(url, 'look')) as { result: Json };
    expect(result).toMatchObject({ resultType: 'task' });
    expect((await again(url, 'look'))['result']).toMatchObject({ taskId: result['taskId'] });
    gate.resolve();
    await until(() => seen.calls === 1);
  });

  it('is not made a task of where it may have been passed through: it would run twice', async () => {
    const { gate, seen, make } = scene();
    gate.resolve();
    const plain = await plainServer(make);
    const { url } = await standing({
      upstreams: [upstream(plain.target, { policy: { mode: 'auto', slowAfterMs: 1 } })],
    });
    await (await guest(url, 'auto')).callTool({ name: 'look', arguments: {} });
    expect(await again(url, 'look')).toMatchObject({ error: { message: expect.stringContaining('not run again') } });
    expect(seen.calls).toBe(1);
  });
});

describe('what one caller has of an upstream', () => {
  it('is nobody else’s: another connection, and no credentials but the configured ones [C-083]', async () => {
    const { make } = scene();
    const plain = await plainServer(make);
    const target = { ...plain.target, headers: { 'x-key': 'configured' } };
    const { url } = await standing({ upstreams: [upstream(target as never, { policy: { mode: 'direct' } })] });
    const one = await guest(url, 'legacy', { headers: { authorization: 'Bearer mine' } });
    const other = await guest(url, 'legacy', { capabilities: { roots: {} } });
    await Promise.all([one.listTools(), other.listTools()]);
    expect(plain.servers).toHaveLength(2); // For clients that can be asked different things.
    expect(plain.headers.every((headers) => headers['x-key'] === 'configured')).toBe(true);
    expect(plain.headers.some(({ authorization }) => authorization !== undefined)).toBe(false);
  });

  it('is forwarded with his own credentials where that is configured', async () => {
    const { make } = scene();
    const plain = await plainServer(make);
    const target = { ...plain.target, forwardAuthorization: true };
    const { url } = await standing({ upstreams: [upstream(target as never, { policy: { mode: 'direct' } })] });
    await (await guest(url, 'auto', { headers: { authorization: 'Bearer mine' } })).listTools();
    expect(plain.headers.map(({ authorization }) => authorization)).toContain('Bearer mine');
    expect(plain.headers.every(({ authorization }) => authorization === 'Bearer mine')).toBe(true);
  });
});

describe('rules', () => {
  it('hide what is denied, put prefixes before names, and leave out an upstream that is not there', async () => {
    const { make } = scene();
    const plain = await plainServer(make);
    const dead = { url: 'http://127.0.0.1:1/mcp', headers: {}, forwardAuthorization: false };
    const { url } = await standing({
      upstreams: [
        upstream(plain.target, { name: 'a', prefix: 'a_', deny: ['bu*'], policy: { mode: 'direct' } }),
        upstream(plain.target, { name: 'b', prefix: 'b_', policy: { mode: 'direct' } }),
        upstream(dead, { name: 'c', prefix: 'c_' }),
      ],
    });
    const client = await guest(url, 'auto');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['a_look', 'b_build', 'b_look']);
    await expect(client.callTool({ name: 'a_build', arguments: { target: 'x' } })).rejects.toMatchObject({
      code: -32602,
    });
  });

  it('make a task of a tool that was seen to be slow, from then on and after a restart', async () => {
    const { gate, make } = scene();
    gate.resolve();
    const folder = stateFolder();
    const plain = await plainServer(make);
    const config = { upstreams: [upstream(plain.target, { policy: { mode: 'auto', slowAfterMs: 1 } })] };
    const first = await openGateway({ stateFolder: folder, config });
    const { url } = await first.listen({ port: 0 });
    const client = await guest(url, 'legacy');
    const supportOf = async (of: typeof client): Promise<unknown> =>
      (await of.listTools()).tools.find(({ name }) => name === 'look')?.execution?.taskSupport;
    expect(await supportOf(client)).toBeUndefined();
    await client.callTool({ name: 'look', arguments: {} });
    expect(await supportOf(client)).toBe('optional');
    await first.close();
    const { url: again } = await standing(config, { stateFolder: folder });
    expect(await supportOf(await guest(again, 'legacy'))).toBe('optional');
  });

  it('change while tasks go on', async () => {
    const { gate, seen, make } = scene();
    const plain = await plainServer(make);
    const { url, gateway } = await standing({ upstreams: [upstream(plain.target)] });
    const server = await host(url, '2026-07-28');
    const call = await server.callTool({ name: 'build', arguments: { target: 'all' } });
    await until(() => seen.calls === 1);
    const done = await gateway.reload({
      upstreams: [upstream(plain.target, { name: 'other', policy: { mode: 'direct' } })],
    });
    expect(done).toMatchObject({ added: ['other'], removed: ['up'], changed: [], kept: [] });
    expect(done.tools).toEqual({ added: [], removed: [], changed: [], kept: [] });
    gate.resolve();
    expect(words(await call.result())).toBe('done, call 1');
  });
});

async function theOpenTask({ tasks }: Gateway): Promise<string> {
  const { tasks: open } = await tasks.inspect.list({ status: ['working'] });
  expect(open).toHaveLength(1);
  return open[0]?.taskId ?? '';
}

/** Looks again whenever something has happened here: nothing tells when an upstream has seen something. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
