import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { isSdkV1 } from './binding.ts';
import { isAnswer, isQuestion, isStatus, LegacyPeer, type Question, type Reading } from './legacy-peer.ts';
import { events, serve } from './peer.ts';

// What a session of 2025-11-25 hears unasked, on the stream that it opens with GET: status, and questions left lying.

const capabilities = { elicitation: { form: {} } };
const RELATED = 'io.modelcontextprotocol/related-task';
const POLL_MS = 1_000;
const red = { result: { action: 'accept', content: { colour: 'red' } } };

/** `go` lets the tool `waits` end. */
function tools(go: Promise<void> = Promise.resolve()) {
  return (tasks: Tasks): void => {
    tasks.registerTool('waits', {}, async (_args, task) => {
      task.progress(1, 2, 'half');
      await go;
      return text('done');
    });
    tasks.registerTool('quick', {}, () => text('done'));
    tasks.registerTool('breaks', {}, () => {
      throw new Error('broke');
    });
    tasks.registerTool('paint', { task: { pollIntervalMs: POLL_MS } }, async (_args, task) => {
      const answer = await task.ask('colour', { message: 'Which?', schema: z.object({ colour: z.string() }) });
      return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : answer.action);
    });
  };
}

const told = ({ seen }: Reading, taskId: string) =>
  seen.filter((message) => isStatus(message) && (message['params'] as Json)['taskId'] === taskId);
const statuses = (reading: Reading, taskId: string) =>
  told(reading, taskId).map(({ params }) => (params as Json)['status']);
const isOver = (status: string) => (message: Json) =>
  isStatus(message) && (message['params'] as Json)['status'] === status;

describe('the channel of a session', () => {
  it('tells each change of its tasks, whole and without the related-task key [G2-S-35] [G2-S-36]', async () => {
    const go = deferred();
    const served = serve(tools(go.promise));
    const peer = await LegacyPeer.connect(served);
    const channel = await peer.channel();
    const { taskId } = await peer.start('waits');
    await pass(served.clock, 100); // What is reported is written at most ten times a second.
    const half = await channel.first((message) => isStatus(message));
    expect(half).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tasks/status',
      params: (await peer.send('tasks/get', { taskId })).result,
    });
    expect(half['params']).toMatchObject({ taskId, status: 'working', statusMessage: '1/2 half' });
    go.resolve();
    await channel.first(isOver('completed'));
    expect(statuses(channel, taskId)).toEqual(['working', 'completed']);
    expect(JSON.stringify(channel.seen)).not.toContain(RELATED);
  });

  it('tells how a task ended that was over before its handle was read [G2-S-35]', async () => {
    const peer = await LegacyPeer.connect(serve(tools()));
    const channel = await peer.channel();
    const quick = await peer.start('quick');
    const broken = await peer.start('breaks');
    await channel.first(isOver('completed'));
    await channel.first(isOver('failed'));
    expect(statuses(channel, quick.taskId)).toEqual(['completed']);
    expect(statuses(channel, broken.taskId)).toEqual(['failed']);
  });

  it('tells what changed before it was opened, once', async () => {
    const served = serve(tools());
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('quick');
    await served.reaches(taskId, 'completed');
    const leave = new AbortController();
    const channel = await peer.channel(leave.signal);
    await channel.first(isOver('completed'));
    leave.abort();
    await channel.ended;
    const next = await peer.channel();
    await settle();
    expect(told(channel, taskId)).toHaveLength(1);
    expect(next.seen).toEqual([]);
  });

  it('tells one session nothing of the tasks of another', async () => {
    const served = serve(tools());
    const [peer, other] = [await LegacyPeer.connect(served), await LegacyPeer.connect(served)];
    const [channel, others] = [await peer.channel(), await other.channel()];
    await peer.start('quick');
    await channel.first(isOver('completed'));
    await settle();
    expect(others.seen).toEqual([]);
  });

  // The transport of the SDK's first version keeps the first one, and refuses the next.
  it.skipIf(isSdkV1())(
    'is one per session: the next one ends it, and so does the end of the session [G2-S-68]',
    async () => {
      const go = deferred();
      const served = serve(tools(go.promise));
      const peer = await LegacyPeer.connect(served);
      const first = await peer.channel();
      const second = await peer.channel();
      await first.ended;
      const { taskId } = await peer.start('waits');
      await pass(served.clock, 100);
      await second.first(isStatus);
      expect((await peer.request('DELETE')).status).toBe(204);
      await second.ended;
      expect(told(first, taskId)).toEqual([]);
      go.resolve();
      expect((await served.reaches(taskId, 'completed'))['status']).toBe('completed'); // The task is nobody's session's.
    },
  );

  it.skipIf(isSdkV1())('needs a client that reads event streams', async () => {
    const peer = await LegacyPeer.connect(serve(tools()));
    expect((await peer.request('GET', { accept: 'application/json' })).status).toBe(406);
  });
});

