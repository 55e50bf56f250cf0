import { expect, it } from 'vitest';
import type { Tasks } from '../../src/engine/index.ts';
import { text } from '../../src/engine/index.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { answerOf, draftPeer, RELATED, related, startDraft, TASK } from './draft-peer.ts';
import { isAnswer, type LegacyPeer, type Question, type Reading } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// The other way round: a client that makes a task of its own of what its model is asked (SEP-1686).

const capabilities = { sampling: {}, tasks: { sampling: { createMessage: true } } };
const message = { role: 'assistant', content: { type: 'text', text: 'forty-two' }, model: 'm' };

function register(tasks: Tasks): void {
  tasks.registerTool('think', {}, async (_args, task) => {
    const answer = await task.sample('answer', { messages: [], maxTokens: 5 });
    return text(answer.action === 'accept' ? JSON.stringify(answer.content.content) : answer.action);
  });
}

const aServer = (): Served => serve(register, { server: { firstDraft: true } });
const asks = (method: string) => (sent: Json) => sent['method'] === method;

async function asked(served: Served, declared: Json = capabilities) {
  const peer = await draftPeer(served, { capabilities: declared });
  const stream = await startDraft(peer, 'think', 'cli-1');
  return { peer, stream, question: (await stream.first(asks('sampling/createMessage'))) as Question };
}

/** The next request of this method that was not seen before, while the clock goes on. */
async function next(served: Served, stream: Reading, method: string, after = 0): Promise<Question> {
  for (;;) {
    const found = stream.seen.filter(asks(method))[after];
    if (found !== undefined) return found as Question;
    served.clock.advance(500);
    await settle(1);
  }
}

const created = (peer: LegacyPeer, taskId: string) =>
  peer.notify('notifications/tasks/created', { _meta: related(taskId) });

it('asks for a task, and takes the answer to the request itself, if that comes first', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served);
  expect(question.params['_meta']).toEqual({
    [RELATED]: { taskId: 'cli-1' },
    [TASK]: { taskId: question.id, keepAlive: 3_600_000 },
  });
  await created(peer, question.id);
  await peer.answer(question.id, { result: message });
  expect(await answerOf(stream)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('forty-two') }] },
  });
});

it('fetches the answer when it is told of the task and the request is not answered, and leaves nothing with the client', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served);
  expect((await created(peer, question.id)).status).toBe(202);
  const about = { taskId: question.id, _meta: related(question.id) };
  const first = await next(served, stream, 'tasks/get');
  expect(first.params).toEqual(about);
  await peer.answer(first.id, {
    result: { taskId: question.id, status: 'working', keepAlive: null, pollFrequency: 2_000 },
  });
  const second = await next(served, stream, 'tasks/get', 1);
  await peer.answer(second.id, { result: { taskId: question.id, status: 'completed', keepAlive: null } });
  const fetched = await next(served, stream, 'tasks/result');
  expect(fetched.params).toEqual(about);
  const deleted = next(served, stream, 'tasks/delete');
  await peer.answer(fetched.id, { result: { ...message, _meta: related(question.id) } });
  expect((await deleted).params).toEqual(about);
  expect(await answerOf(stream)).toMatchObject({
    result: { content: [{ text: expect.stringContaining('forty-two') }] },
  });
});

it('asks as often as the client wants to be asked, and no more', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served);
  await created(peer, question.id);
  await created(peer, question.id);
  const first = await next(served, stream, 'tasks/get');
  await peer.answer(first.id, {
    result: { taskId: question.id, status: 'working', keepAlive: null, pollFrequency: 5_000 },
  });
  await settle();
  for (let step = 0; step < 9; step += 1) {
    served.clock.advance(500);
    await settle(2);
  }
  expect(stream.seen.filter(asks('tasks/get'))).toHaveLength(1);
  await next(served, stream, 'tasks/get', 1);
});

it('gives up a task of the client that failed, and still takes an answer to the request', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served);
  await created(peer, question.id);
  const poll = await next(served, stream, 'tasks/get');
  await peer.answer(poll.id, { result: { taskId: question.id, status: 'failed', keepAlive: null, error: 'no model' } });
  await settle();
  served.clock.advance(60_000);
  await settle();
  expect(stream.seen.filter(asks('tasks/get'))).toHaveLength(1);
  await peer.answer(question.id, { result: message });
  expect(await answerOf(stream)).toHaveProperty('result');
});

it('ignores what it did not ask for, and whose task it is not', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served);
  const stranger = await draftPeer(served, { capabilities });
  await created(peer, 'anything');
  await stranger.notify('notifications/tasks/created', { _meta: related('lc-poll-forged') });
  expect(await peer.answer('lc-poll-forged', { result: { status: 'completed' } })).toBe(202);
  served.clock.advance(60_000);
  await settle();
  expect(stream.seen.filter(asks('tasks/get'))).toEqual([]);
  await peer.answer(question.id, { result: message });
  expect(await answerOf(stream)).toHaveProperty('result');
});

it('asks for no task where the client takes none', async () => {
  const served = aServer();
  const { peer, stream, question } = await asked(served, { sampling: {} });
  expect(question.params['_meta']).toEqual(related('cli-1'));
  await peer.answer(question.id, { result: message });
  await answerOf(stream);
  expect(stream.seen.filter(isAnswer)).toHaveLength(1);
});
