import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { Followers } from '../../src/server/followers.ts';
import { InFlight } from '../../src/server/in-flight.ts';
import { QuestionDesk } from '../../src/server/questions.ts';
import { ToldProgress } from '../../src/server/told-progress.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { settle, someTasks, start } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { isAnswer, isQuestion, LegacyPeer, type Question } from './legacy-peer.ts';
import { closing, serve } from './peer.ts';

// Sessions of 2025-11-25 over HTTP: their id holds all there is of them, so no process has to.

const elicitation = { elicitation: { form: {} } };
const yes = { result: { action: 'accept', content: { ok: true } } };
const said = (answer: string) => ({ content: [{ type: 'text', text: answer }] });

function register(tasks: Tasks): void {
  tasks.registerTool('add', { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(`${n + 1}`));
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  tasks.registerTool('asks', {}, async (_args, task) => {
    const answer = await task.ask('go', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
    return text(answer.action);
  });
}

/** Servers of one database, each as in a process of its own. */
function processes() {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const clock = new ManualClock();
  const next = () => serve(register, { tasks: { store: sqliteStore(`${folder.path}/tasks.db`), clock } });
  return { clock, next };
}

describe('a session', () => {
  it('is asked on the stream of a plain call too, and answers by a request of its own', async () => {
    const peer = await LegacyPeer.connect(serve(register), { capabilities: elicitation });
    peer.onQuestion = () => ({ result: { action: 'decline' } });
    expect((await peer.call('asks')).result).toMatchObject(said('decline'));
  });

  it('that is none of ours is not found, and the client begins another', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served);
    const id = peer.sessionId!;
    expect(id).toMatch(/^[\x21-\x7e]+$/);
    for (const headers of [{ 'mcp-session-id': 'unknown' }, { 'mcp-session-id': `${id.slice(0, -2)}AA` }]) {
      for (const method of ['GET', 'DELETE'] as const) {
        expect((await peer.request(method, { accept: 'text/event-stream', ...headers })).status).toBe(404);
      }
      const request = new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
      const refused = await served.peer.fetch(request);
      expect(refused.status).toBe(404);
      expect(await refused.json()).toMatchObject({
        error: { message: 'Session not found; begin another with initialize' },
      });
    }
    expect((await peer.send('tools/list')).status).toBe(200);
  });

  it('that its client ends is over; its tasks are not', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('forever');
    expect((await peer.request('DELETE')).status).toBe(204);
    expect((await peer.send('tasks/get', { taskId })).status).toBe(404);
    expect((await peer.request('GET', { accept: 'text/event-stream' })).status).toBe(404);
    const next = await LegacyPeer.connect(served);
    expect((await next.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
  });

  it('needs no version header: the session knows', async () => {
    const served = serve(register);
    const { sessionId } = await LegacyPeer.connect(served);
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': sessionId!,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/list', params: {} }),
    });
    expect(await (await served.peer.fetch(request)).text()).toContain('"tasks":[]');
  });

  it('means nothing on a request of 2026-07-28, whosever it is', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served, { version: '2025-06-18' });
    for (const id of [peer.sessionId, 'unknown']) {
      const { status, result } = await served.peer.call('add', { n: 1 }, { headers: { 'mcp-session-id': id } });
      expect({ status, type: result['resultType'] }).toEqual({ status: 200, type: 'task' });
    }
  });

  it('is not opened by a GET without one', async () => {
    const peer = LegacyPeer.stateless(serve(register), '2025-11-25');
    expect((await peer.request('GET', { accept: 'text/event-stream' })).status).toBe(405);
    await peer.send('tools/list');
  });
});

