import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { isSdkV1 } from './binding.ts';
import { answerOf, augmented, draftPeer, RELATED, related, startDraft } from './draft-peer.ts';
import { isAnswer, isQuestion, LegacyPeer, type Question, type Reading } from './legacy-peer.ts';
import { closing, type Served, serve } from './peer.ts';
import { users } from './users.ts';

// What becomes of tasks of the first draft (SEP-1686): questions, cancel, keeping, listing, deleting, and who sees them.

const NOT_FOUND = { code: -32602, message: 'Task not found' };
const capabilities = { elicitation: {} };
const accepted = (colour: string): Json => ({ result: { action: 'accept', content: { colour } } });
const schema = z.object({ colour: z.string() });

function register(tasks: Tasks): void {
  tasks.registerTool('quick', {}, () => text('done'));
  tasks.registerTool('forever', {}, async (_args, task) => {
    await new Promise((resolve) => task.signal.addEventListener('abort', resolve));
    return text('stopped');
  });
  tasks.registerTool('paint', {}, async (_args, task) => {
    const [walls, door] = await Promise.all([
      task.ask('walls', { message: 'The walls?', schema }),
      task.ask('door', { message: 'The door?', schema }),
    ]);
    return text(`${walls.action} ${door.action}`);
  });
}

const aServer = (more: Parameters<typeof serve>[1] = {}): Served =>
  serve(register, { ...more, server: { firstDraft: true, ...more.server } });
const statusOf = async (peer: LegacyPeer, taskId: string): Promise<unknown> =>
  (await peer.send('tasks/get', { taskId })).result?.['status'];
const questionsOf = ({ seen }: Reading): Question[] => seen.filter(isQuestion) as Question[];

/** Waits until the requestor is told so. */
async function becomes(served: Served, peer: LegacyPeer, taskId: string, status: string): Promise<void> {
  while ((await statusOf(peer, taskId)) !== status) {
    served.clock.advance(1_000);
    await settle(1);
  }
}

/** A task whose two questions have come. */
async function asked(served: Served, signal?: AbortSignal) {
  const peer = await draftPeer(served, { capabilities });
  const stream = await startDraft(peer, 'paint', 'cli-1', { id: 11, ...(signal && { signal }) });
  const first = (await stream.first(isQuestion)) as Question;
  const second = (await stream.first((message) => isQuestion(message) && message['id'] !== first.id)) as Question;
  return { peer, stream, questions: [first, second] as const };
}

describe('a question', () => {
  it('goes out on the stream of the request, ties itself to the task, and makes it wait [G1-S-17] [G1-S-18] [G1-S-27]', async () => {
    const { peer, questions } = await asked(aServer());
    for (const question of questions) {
      expect(question.params['_meta']).toEqual(related('cli-1'));
      expect(question.params).not.toHaveProperty('mode');
    }
    expect(await statusOf(peer, 'cli-1')).toBe('input_required');
  });

  it('keeps it waiting until the last one has its answer [G1-S-13] [G1-S-19] [G1-S-20]', async () => {
    const { peer, stream, questions } = await asked(aServer());
    expect(await peer.answer(questions[0].id, accepted('red'))).toBe(202);
    expect(await statusOf(peer, 'cli-1')).toBe('input_required');
    expect(await peer.answer(questions[1].id, accepted('blue'))).toBe(202);
    expect(await answerOf(stream)).toMatchObject({ result: { content: [{ text: 'accept accept' }] } });
    expect(await statusOf(peer, 'cli-1')).toBe('completed');
  });

  // The SDK's first version tells in later sessions only whether a stream that broke can be gone on with.
  it.skipIf(isSdkV1())('comes on the channel where the stream of the request is gone', async () => {
    const served = aServer();
    const gone = new AbortController();
    const { peer, questions } = await asked(served, gone.signal);
    gone.abort();
    await settle();
    const channel = await peer.channel();
    while (questionsOf(channel).length < 2) {
      served.clock.advance(1_000);
      await settle(1);
    }
    expect(new Set(questionsOf(channel).map(({ id }) => id))).toEqual(new Set(questions.map(({ id }) => id)));
    expect(questionsOf(channel).map(({ params }) => params['_meta'])).toEqual([related('cli-1'), related('cli-1')]);
    for (const { id } of questions) await peer.answer(id, accepted('red'));
    await becomes(served, peer, 'cli-1', 'completed');
  });
});

