import { describe, expect, it } from 'vitest';
import { isAnswer, isQuestion, isStatus, LegacyPeer, type Question } from '../server/legacy-peer.ts';
import { over, Peer } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';
import type { WireValidator } from '../support/wire-validator.ts';
import { validated } from './host.ts';
import { aPlace, listening, type Place, until } from './processes.ts';

// Sessions of 2025-11-25 over real sockets, with servers that die and servers that share a database.

const capabilities = { elicitation: { form: {} } };
const red = { result: { action: 'accept', content: { colour: 'red' } } };
const content = (text: string) => ({ content: [{ type: 'text', text }] });
const isOver = ({ params }: Json) => (params as Json)?.['status'] === 'completed';

const at = ({ url }: { url: string }, validator: WireValidator) => ({ peer: new Peer(over(url), validator) });
const ran = (place: Place, what: string) =>
  until(`${what} has run`, () => (place.ran().includes(what) ? true : undefined));

describe('over HTTP, a session of 2025-11-25', () => {
  it('survives its server: tasks, questions and all that it may be asked [G2-S-41] [C-030]', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const peer = await LegacyPeer.connect(at(first, validator), { capabilities });
    const asks = await peer.start('ask');
    const counts = await peer.start('count', { to: 3, waitAt: 2 }, { ttl: 3_600_000 });
    const stream = await peer.follow('tasks/result', { taskId: asks.taskId });
    const question = (await stream.first(isQuestion)) as Question;
    await ran(place, 'step 2');
    await first.kill();
    await stream.ended;
    place.go();
    const again = peer.on(at(await listening(place), validator));
    const waiting = await again.follow('tasks/result', { taskId: asks.taskId });
    expect(await waiting.first(isQuestion)).toEqual(question);
    expect(await again.answer(question.id, red)).toBe(202);
    expect((await waiting.first(isAnswer))['result']).toMatchObject(content('painted red'));
    const { taskId } = counts;
    expect((await again.send('tasks/result', { taskId })).result).toMatchObject(content('sum 6'));
    expect((await again.send('tasks/get', { taskId })).result).toMatchObject({
      status: 'completed',
      createdAt: counts['createdAt'],
    });
    expect(counts).toMatchObject({ ttl: 3_600_000 });
    // Started in it after the restart, a task can be asked for what the session once said it can do.
    again.onQuestion = () => red;
    const { taskId: fresh } = await again.start('ask');
    expect((await again.send('tasks/result', { taskId: fresh })).result).toMatchObject(content('painted red'));
  });

  it('is served by any server of its database, and answers where it likes [C-074]', async () => {
    const place = aPlace();
    const validator = validated();
    const [one, two] = await Promise.all([listening(place), listening(place)]);
    const here = await LegacyPeer.connect(at(one, validator), { capabilities });
    const there = here.on(at(two, validator));
    const { taskId } = await here.start('ask');
    const stream = await here.follow('tasks/result', { taskId });
    const question = (await stream.first(isQuestion)) as Question;
    expect((await there.send('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
    expect(await there.answer(question.id, red)).toBe(202);
    expect((await stream.first(isAnswer))['result']).toMatchObject(content('painted red'));
    expect((await there.send('tasks/result', { taskId })).result).toMatchObject(content('painted red'));
  });

  it('that hangs up has cancelled nothing, and is asked again under the same id [G2-S-69]', async () => {
    const place = aPlace();
    const peer = await LegacyPeer.connect(at(await listening(place), validated()), { capabilities });
    const { taskId } = await peer.start('ask');
    const leave = new AbortController();
    const stream = await peer.follow('tasks/result', { taskId }, leave.signal);
    const question = (await stream.first(isQuestion)) as Question;
    leave.abort();
    await stream.ended;
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
    const next = await peer.follow('tasks/result', { taskId });
    expect(await next.first(isQuestion)).toEqual(question);
    await peer.answer(question.id, red);
    expect((await next.first(isAnswer))['result']).toMatchObject(content('painted red'));
  });

  it('hears of its tasks, and of what they ask, on its channel [G2-S-35] [C-070]', async () => {
    const peer = await LegacyPeer.connect(at(await listening(aPlace()), validated()), { capabilities });
    const channel = await peer.channel();
    const { taskId } = await peer.start('ask');
    const question = (await channel.first(isQuestion)) as Question; // After two polls, here a tenth of a second.
    await peer.answer(question.id, red);
    await channel.first((message) => isStatus(message) && isOver(message));
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject(content('painted red'));
    expect((await peer.request('DELETE')).status).toBe(204);
    await channel.ended;
    expect((await peer.send('tasks/get', { taskId })).status).toBe(404);
  });
});
