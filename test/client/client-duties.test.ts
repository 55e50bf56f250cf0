import { describe, expect, it, onTestFinished } from 'vitest';
import { type Call, type ConnectedServer, openTaskClient } from '../../src/client/index.ts';
import { text } from '../../src/engine/index.ts';
import { decodeTask } from '../../src/wire/rev-sep-1686/client.ts';
import { LegacyPeer } from '../server/legacy-peer.ts';
import { type Served, serve } from '../server/peer.ts';
import { deferred, recordingLogger, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { fake } from './fake-server.ts';
import { remoteOf, start, startTask } from './remotes.ts';
import { ScriptedRemote } from './scripted-remote.ts';
import { pass, settled, stage } from './support.ts';

const RELATED = 'io.modelcontextprotocol/relatedTaskIds';

/** What went to the server, message by message. */
async function bodiesOf(sent: readonly Request[]): Promise<Json[]> {
  const posts = sent.filter(({ method }) => method === 'POST');
  return Promise.all(posts.map(async (request) => (await request.clone().json()) as Json));
}

const metaOf = (body: Json | undefined): Json => ((body?.['params'] as Json | undefined)?.['_meta'] ?? {}) as Json;

/** A message as an event of a stream. */
const event = (message: Json): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

function slow() {
  const gate = deferred();
  const served = serve(
    (tasks) => {
      tasks.registerTool('slow', { task: { onWorkerLost: 'rerun' } }, async () => {
        await gate.promise;
        return text('done at last');
      });
    },
    { server: { firstDraft: true } },
  );
  return { served, gate };
}

/** A client on a server that does as it is told, and tells tasks so. */
const speaking = (revision: ScriptedRemote['revision']) =>
  stage({
    prepare: (remote) => {
      remote.revision = revision;
    },
  });

/** A call that has become a task. */
async function followed(server: ConnectedServer, remote: ScriptedRemote): Promise<Call> {
  const before = remote.count('start');
  const call = await server.callTool({ name: 'x' });
  await remote.until('start', before + 1);
  await settled();
  return call;
}

describe('a client in 2025-11-25', () => {
  it('asks for the time a task is to be kept, in whole milliseconds [G2-C-07]', async () => {
    const { served } = slow();
    const sent: Request[] = [];
    const remote = await remoteOf(served, { protocol: '2025-11-25', sent });
    await remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k', ttlMs: 60_000 });
    const call = (await bodiesOf(sent)).find(({ method }) => method === 'tools/call');
    expect(call?.['params']).toMatchObject({ task: { ttl: 60_000 } });
  });

  it('names the task by nothing but its id when it asks about it [G2-C-20]', async () => {
    const { served, gate } = slow();
    const sent: Request[] = [];
    const remote = await remoteOf(served, { protocol: '2025-11-25', sent });
    const one = await startTask(remote, 'slow');
    await remote.get(one.taskId);
    await remote.cancel(one.taskId);
    const two = await startTask(remote, 'slow');
    gate.resolve();
    await remote.outcome(two.taskId);
    const about = (await bodiesOf(sent)).filter(({ method }) => String(method).startsWith('tasks/'));
    expect(about.map(({ method }) => method)).toEqual(['tasks/get', 'tasks/cancel', 'tasks/result']);
    for (const body of about) expect(body['params']).toEqual({ taskId: expect.any(String) });
  });

  it('leaves the stream on which it waits for a result, and the task goes on [G2-C-14]', async () => {
    const { served, gate } = slow();
    const remote = await remoteOf(served, { protocol: '2025-11-25' });
    const { taskId } = await startTask(remote, 'slow');
    const leave = new AbortController();
    const waiting = remote.outcome(taskId, { signal: leave.signal });
    await settle();
    leave.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(await remote.get(taskId)).toMatchObject({ status: 'working' });
    gate.resolve();
    expect(await remote.outcome(taskId)).toMatchObject({ result: { content: [{ text: 'done at last' }] } });
  });

  it('gives cursors back as they came [G2-C-17] [G1-C-12]', async () => {
    const cursor = '{"page":2} =%';
    const { remote, sent } = await fake({
      version: '2025-11-25',
      methods: {
        'tools/list': ({ cursor: given }) => ({
          result: { tools: [{ name: given === cursor ? 'b' : 'a' }], ...(given !== cursor && { nextCursor: cursor }) },
        }),
      },
    });
    expect((await remote.listTools()).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(sent.filter(({ method }) => method === 'tools/list').at(-1)?.params['cursor']).toBe(cursor);
  });

  it('does not ask for a task again that it cancelled [G2-C-19]', async () => {
    const { server, remote, clock } = await speaking('2025-11-25');
    const call = await followed(server, remote);
    await call.cancel();
    await remote.until('cancel', 1);
    remote.tasks.clear(); // Servers may forget it at once.
    const asked = remote.count('get');
    await pass(clock, 60_000, 1_000);
    expect((await call.refresh()).end).toMatchObject({ kind: 'cancelled' });
    expect(remote.count('get')).toBe(asked);
  });
});

describe('a client of the first draft', () => {
  it('asks for the time a task is kept after its end [G1-C-02]', async () => {
    const { served } = slow();
    const sent: Request[] = [];
    const remote = await remoteOf(served, { protocol: '2025-06-18', firstDraft: true, sent });
    await remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k', ttlMs: 60_000 });
    const calls = (await bodiesOf(sent)).filter(({ method }) => method === 'tools/call');
    expect(metaOf(calls[0])['modelcontextprotocol.io/task']).toEqual({ taskId: expect.any(String), keepAlive: 60_000 });
  });

  it('is told how often to ask by the name that the draft has for it [G1-C-07]', () => {
    const said = { taskId: 't', status: 'working', pollFrequency: 7_000, pollInterval: 1 };
    expect(decodeTask(said, 't')).toMatchObject({ ok: true, value: { pollIntervalMs: 7_000 } });
  });

  it('makes tasks of nothing but calls of tools [G1-C-03]', async () => {
    const { served } = slow();
    const sent: Request[] = [];
    const remote = await remoteOf(served, { protocol: '2025-06-18', firstDraft: true, sent });
    await startTask(remote, 'slow');
    await remote.listTools();
    const augmented = (await bodiesOf(sent)).filter((body) => 'modelcontextprotocol.io/task' in metaOf(body));
    expect(augmented.map(({ method }) => method)).toEqual(['tools/call']);
  });

  it('looks after a cancel until the task is cancelled, for a reasonable while [G1-C-11]', async () => {
    const { server, remote, clock } = await speaking('SEP-1686');
    const heeded = await followed(server, remote);
    await heeded.cancel();
    await remote.until('cancel', 1);
    await settled();
    expect((await heeded.refresh()).end).toBeUndefined();
    remote.change('task-1', { status: 'cancelled', outcome: { status: 'cancelled', reason: 'as asked' } });
    await pass(clock, 3_000);
    expect((await heeded.refresh()).end).toEqual({ kind: 'cancelled', reason: 'as asked' });

    const ignored = await followed(server, remote);
    await ignored.cancel();
    await pass(clock, 60_000, 1_000);
    expect((await ignored.refresh()).end).toEqual({ kind: 'cancelled' });
    expect(remote.times('get', 'task-2').length).toBeLessThanOrEqual(5);
  });
});

describe('a client in 2026-07-28', () => {
  it('answers nothing that is asked by a request: there are no such requests [G3-C-27]', async () => {
    let posted = 0;
    const { remote } = await fake({
      methods: {
        'tools/call': (_params, request) => {
          const asking = event({ id: 's-1', method: 'elicitation/create', params: { message: 'Sure?' } });
          const answered = request.json().then((body) => event({ id: (body as Json)['id'], result: { content: [] } }));
          return answered.then((answer) => {
            return new Response(asking + answer, { headers: { 'content-type': 'text/event-stream' } });
          });
        },
      },
      through: async () => {
        posted += 1; // What `methods` does not answer: a response of the client's, if it sent one.
        return new Response(null, { status: 202 });
      },
      onQuestion: async () => ({ action: 'accept', content: {} }),
    });
    await start(remote, 'quick');
    await settle();
    expect(posted).toBe(0);
  });
});

describe('calls that have to do with each other', () => {
  it('name tasks by the ids that their server gave, as the host says [G3D-C-02] [G3D-C-03]', async () => {
    const { client, server, remote, clock } = await stage();
    const first = await server.callTool({ name: 'build' });
    const second = await server.callTool({ name: 'test' });
    await remote.until('start', 2);
    await settled();
    remote.finish('task-1');
    await pass(clock, 2_000);
    await first.result();
    const args = { relatedTaskIds: ['task-9'], _meta: { [RELATED]: ['task-9'] } }; // A model's words stay arguments.
    await server.callTool({ name: 'deploy', arguments: args }, { relatedTo: [second, first] });
    await remote.until('start', 3);
    const { request } = remote.asked.filter(({ method }) => method === 'start')[2] ?? {};
    expect(request?.relatedTaskIds).toEqual(['task-2', 'task-1']); // In no order that would mean anything.
    expect(request?.arguments).toEqual(args);

    const elsewhere = await client.connect('other', { remote: () => new ScriptedRemote(clock) });
    await expect(elsewhere.callTool({ name: 'x' }, { relatedTo: [first] })).rejects.toThrow(
      'relatedTo[0]: a call to "other", got one to "ci"',
    );
  });

  it('say so in their metadata, and the server can keep it [G3D-C-01] [G3D-C-04]', async () => {
    const served = serve((tasks) => void tasks.registerTool('work', {}, () => text('done')), {
      server: { relatedTasks: true },
    });
    const remote = await remoteOf(served);
    const { taskId } = await startTask(remote, 'work');
    const { taskId: other } = await startTask(remote, 'work');
    const wanted = { name: 'work', arguments: {}, idempotencyKey: 'k', relatedTaskIds: [other, taskId] };
    const started = await remote.start(wanted);
    if (started.kind !== 'task') throw new Error('no task');
    const { labels } = await served.tasks.inspect.get(started.task.taskId);
    expect(String(labels?.['relatedTasks']).split(/[ ,]+/).sort()).toEqual([other, taskId].sort());
  });
});

describe('what becomes of a call', () => {
  it('is told to the operator, with its ids and without its content [G1-C-14] [G2-C-23]', async () => {
    const { logger, lines } = recordingLogger();
    const { server, remote, clock } = await stage({ logger });
    const call = await server.callTool({ name: 'pay', arguments: { card: 'secret-4711' } });
    await remote.until('start', 1);
    remote.finish('task-1', 'secret-result');
    await pass(clock, 2_000);
    await call.result();
    const fields = { server: 'ci', tool: 'pay', callId: expect.any(String) };
    expect(lines.filter(({ level }) => level === 'info').map(({ message, fields: told }) => [message, told])).toEqual([
      ['a tool is called', fields],
      ['a call became a task of its server', { ...fields, task: expect.any(String) }],
      ['a call is over', { ...fields, task: expect.any(String), outcome: 'completed' }],
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
    expect(JSON.stringify(lines)).not.toContain(call.id); // Shortened: whoever reads logs does not hold the key.
  });
});

/** A client whose first call reaches the server, and whose answer is lost on the way back. */
async function losing(served: Served, protocol: string) {
  const client = await openTaskClient({ journal: ':memory:', clock: served.clock });
  onTestFinished(() => client.close());
  let lost = 0;
  const through = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const answer = through(new Request(url, init));
    if (lost > 0 || !String(init?.body ?? '').includes('"tools/call"')) return answer;
    lost += 1;
    await answer.then((response) => response.body?.cancel());
    throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
  };
  const where = { url: 'http://127.0.0.1/mcp', http: { fetch: fetch as never } };
  const ours = await client.connect('ours', { ...where, protocol, firstDraft: protocol < '2025-11-25' });
  return { ours, lost: () => lost };
}

/** Lets time go by until the call is as wanted. */
async function when(call: Call, { clock }: Served, wanted: (state: Call['state']) => boolean): Promise<void> {
  for (let round = 0; round < 100 && !wanted(await call.refresh()); round += 1) await pass(clock, 500);
  expect(wanted(call.state)).toBe(true);
}

describe('a call whose answer was lost before any id was seen', () => {
  it.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
    'finds what it made, by itself, in %s [C-099] [G1-C-06]',
    async (protocol) => {
      const { served, gate } = slow();
      const { ours, lost } = await losing(served, protocol);
      const call = await ours.callTool({ name: 'slow' });
      await when(call, served, ({ phase }) => phase === 'following');
      gate.resolve();
      await when(call, served, ({ end }) => end !== undefined);
      expect(await call.result()).toMatchObject({ content: [{ text: 'done at last' }] });
      expect(lost()).toBe(1);
      // The list of its own tasks has this one and no other.
      const peer = await LegacyPeer.connect(served);
      const { tasks } = (await peer.send('tasks/list')).result as { tasks: { taskId: string }[] };
      expect(tasks).toHaveLength(1);
    },
  );
});