describe('a cancel', () => {
  const cancelled = (peer: LegacyPeer, requestId: number) =>
    peer.notify('notifications/cancelled', { requestId, reason: 'changed my mind' });

  it('of the request is one of its task, at once [G1-S-28]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    const stream = await startDraft(peer, 'forever', 'cli-1', { id: 11 });
    expect((await cancelled(peer, 11)).status).toBe(202);
    await becomes(served, peer, 'cli-1', 'cancelled');
    await stream.ended;
    expect(stream.seen.filter(isAnswer)).toEqual([]);
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).error).toMatchObject({
      code: -32602,
      message: 'Task result not available: status is cancelled',
    });
  });

  it('reaches the task also when the stream of the request is gone [G1-S-28]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    const gone = new AbortController();
    await startDraft(peer, 'forever', 'cli-1', { id: 11, signal: gone.signal });
    gone.abort();
    await settle();
    expect(await statusOf(peer, 'cli-1')).toBe('working');
    await cancelled(peer, 11);
    await becomes(served, peer, 'cli-1', 'cancelled');
  });

  it('is ignored when the task is over [G1-S-14] [G1-S-29]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    await answerOf(await startDraft(peer, 'quick', 'cli-1', { id: 11 }));
    await cancelled(peer, 11);
    await settle();
    expect(await statusOf(peer, 'cli-1')).toBe('completed');
  });

  it('ends what it waits for, and late answers count for nothing [G1-S-30]', async () => {
    const served = aServer();
    const { peer, questions } = await asked(served);
    await cancelled(peer, 11);
    await becomes(served, peer, 'cli-1', 'cancelled');
    for (const { id } of questions) expect(await peer.answer(id, accepted('red'))).toBe(202);
    expect(await statusOf(peer, 'cli-1')).toBe('cancelled');
  });
});

describe('a task', () => {
  it.each([
    [120_000, 120_000],
    [0, 60_000],
    [1e15, 30 * 86_400_000],
    [null, 30 * 86_400_000],
    [undefined, 86_400_000],
  ])('asked to be kept %j ms is promised %j, from its end on [G1-S-21] [G1-S-22]', async (keepAlive, granted) => {
    const peer = await draftPeer(aServer());
    await answerOf(await startDraft(peer, 'quick', 'cli-1', keepAlive === undefined ? {} : { keepAlive }));
    const { result } = await peer.send('tasks/get', { taskId: 'cli-1' });
    expect(result).toMatchObject({ keepAlive: granted });
  });

  it('is there for as long as that, however long it ran, and then is gone with its result [G1-S-23] [G1-S-41]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    const stream = await startDraft(peer, 'forever', 'cli-1', { keepAlive: 120_000, id: 11 });
    served.clock.advance(3_600_000);
    expect(await statusOf(peer, 'cli-1')).toBe('working');
    await peer.notify('notifications/cancelled', { requestId: 11 });
    await stream.ended;
    await becomes(served, peer, 'cli-1', 'cancelled');
    served.clock.advance(110_000);
    expect(await statusOf(peer, 'cli-1')).toBe('cancelled');
    served.clock.advance(20_000);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/delete']) {
      expect((await peer.send(method, { taskId: 'cli-1' })).error).toEqual(NOT_FOUND);
    }
  });

  it('is deleted by its owner with all there is of it; its request is answered, and its id is free again [G1-S-34] [G1-S-35]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    await answerOf(await startDraft(peer, 'quick', 'done'));
    const open = await startDraft(peer, 'forever', 'open');
    for (const taskId of ['done', 'open']) {
      expect((await peer.send('tasks/delete', { taskId })).result).toEqual({ _meta: related(taskId) });
      expect((await peer.send('tasks/get', { taskId })).error).toEqual(NOT_FOUND);
      expect((await peer.send('tasks/delete', { taskId })).error).toEqual(NOT_FOUND);
    }
    expect(await answerOf(open)).toMatchObject({ error: { code: -32603 } });
    expect((await served.tasks.inspect.counts()).total).toBe(0);
    expect((await peer.send('tasks/list')).result).toEqual({ tasks: [] });
    expect(await answerOf(await startDraft(peer, 'quick', 'done'))).toHaveProperty('result');
  });

  it('is told of to operators, with whose it is and never with what is in it [G1-S-49]', async () => {
    const served = aServer();
    const peer = await draftPeer(served);
    await answerOf(await startDraft(peer, 'quick', 'cli-1'));
    await peer.send('tasks/delete', { taskId: 'cli-1' });
    const told = served.log.filter(({ level }) => level === 'info').map(({ message }) => message);
    expect(told).toEqual(expect.arrayContaining(['a task was created', 'a task was deleted by its owner']));
  });
});

