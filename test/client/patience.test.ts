import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectRemote } from '../../src/client/connect-remote.ts';
import { type Call, openTaskClient } from '../../src/client/index.ts';
import type { OnQuestion } from '../../src/client/remote.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { type Served, serve } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';
import { aTask, fake } from './fake-server.ts';
import { connected, startTask } from './remotes.ts';
import { never } from './scripted-remote.ts';
import { pass, stage } from './support.ts';

const SECOND = 1_000;

/** A client on a server of ours within this process. @param refuses requests that get no further */
async function host(
  served: Served,
  protocol: string,
  onQuestion?: OnQuestion,
  refuses?: (request: Request) => boolean,
) {
  const sent: string[] = [];
  const through = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    sent.push(String(init?.body ?? request.method));
    return refuses?.(request) === true ? new Response(null, { status: 405 }) : through(request);
  };
  const client = await openTaskClient({ journal: ':memory:', clock: served.clock });
  const target = { url: 'http://127.0.0.1/mcp', http: { fetch }, protocol, abilities: { form: true, sampling: true } };
  const server = await client.connect('ours', { ...target, ...(onQuestion && { onQuestion }) });
  return { client, server, sent, [Symbol.asyncDispose]: () => client.close() };
}

async function over(call: Call, clock: ManualClock): Promise<void> {
  for (let round = 0; round < 5_000 && (await call.refresh()).end === undefined; round += 1) await pass(clock, 100);
  expect(call.state.end).toBeDefined();
}

describe('a client before 2026-07-28', () => {
  const tools = (tasks: Tasks): void =>
    void tasks.registerTool('paint', {}, async (_args, task) => {
      const schema = z.object({ colour: z.string() });
      const wall = await task.ask('wall', { message: 'The wall?', schema });
      const door = await task.ask('door', { message: 'The door?', schema });
      const name = await task.sample('name', {
        messages: [{ role: 'user', content: { type: 'text', text: 'A name' } }],
        maxTokens: 10,
      } as never);
      return text([wall, door, name].map(({ action }) => action).join());
    });

  it.each([
    ['with a channel', false],
    ['without one', true],
  ])('comes for every question, %s, and goes back to polling [C-070]', async (_how, deaf) => {
    const served = serve(tools);
    const asked: string[] = [];
    const onQuestion: OnQuestion = async ({ question }) => {
      asked.push(question.kind === 'form' ? question.message : question.kind);
      const said = { role: 'assistant', content: { type: 'text', text: 'Ochre' }, model: 'm' };
      return { action: 'accept', content: question.kind === 'sampling' ? said : { colour: 'red' } };
    };
    await using ours = await host(served, '2025-11-25', onQuestion, ({ method }) => deaf && method === 'GET');
    const call = await ours.server.callTool({ name: 'paint' });
    await over(call, served.clock);
    expect(await call.result()).toMatchObject({ content: [{ text: 'accept,accept,accept' }] });
    expect(asked).toEqual(['The wall?', 'The door?', 'sampling']);
  });

  it('begins one session anew for a hundred tasks, when the server has forgotten it [C-088]', async () => {
    let session = 1;
    const hello = { protocolVersion: '2025-11-25', serverInfo: { name: 'fake', version: '1' } };
    const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
    const { remote, count } = await fake({
      version: '2025-11-25',
      methods: {
        initialize: () =>
          Response.json(
            { jsonrpc: '2.0', id: 0, result: { ...hello, capabilities } },
            { headers: { 'mcp-session-id': `s-${session}` } },
          ),
        'tasks/get': ({ taskId }, request) =>
          request.headers.get('mcp-session-id') === `s-${session}`
            ? { result: aTask({ taskId }) }
            : Response.json({ error: { code: -32001, message: 'Session not found' } }, { status: 404 }),
      },
    });
    session = 2;
    const ids = Array.from({ length: 100 }, (_, n) => `t-${n}`);
    const tasks = await Promise.all(ids.map((taskId) => remote.get(taskId)));
    expect(tasks.map(({ taskId }) => taskId)).toEqual(ids);
    expect(count('initialize')).toBe(2);
  });
});

