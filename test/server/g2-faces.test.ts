import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { pass } from '../support/engine.ts';
import { isAnswer, isQuestion, LegacyPeer, type Question } from './legacy-peer.ts';
import { serve } from './peer.ts';
import { users } from './users.ts';

// One task, several faces: made on one revision, it is read, answered and cancelled on the other, by the same principal.

const elicitation = { elicitation: { form: {} } };
const old = { elicitation: {}, tasks: { list: {}, cancel: {} } };
const verdict = { content: [{ type: 'text', text: 'no such film' }], isError: true };

function register(tasks: Tasks): void {
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  tasks.registerTool('counts', {}, (_args, task) => {
    task.progress(1);
    return new Promise<never>(() => {});
  });
  tasks.registerTool('reports', {}, () => verdict as never);
  tasks.registerTool('breaks', {}, () => {
    throw Object.assign(new Error('broke'), { code: -32050, data: 1 });
  });
  tasks.registerTool('asks', {}, async (_args, task) => {
    const answer = await task.ask('colour', { message: 'Which?', schema: z.object({ colour: z.string() }) });
    return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : answer.action);
  });
}

async function both() {
  const served = serve(register);
  return { served, modern: served.peer, legacy: await LegacyPeer.connect(served, { capabilities: elicitation }) };
}

describe('a task made on 2025-11-25', () => {
  it('is read on 2026-07-28 in its words', async () => {
    const { served, modern, legacy } = await both();
    const handle = await legacy.start('forever', {}, { ttl: 60_000 });
    const { result } = await modern.get(handle.taskId);
    const { ttl, pollInterval, ...same } = (await legacy.send('tasks/get', { taskId: handle.taskId })).result;
    expect(result).toMatchObject({ ...same, ttlMs: ttl, pollIntervalMs: pollInterval, resultType: 'complete' });
    const [reports, breaks] = [await legacy.start('reports'), await legacy.start('breaks')];
    expect(await served.reaches(reports.taskId, 'completed')).toMatchObject({ result: verdict });
    expect(await served.reaches(breaks.taskId, 'failed')).toMatchObject({ error: { code: -32050, data: 1 } });
    expect((await legacy.send('tasks/get', { taskId: reports.taskId })).result).toMatchObject({ status: 'failed' });
  });

  it('is answered and cancelled on 2026-07-28', async () => {
    const { served, modern, legacy } = await both();
    const { taskId } = await legacy.start('asks');
    const waiting = legacy.send('tasks/result', { taskId });
    expect(await served.reaches(taskId, 'input_required')).toMatchObject({
      inputRequests: { colour: { method: 'elicitation/create', params: { message: 'Which?' } } },
    });
    await modern.update(taskId, { colour: { action: 'accept', content: { colour: 'blue' } } });
    expect((await waiting).result).toMatchObject({ content: [{ text: 'painted blue' }] });
    const other = await legacy.start('forever');
    await modern.cancel(other.taskId);
    expect((await legacy.send('tasks/get', { taskId: other.taskId })).result).toMatchObject({ status: 'cancelled' });
  });
});

describe('a task made on 2026-07-28', () => {
  it('is listed, read, and cancelled on 2025-11-25', async () => {
    const { modern, legacy } = await both();
    const { taskId } = await modern.start('forever');
    const task = (await legacy.send('tasks/get', { taskId })).result;
    expect(task).toMatchObject({ taskId, status: 'working', ttl: expect.any(Number) });
    expect((await legacy.send('tasks/list')).result).toEqual({ tasks: [task] });
    expect((await legacy.send('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
    expect((await modern.get(taskId)).result).toMatchObject({ status: 'cancelled' });
  });

  it('tells no progress on 2025-11-25, where its token is none', async () => {
    const { served, legacy } = await both();
    const { taskId } = await served.peer.start('counts', {}, { meta: { progressToken: 5 } });
    const waiting = legacy.send('tasks/result', { taskId });
    await pass(served.clock, 100);
    await served.when(taskId, ({ statusMessage }) => statusMessage === '1');
    await served.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    expect((await waiting).others).toEqual([]);
  });

  it('gives its result, and asks, on 2025-11-25', async () => {
    const { modern, legacy } = await both();
    const reports = await modern.start('reports');
    expect((await legacy.send('tasks/result', { taskId: reports.taskId })).result).toMatchObject(verdict);
    const breaks = await modern.start('breaks');
    const { error } = await legacy.send('tasks/result', { taskId: breaks.taskId });
    expect(error).toEqual({ code: -32050, message: 'broke', data: 1 });
    const { taskId } = await modern.start('asks');
    const stream = await legacy.follow('tasks/result', { taskId });
    const question = (await stream.first(isQuestion)) as Question;
    await legacy.answer(question.id, { result: { action: 'accept', content: { colour: 'red' } } });
    expect((await stream.first(isAnswer))['result']).toMatchObject({ content: [{ text: 'painted red' }] });
    expect((await modern.get(taskId)).result).toMatchObject({ status: 'completed' });
  });
});

describe('a client that moved to 2026-07-28 and declares only the tasks of 2025-11-25', () => {
  it('sees and cancels what it made before, in the old words [G3-S-67]', async () => {
    const { modern, legacy } = await both();
    const { taskId } = await legacy.start('forever');
    const before = (await legacy.send('tasks/get', { taskId })).result;
    const sending = { capabilities: old };
    expect((await modern.get(taskId, sending)).result).toMatchObject({ resultType: 'complete', ...before });
    const cancelled = (await modern.cancel(taskId, sending)).result;
    expect(cancelled).toMatchObject({ resultType: 'complete', taskId, status: 'cancelled' });
    expect(cancelled).toHaveProperty('ttl');
    expect((await modern.cancel(taskId, sending)).error).toMatchObject({ code: -32602 });
  });

  it('learns nothing of any other id, and gets no new tasks', async () => {
    const { served, modern } = await both();
    const as = users(served);
    const mine = await modern.start('forever');
    const theirs = await (await LegacyPeer.connect(as('ann'))).start('forever');
    const bodies = new Set<string>();
    for (const taskId of [mine.taskId, theirs.taskId, 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA', '', 'x'.repeat(5_000)]) {
      for (const method of ['tasks/get', 'tasks/cancel']) {
        const { status, body, error } = await modern.send(method, { taskId }, { capabilities: old });
        expect({ status, code: error.code }).toEqual({ status: 400, code: -32021 });
        bodies.add(body.replace(/"id":\d+/, '').replace(method, 'a method'));
      }
    }
    expect(bodies.size).toBe(1);
    const { error } = await modern.send(
      'tasks/update',
      { taskId: mine.taskId, inputResponses: {} },
      { capabilities: old },
    );
    expect(error.code).toBe(-32021);
    expect((await modern.get(mine.taskId)).result).toMatchObject({ status: 'working' });
  });
});