describe('a question that nobody fetches', () => {
  it('goes out on the channel after two polls without a tasks/result [G2-S-18] [G2-S-19] [G2-S-68] [C-070]', async () => {
    const served = serve(tools());
    const peer = await LegacyPeer.connect(served, { capabilities });
    const channel = await peer.channel();
    const { taskId } = await peer.start('paint');
    await channel.first(isOver('input_required'));
    await pass(served.clock, 2 * POLL_MS - 1);
    expect(channel.seen.filter(isQuestion)).toEqual([]);
    served.clock.advance(1);
    const question = (await channel.first(isQuestion)) as Question;
    expect(question.params).toMatchObject({ message: 'Which?', _meta: { [RELATED]: { taskId } } });
    expect(await peer.answer(question.id, red)).toBe(202);
    await channel.first(isOver('completed'));
    expect(statuses(channel, taskId)).toEqual(['input_required', 'working', 'completed']);
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject({ content: [{ text: 'painted red' }] });
  });

  it('stays off the channel where a tasks/result is open, and comes there once that is gone [G2-S-68]', async () => {
    const served = serve(tools());
    const peer = await LegacyPeer.connect(served, { capabilities });
    const channel = await peer.channel();
    const { taskId } = await peer.start('paint');
    const leave = new AbortController();
    const waiting = await peer.follow('tasks/result', { taskId }, leave.signal);
    const question = await waiting.first(isQuestion);
    await pass(served.clock, 20 * POLL_MS);
    expect(channel.seen.filter(isQuestion)).toEqual([]);
    leave.abort();
    await waiting.ended;
    await pass(served.clock, 4 * POLL_MS);
    expect(channel.seen.filter(isQuestion)).toEqual([question]);
    expect(waiting.seen.filter(isAnswer)).toEqual([]);
  });

  it('is withdrawn from the channel when it is answered elsewhere', async () => {
    const served = serve(tools());
    const peer = await LegacyPeer.connect(served, { capabilities });
    const channel = await peer.channel();
    const { taskId } = await peer.start('paint');
    await channel.first(isOver('input_required'));
    await pass(served.clock, 2 * POLL_MS);
    const question = await channel.first(isQuestion);
    await served.peer.update(taskId, { colour: { action: 'accept', content: { colour: 'blue' } } });
    const withdrawn = await channel.first(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn['params']).toMatchObject({ requestId: question['id'] });
  });
});

describe('a session that does not read its channel', () => {
  /** A task that reports as often as it is told to. */
  async function reporting() {
    const go = deferred();
    let task: TaskContext | undefined;
    const served = serve((tasks) =>
      tasks.registerTool('waits', {}, async (_args, context) => {
        task = context;
        await go.promise;
        return text('done');
      }),
    );
    const peer = await LegacyPeer.connect(served);
    const leave = new AbortController();
    const { body } = await peer.request('GET', { accept: 'text/event-stream' }, leave.signal);
    const { taskId } = await peer.start('waits');
    const report = async (from: number, to: number) => {
      for (let n = from; n <= to; n += 1) {
        task?.progress(n, 1_000, 'x'.repeat(1_000));
        await pass(served.clock, 100);
      }
    };
    return { served, peer, go, taskId, body: body!, leave, report };
  }

  it('hears how things stand when it reads again, not what happened meanwhile [C-076]', async () => {
    const { served, go, taskId, body, report } = await reporting();
    await report(1, 100);
    go.resolve();
    await served.reaches(taskId, 'completed');
    const seen: Json[] = [];
    for await (const message of events(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))) {
      seen.push(message);
      if (isOver('completed')(message)) break;
    }
    expect(seen.length).toBeLessThan(10);
  });

  it('hears of the end on its next channel', async () => {
    const { served, peer, go, taskId, leave, report } = await reporting();
    await report(1, 10);
    go.resolve();
    await served.reaches(taskId, 'completed');
    leave.abort();
    await settle();
    const next = await peer.channel();
    await next.first(isOver('completed'));
  });
});