describe('a list', () => {
  it('has whatever can be asked for, a page at a time [G1-S-31] [G1-S-32] [G1-S-33]', async () => {
    const peer = await draftPeer(aServer());
    const ids = Array.from({ length: 53 }, (_, n) => `cli-${n}`);
    for (const id of ids) await answerOf(await startDraft(peer, 'quick', id));
    const first = (await peer.send('tasks/list')).result as { tasks: Json[]; nextCursor: string };
    expect(first.tasks).toHaveLength(50);
    const second = (await peer.send('tasks/list', { cursor: first.nextCursor })).result as { tasks: Json[] };
    expect(second).not.toHaveProperty('nextCursor');
    const listed = [...first.tasks, ...second.tasks];
    expect(new Set(listed.map(({ taskId }) => taskId))).toEqual(new Set(ids));
    const { _meta, ...told } = (await peer.send('tasks/get', { taskId: 'cli-7' })).result;
    expect(listed.find(({ taskId }) => taskId === 'cli-7')).toEqual(told);
  });

  it('refuses a cursor that it never gave [G1-S-38]', async () => {
    const peer = await draftPeer(aServer());
    for (const cursor of ['x', 7, '']) {
      expect((await peer.send('tasks/list', { cursor })).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('params.cursor'),
      });
    }
  });
});

describe('whose a task is', () => {
  it('decides who sees it: the same id is another task of another principal, and a foreign one is unknown [G1-S-44] [C-058]', async () => {
    const served = aServer();
    const as = users(served);
    const [alice, mallory] = [await draftPeer(as('alice')), await draftPeer(as('mallory'))];
    await answerOf(await startDraft(alice, 'quick', 'cli-1'));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/delete']) {
      const foreign = await mallory.send(method, { taskId: 'cli-1' });
      const unknown = await mallory.send(method, { taskId: 'cli-2' });
      expect({ ...foreign.message, id: 0 }).toEqual({ ...unknown.message, id: 0 });
      expect(foreign.error).toEqual(NOT_FOUND);
    }
    expect((await mallory.send('tasks/list')).result).toEqual({ tasks: [] });
    await startDraft(mallory, 'forever', 'cli-1');
    expect([await statusOf(alice, 'cli-1'), await statusOf(mallory, 'cli-1')]).toEqual(['completed', 'working']);
  });

  it('is not decided by the session: a new one of the same principal finds it [C-061]', async () => {
    const as = users(aServer());
    const before = await draftPeer(as('alice'));
    await answerOf(await startDraft(before, 'quick', 'cli-1'));
    await before.request('DELETE');
    expect(await statusOf(await draftPeer(as('alice')), 'cli-1')).toBe('completed');
  });

  it('is decided by the session among callers nobody can tell apart, who are shown no list [G1-S-45] [C-060]', async () => {
    const served = aServer({ server: { principal: () => ({ subject: 'anonymous' }) } });
    const [mine, theirs] = [await draftPeer(served), await draftPeer(served)];
    await answerOf(await startDraft(mine, 'quick', 'cli-1'));
    expect(await statusOf(mine, 'cli-1')).toBe('completed');
    expect((await mine.send('tasks/get', { taskId: 'cli-1' })).result).toMatchObject({ taskId: 'cli-1' });
    expect((await theirs.send('tasks/get', { taskId: 'cli-1' })).error).toEqual(NOT_FOUND);
    expect((await mine.send('tasks/list')).error).toMatchObject({ code: -32601 });
    const nobody = LegacyPeer.stateless(served, '2025-06-18');
    const { result, others } = await nobody.call('quick', {}, augmented('cli-1'));
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(others).toEqual([]);
  });
});