describe('a session of several processes', () => {
  it('goes on after a restart, with its tasks, its questions and its channel [G2-S-41] [C-030]', async () => {
    const { clock, next } = processes();
    const first = next();
    const peer = await LegacyPeer.connect(first, { capabilities: elicitation });
    const { taskId } = await peer.start('asks');
    const stream = await peer.follow('tasks/result', { taskId });
    const silent = await peer.channel();
    const question = (await stream.first(isQuestion)) as Question;
    await closing(first.server, clock);
    await Promise.all([stream.ended, silent.ended]);
    expect(stream.seen.filter(isAnswer)).toEqual([]); // The one who asks again will be told.
    const again = peer.on(next());
    const channel = await again.channel();
    expect((await again.send('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
    const waiting = await again.follow('tasks/result', { taskId });
    expect(await waiting.first(isQuestion)).toEqual(question);
    expect(await again.answer(question.id, yes)).toBe(202);
    expect((await waiting.first(isAnswer))['result']).toMatchObject(said('accept'));
    const fresh = await again.start('add', { n: 1 });
    await channel.first(({ params }) => (params as Json)?.['status'] === 'completed');
    expect((await again.send('tasks/list')).result['tasks']).toHaveLength(2);
    expect((await again.send('tasks/result', { taskId: fresh.taskId })).result).toMatchObject(said('2'));
  });

  it('may answer at another process than the one that asks [C-074]', async () => {
    const { clock, next } = processes();
    const [one, two] = [next(), next()];
    const peer = await LegacyPeer.connect(one, { capabilities: elicitation });
    const elsewhere = peer.on(two);
    const { taskId } = await peer.start('asks');
    const stream = await peer.follow('tasks/result', { taskId });
    const question = (await stream.first(isQuestion)) as Question;
    const waiting = elsewhere.send('tasks/result', { taskId });
    expect(await elsewhere.answer(question.id, yes)).toBe(202);
    const results = Promise.all([stream.first(isAnswer), waiting]);
    let over = false;
    void results.finally(() => {
      over = true;
    });
    while (!over) {
      clock.advance(50); // Processes hear of each other by a bell, and where that is missed by looking.
      await settle(2);
    }
    const [here, there] = await results;
    expect(here['result']).toMatchObject(said('accept'));
    expect(there.result).toMatchObject(said('accept'));
  });
});

describe('sessions that never say goodbye', () => {
  it('cost nothing, and their tasks live on, 1,000 of them [C-054]', async () => {
    const served = serve(register, { tasks: { maxOpenTasksPerPrincipal: 2_000 } });
    const ids: string[] = [];
    for (let n = 0; n < 1_000; n += 1) {
      const peer = await LegacyPeer.connect(served);
      ids.push((await peer.start('forever')).taskId);
    }
    const late = await LegacyPeer.connect(served);
    const listed: unknown[] = [];
    for (let cursor: unknown; ; ) {
      const { result } = await late.send('tasks/list', cursor === undefined ? {} : { cursor });
      listed.push(...(result['tasks'] as Json[]).map(({ taskId }) => taskId));
      cursor = result['nextCursor'];
      if (cursor === undefined) break;
    }
    expect(new Set(listed)).toEqual(new Set(ids));
    expect((await late.send('tasks/cancel', { taskId: ids[0] })).result).toMatchObject({ status: 'cancelled' });
  }, 60_000);

  it('are forgotten where there are too many, unless they listen [C-054]', async () => {
    const { tasks, clock } = someTasks();
    register(tasks);
    onTestFinished(() => closing(tasks, clock));
    const task = await start(tasks, 'forever');
    const followers = new Followers(tasks, new QuestionDesk(tasks), new ToldProgress(), {});
    const silent = { send: async () => {}, abilities: { form: false }, version: undefined, asked: new Set<string>() };
    const close = followers.open('listens', silent, { patient: true });
    followers.follow('listens', task);
    for (let n = 0; n < 3_000; n += 1) followers.follow(`session ${n}`, task);
    expect(followers.size).toBe(1_001);
    for (let n = 0; n < 3_000; n += 1) followers.end(`session ${n}`);
    expect(followers.size).toBe(1);
    close();
    followers.end('listens');
    expect(followers.size).toBe(0);
  });

  it('leave nothing behind with what is kept for single requests', async () => {
    const inFlight = new InFlight();
    const transport = { start: async () => {}, send: async () => {}, close: async () => {} } as never as Parameters<
      InFlight['watch']
    >[1];
    inFlight.watch('a session', transport);
    transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'ping' });
    transport.onmessage?.({ jsonrpc: '2.0', id: 2, method: 'ping' });
    await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
    expect(inFlight.size).toBe(1);
    transport.onclose?.();
    expect(inFlight.size).toBe(0);
    const told = new ToldProgress();
    for (let n = 0; n < 20_000; n += 1) told.isNews(`task ${n}`, { progress: 1 });
    expect(told.size).toBe(10_000);
    told.forget('task 19999');
    expect(told.isNews('task 19999', { progress: 1 })).toBe(true);
  });
});
