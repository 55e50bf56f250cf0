// What a client finds that comes again: after streams that broke before anything came on them, and after its session.
import { describe, expect, it } from 'vitest';
import { isQuestion, isStatus, LegacyPeer } from '../server/legacy-peer.ts';
import { listener } from '../server/listener.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { running } from './fixture.ts';

const capabilities = { elicitation: { form: {} }, tasks: {} };
const accepted = { result: { action: 'accept', content: { ok: true } } };

/** Opens a stream and loses it before anything comes, twice. */
async function twice(open: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  for (const _time of [1, 2]) {
    const cut = new AbortController();
    const opening = open(cut.signal);
    opening.catch(() => {});
    await settle(20);
    cut.abort();
    await settle(20);
  }
}

// There are no event ids to resume from: whatever a stream would have told is asked for again.
describe('a stream that broke twice before anything came on it', () => {
  it('costs no handle: the same key is the same task [C-087]', async () => {
    const { far, all, slow, goOn, reaches } = await running('listen');
    const meta = { 'longcall/idempotencyKey': 'k' };
    await twice((signal) => far.stream('tools/call', { name: 'slow', arguments: {} }, { meta, signal }));
    const { taskId } = await far.start('slow', {}, { meta });
    await slow;
    goOn();
    await reaches(taskId, 'completed');
    expect((await all()).map((task) => task.taskId)).toEqual([taskId]);
  });

  it.each([undefined, 'some-event-id'])('costs no result, whatever it says it has seen: %s [C-087]', async (seen) => {
    const { far, goOn, slow, all } = await running('listen');
    const peer = await LegacyPeer.connect({ peer: far }, { capabilities });
    const { taskId } = await peer.start('slow');
    await slow;
    await twice((signal) => peer.stream('tasks/result', { taskId }, { signal }));
    await twice((signal) =>
      peer.request('GET', { accept: 'text/event-stream', ...(seen && { 'last-event-id': seen }) }, signal),
    );
    const channel = await peer.channel();
    goOn();
    const { result } = await peer.send('tasks/result', { taskId });
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    await channel.first((message) => isStatus(message) && (message['params'] as Json)['status'] === 'completed');
    expect(await all()).toHaveLength(1);
  });

  it('costs no question [C-087]', async () => {
    const { far, reaches, peer: near } = await running('listen');
    const peer = await LegacyPeer.connect({ peer: far }, { capabilities });
    const { taskId } = await peer.start('asks');
    await reaches(taskId, 'input_required');
    await twice((signal) => peer.stream('tasks/result', { taskId }, { signal }));
    const reading = await peer.follow('tasks/result', { taskId });
    const { id } = await reading.first(isQuestion);
    expect(await peer.answer(String(id), accepted)).toBe(202);
    await reading.ended;
    expect(reading.seen.at(-1)).toMatchObject({ result: { content: [{ text: 'accept' }] } });
    expect((await near.get(taskId)).result).toMatchObject({ status: 'completed' });
  });

  it('costs a subscriber nothing: it is told how things stand [C-087]', async () => {
    const { far, slow } = await running('listen');
    const { taskId } = await far.start('slow');
    await slow;
    const params = { notifications: { taskIds: [taskId] } };
    await twice((signal) => far.stream('subscriptions/listen', params, { signal }));
    const stream = await listener(far, { taskIds: [taskId] });
    await stream.next();
    expect((await stream.next())?.['params']).toMatchObject({ taskId, status: 'working' });
  });
});

describe('a session that is not known', () => {
  it.each(['ended', 'made up', 'of another server'])(
    'since it is %s is answered 404, and one more is enough for all its tasks [C-088]',
    async (how) => {
      const { far, all, goOn } = await running('listen');
      const peer = await LegacyPeer.connect({ peer: far }, { capabilities });
      const ids: string[] = [];
      for (let n = 0; n < 20; n += 1) ids.push((await peer.start('slow')).taskId);
      const session = {
        ended: String(peer.sessionId),
        'made up': 'no-session',
        'of another server': String((await LegacyPeer.connect(await running('listen'))).sessionId),
      }[how];
      if (how === 'ended') expect((await peer.request('DELETE')).status).toBe(204);
      const lost = { 'mcp-session-id': String(session) };
      expect((await peer.request('GET', { accept: 'text/event-stream', ...lost })).status).toBe(404);
      expect((await peer.request('DELETE', lost)).status).toBe(404);
      const again = await LegacyPeer.connect({ peer: far }, { capabilities });
      for (const taskId of ids) {
        expect((await again.send('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'working' });
      }
      goOn();
      expect((await again.send('tasks/result', { taskId: ids[0] })).result).toMatchObject({
        content: [{ text: 'done' }],
      });
      expect(await all()).toHaveLength(20);
    },
  );
});