it('is one task on every wire: each tells it in its own words', async () => {
  const served = aServer();
  const { peer } = await asked(served);
  const later = await LegacyPeer.connect(served);
  const [task] = (await later.send('tasks/list')).result['tasks'] as [Json];
  expect(task).toMatchObject({ status: 'input_required' });
  expect(task['ttl']).toBeGreaterThanOrEqual(86_400_000);
  const taskId = String(task['taskId']);
  expect(taskId).toMatch(/^tsk_/);
  const { result } = await served.peer.get(taskId);
  expect(Object.keys(result['inputRequests'] as Json)).toHaveLength(2);
  await served.peer.cancel(taskId);
  expect(await statusOf(peer, 'cli-1')).toBe('cancelled');
  await answerOf(await startDraft(peer, 'quick', 'cli-2'));
  const listed = (await later.send('tasks/list')).result['tasks'] as { taskId: string; status: string }[];
  const ended = listed.find(({ status }) => status === 'completed')!.taskId;
  const said = (await later.send('tasks/result', { taskId: ended })).result;
  expect(said['_meta']).toEqual({ 'io.modelcontextprotocol/related-task': { taskId: ended } });
  const started = await served.peer.start('quick');
  await served.reaches(started.taskId, 'completed');
  const seen = (await peer.send('tasks/get', { taskId: started.taskId })).result;
  expect(seen).toMatchObject({
    taskId: started.taskId,
    status: 'completed',
    _meta: { [RELATED]: { taskId: started.taskId } },
  });
});

// Sessions of the SDK's first version end with their server.
it.skipIf(isSdkV1())('outlives the server: the session goes on where it was [G1-S-05]', async () => {
  const { path: folder, remove } = scratchFolder();
  onTestFinished(remove);
  const path = `${folder}/tasks.db`;
  const before = aServer({ tasks: { store: sqliteStore(path) } });
  const peer = await draftPeer(before);
  await answerOf(await startDraft(peer, 'quick', 'cli-1'));
  await closing(before.server, before.clock);
  const after = aServer({ tasks: { store: sqliteStore(path) } });
  const again = peer.on(after);
  expect((await again.send('tasks/result', { taskId: 'cli-1' })).result).toMatchObject({ content: [{ text: 'done' }] });
  expect((await again.call('quick', {}, augmented('cli-1'))).error).toMatchObject({ code: -32602 });
});

it('tells nothing of a store that does not work [G1-S-39] [G1-S-40]', async () => {
  const served = aServer();
  const peer = await draftPeer(served);
  await answerOf(await startDraft(peer, 'quick', 'cli-1'));
  await served.tasks.close({ drainMs: 0 });
  const { error } = await peer.send('tasks/get', { taskId: 'cli-1' });
  expect(error).toEqual({ code: -32603, message: expect.stringContaining('try again later') });
});

it('is limited as tasks of every revision are: open ones for each principal, and polls [G1-S-46] [G1-S-47] [G1-S-48]', async () => {
  const served = aServer({ tasks: { maxOpenTasksPerPrincipal: 1, maxPollsPerSecond: 1, maxWaitingPolls: 0 } });
  const peer = await draftPeer(served);
  await startDraft(peer, 'forever', 'cli-1');
  const { error, others } = await peer.call('quick', {}, augmented('cli-2'));
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('too many open tasks') });
  expect(others).toEqual([]);
  const polls = [];
  for (let n = 0; n < 5; n += 1) polls.push((await peer.send('tasks/result', { taskId: 'cli-1' })).error.message);
  expect(polls.at(-1)).toContain('too many polls are waiting');
});
