import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { answerOf, draftPeer, startDraft } from '../../server/draft-peer.ts';
import { LegacyPeer, type Question } from '../../server/legacy-peer.ts';
import type { Json } from '../../support/messages.ts';
import { type Generation, gatewayOf, type UpstreamStand, upstream, upstreamOf } from './stage.ts';

const schema = z.object({ ok: z.boolean() });

/** Asks the same words twice, and says what came back. */
function tools(tasks: Tasks): void {
  tasks.registerTool('twice', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    const first = await task.ask('first', { message: 'Sure?', schema });
    const second = await task.ask('second', { message: 'Sure?', schema });
    return text(JSON.stringify([first, second]));
  });
}

const words = (result: Json): string => (result['content'] as { text: string }[]).map(({ text }) => text).join('\n');

const generations: Generation[] = ['2026-07-28', '2025-11-25', '2025-06-18'];
const yes = { action: 'accept', content: { ok: true } };
const no = { action: 'decline' };
const said = JSON.stringify([yes, no]);
const elicitation = { elicitation: { form: {} } };

/** Answers that reached the upstream, in whichever way its generation has. */
function answers({ of }: UpstreamStand, generation: Generation): Json[] {
  return generation === '2026-07-28' ? of('tasks/update') : of(undefined);
}

describe.each(generations)('questions of an upstream of %s', (generation) => {
  const stage = async () => {
    const stand = await upstreamOf(generation, tools);
    const config = { firstDraft: true, upstreams: [upstream(stand.target, { firstDraft: true })] };
    return { stand, standing: await gatewayOf(config) };
  };

  it('stand in the task of 2026-07-28, each under a key of its own, and are answered once each [GW-06] [EC-24]', async () => {
    const { stand, standing } = await stage();
    const { peer, when } = standing;
    const { taskId } = await peer.start('twice');
    const asked = new Set<string>();
    for (const answer of [yes, no]) {
      const isNew = (task: Json): string | undefined =>
        Object.keys((task['inputRequests'] ?? {}) as Json).find((key) => !asked.has(key));
      const task = await when(taskId, (one) => isNew(one) !== undefined);
      const key = isNew(task) as string;
      asked.add(key);
      expect((task['inputRequests'] as Record<string, Json>)[key]).toMatchObject({
        method: 'elicitation/create',
        params: { message: 'up: twice asks: Sure?' },
      });
      await peer.update(taskId, { [key]: answer });
      await peer.update(taskId, { [key]: answer }); // A repeat, as of a client that missed the answer.
    }
    expect(await standing.reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: said }] } });
    expect(answers(stand, generation)).toHaveLength(2);
  });

  it('are requests to a session of 2025-11-25, about the task that it knows [GW-07] [GW-15]', async () => {
    const { stand, standing } = await stage();
    const session = await LegacyPeer.connect(standing, { capabilities: elicitation });
    const questions: Question[] = [];
    session.onQuestion = (question) => {
      questions.push(question);
      return { result: questions.length === 1 ? yes : no };
    };
    const { taskId } = await session.start('twice');
    const { result } = await session.send('tasks/result', { taskId });
    expect(result).toMatchObject({ content: [{ text: said }] });
    expect(new Set(questions.map(({ id }) => id)).size).toBe(2);
    for (const { params } of questions) {
      expect(params['_meta']).toEqual({ 'io.modelcontextprotocol/related-task': { taskId } });
    }
    expect(answers(stand, generation)).toHaveLength(2);
  });

  it('are requests to a session of the first draft, under its prefix and its id [GW-07] [GW-12] [GW-15] [GW-02]', async () => {
    const { stand, standing } = await stage();
    const session = await draftPeer(standing, { capabilities: elicitation });
    await session.send('tools/list');
    const reading = await startDraft(session, 'twice', 'mine');
    let answered = 0;
    for (const answer of [yes, no]) {
      const isNext = (message: Json): boolean =>
        message['method'] === 'elicitation/create' &&
        reading.seen.filter(({ method }) => method === 'elicitation/create').indexOf(message) === answered;
      const question = (await reading.first(isNext)) as Question;
      answered += 1;
      expect(question.params['_meta']).toEqual({ 'modelcontextprotocol.io/related-task': { taskId: 'mine' } });
      await session.answer(question.id, { result: answer });
    }
    expect(await answerOf(reading)).toMatchObject({ result: { content: [{ text: said }] } });
    expect(answers(stand, generation)).toHaveLength(2);
  });

  it('are put to a client without tasks by tools [GW-07]', async () => {
    const { stand, standing } = await stage();
    const session = await LegacyPeer.connect(standing, { version: '2025-06-18' });
    const handle = (await session.call('twice')).result;
    const { taskId } = handle['structuredContent'] as { taskId: string };
    let status = handle;
    for (const answer of [yes, no]) {
      const [, key] = /Question "([^"]+)"/.exec(words(status)) ?? [];
      await session.call('task_answer', { taskId, key, ...answer });
      status = (await session.call('task_wait', { taskId, maxWaitSec: 20 })).result;
    }
    expect(status).toMatchObject({ content: [{ text: said }] });
    expect(answers(stand, generation)).toHaveLength(2);
  });
});