describe('an answer that takes long', () => {
  it('has no deadline, and always a token for progress, whether anybody listens [C-089] [C-075]', async () => {
    const served = serve((tasks) => {
      tasks.registerTool('grind', { task: { support: 'forbidden' } }, async (_args, task) => {
        for (let n = 1; n <= 30; n += 1) {
          await new Promise<void>((resolve) => served.clock.setTimer(10 * SECOND, resolve));
          task.progress(n, 30);
        }
        return text('ground');
      });
    });
    for (const protocol of ['2025-11-25', '2026-07-28']) {
      await using ours = await host(served, protocol);
      const call = await ours.server.callTool({ name: 'grind' });
      for (let passed = 0; passed < 320; passed += 1) await pass(served.clock, SECOND, SECOND);
      expect(await call.result()).toMatchObject({ content: [{ text: 'ground' }] });
      const params = ours.sent.map((body) => body.startsWith('{') && (JSON.parse(body) as Json)).find(isCall);
      expect(params).toMatchObject({ params: { _meta: { progressToken: expect.any(String) } } });
    }
  });

  it.each([
    ['a task that never ends', undefined],
    ['a poll that is never answered', never],
  ])('is waited for as long as timeoutMs says, and goes on: %s [C-093]', async (_what, onGet) => {
    const { server, remote, clock } = await stage();
    if (onGet !== undefined) remote.onGet = (_taskId, signal) => onGet(signal);
    const call = await server.callTool({ name: 'x' }, { timeoutMs: SECOND });
    const error = call.result().catch((thrown: unknown) => thrown);
    await pass(clock, 900);
    expect(call.state.end).toBeUndefined();
    await pass(clock, 200);
    expect(await error).toMatchObject({
      code: 'CALL_DETACHED',
      callId: call.id,
      message: expect.stringMatching(/1000 ms .*goes on in the background/),
    });
    expect(remote.count('cancel')).toBe(0);
    remote.onGet = (taskId) => remote.task(taskId);
    remote.finish('task-1', 'in the end');
    await pass(clock, 120 * SECOND, 500);
    expect((await call.refresh()).end).toEqual({
      kind: 'completed',
      result: { content: [{ type: 'text', text: 'in the end' }] },
    });
  });

  it('is told of by every changed status, once [C-077]', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    const told: (string | undefined)[] = [];
    const reading = (async () => {
      for await (const { statusMessage } of call.updates()) told.push(statusMessage);
    })();
    await pass(clock, SECOND);
    for (const statusMessage of ['one', 'two', 'three']) {
      remote.change('task-1', { statusMessage });
      await pass(clock, 3 * SECOND);
    }
    remote.finish('task-1');
    await pass(clock, 3 * SECOND);
    await reading;
    expect(told.filter((message) => message !== undefined)).toEqual(['one', 'two', 'three']);
  });
});

describe('a stream that can be resumed', () => {
  const headers = { 'content-type': 'text/event-stream' };
  const primed = (): Response => new Response('id: e1\ndata:\n\n', { headers });

  it.each([
    ['and breaks off again before any event', (): Response => new Response('', { headers })],
    ['and cannot be after all', (): Response => new Response(null, { status: 405 })],
  ])('%s, ends without an answer: nobody waits for ever [C-087] [C-092]', async (_what, resumed) => {
    let starts = 0;
    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const request = new Request(url, init);
      if (request.method === 'GET')
        return request.headers.has('last-event-id') ? resumed() : new Response(null, { status: 405 });
      const { id, method } = (await request.json()) as { id?: number; method: string };
      if (id === undefined) return new Response(null, { status: 202 });
      const answer = (result: object): Response => Response.json({ jsonrpc: '2.0', id, result });
      if (method === 'initialize') {
        const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
        return answer({ protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'f', version: '1' } });
      }
      if (method === 'tools/list') {
        return answer({
          tools: [{ name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }],
        });
      }
      starts += 1;
      return starts === 1 ? primed() : answer({ task: { ...aTask(), ttl: null } });
    };
    const reconnectionOptions = {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 2,
    };
    const remote = await connected({
      url: 'http://127.0.0.1/mcp',
      http: { fetch, reconnectionOptions },
      protocol: '2025-11-25',
    });
    await expect(startTask(remote, 'slow')).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: true });
    expect(await startTask(remote, 'slow')).toMatchObject({ taskId: 't-1' });
  });
});

it('a connection that is taken and never answered is given up in time', async () => {
  const clock = new ManualClock();
  let tried = (): void => {};
  const trying = new Promise<void>((resolve) => {
    tried = resolve;
  });
  const fetch = (): Promise<Response> => {
    tried();
    return new Promise(() => {});
  };
  const connecting = connectRemote({
    url: 'http://127.0.0.1/mcp',
    http: { fetch },
    clock,
    requestTimeoutMs: 5 * SECOND,
  });
  const error = connecting.catch((thrown: unknown) => thrown);
  await trying;
  clock.advance(5 * SECOND);
  expect(await error).toMatchObject({
    code: 'REMOTE_UNREACHABLE',
    mayHaveRun: false,
    message: expect.stringContaining('5000 ms'),
  });
});

function isCall(message: Json | false): message is Json {
  return message !== false && message['method'] === 'tools/call';
}
