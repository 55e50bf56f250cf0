import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onSdkV1 } from '../../server/binding.ts';
import { isAnswer, isQuestion, isStatus, LegacyPeer, type Question } from '../../server/legacy-peer.ts';
import { over, Peer } from '../../server/peer.ts';
import type { Json } from '../../support/messages.ts';
import type { WireValidator } from '../../support/wire-validator.ts';
import { validated } from '../host.ts';
import { aPlace, listening, type Place, until } from '../processes.ts';

// Servers of the SDK's version 1 under Express, with sockets that break and processes that die.

onSdkV1();

const capabilities = { elicitation: { form: {} } };
const red = { result: { action: 'accept', content: { colour: 'red' } } };
const content = (text: string) => ({ content: [{ type: 'text', text }] });
const isOver = ({ params }: Json) => (params as Json)?.['status'] === 'completed';
const ran = (place: Place, what: string) =>
  until(`${what} has run`, () => (place.ran().includes(what) ? true : undefined));

/** The server as its client of this name sees it. */
function as(name: string, { url }: { url: string }, validator: WireValidator) {
  const fetch = over(url);
  const signed = (request: Request) => {
    request.headers.set('authorization', `Bearer ${name}`);
    return fetch(request);
  };
  return { peer: new Peer(signed, validator) };
}

describe('under Express, on the SDK v1', () => {
  it('users see their own tasks in whichever session, and nothing of those of others [G2-S-41] [G2-S-57] [C-061]', async () => {
    const server = await listening(aPlace());
    const validator = validated();
    const ann = await LegacyPeer.connect(as('ann', server, validator), { capabilities });
    const bob = await LegacyPeer.connect(as('bob', server, validator), { capabilities });
    const { taskId } = await ann.start('ask');
    const foreign = await bob.send('tasks/get', { taskId });
    expect(foreign.error).toEqual({ code: -32602, message: 'Task not found' });
    expect((await bob.send('tasks/list')).result).toEqual({ tasks: [] });
    const again = await LegacyPeer.connect(as('ann', server, validator), { capabilities });
    expect((await again.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId }] });
    again.onQuestion = () => red;
    expect((await again.send('tasks/result', { taskId })).result).toMatchObject(content('painted red'));
  });

  it('who knows the id of a session is not who began it: nothing is told to him, or about him', async () => {
    const server = await listening(aPlace());
    const validator = validated();
    const ann = await LegacyPeer.connect(as('ann', server, validator), { capabilities });
    const thief = ann.on(as('bob', server, validator));
    const listens = await thief.channel();
    const { taskId } = await ann.start('quick');
    const own = await thief.start('quick');
    expect((await thief.send('tasks/get', { taskId })).error).toMatchObject({ code: -32602 });
    expect((await thief.send('tasks/result', { taskId: own.taskId })).result).toMatchObject(content('done'));
    expect((await ann.send('tasks/result', { taskId })).result).toMatchObject(content('done'));
    expect((await ann.request('DELETE')).status).toBe(200);
    await listens.ended;
    expect(listens.seen).toEqual([]);
  });

  it('nobody is known without a token: there is no list, and the id is all it takes', async () => {
    const server = await listening(aPlace());
    const peer = await LegacyPeer.connect({ peer: new Peer(over(server.url), validated()) });
    expect((peer.hello['capabilities'] as Json)['tasks']).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    const { taskId } = await peer.start('quick');
    expect((await peer.send('tasks/list')).error.code).toBe(-32601);
    const other = LegacyPeer.stateless({ peer: new Peer(over(server.url), validated()) }, '2025-11-25');
    expect((await other.send('tasks/result', { taskId })).result).toMatchObject(content('done'));
  });

  it('a session is told of its tasks on its channel, and asked there once its stream is gone [G2-S-35] [C-070]', async () => {
    const place = aPlace();
    const server = await listening(place);
    const peer = await LegacyPeer.connect(as('ann', server, validated()), { capabilities });
    const channel = await peer.channel();
    const { taskId } = await peer.start('ask');
    const leave = new AbortController();
    const stream = await peer.follow('tasks/result', { taskId }, leave.signal);
    const question = (await stream.first(isQuestion)) as Question;
    leave.abort(); // As long as it stands, the question is asked there and nowhere else.
    const again = (await channel.first(isQuestion)) as Question;
    expect(again).toEqual(question);
    await peer.answer(question.id, red);
    await channel.first((message) => isStatus(message) && isOver(message));
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject(content('painted red'));
  });

  it('tasks outlive a kill -9 of the server: the same user finds them in a new session [C-030] [C-032]', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const before = await LegacyPeer.connect(as('ann', first, validator), { capabilities });
    const counts = await before.start('count', { to: 3, waitAt: 2 }, { ttl: 3_600_000 });
    const asks = await before.start('ask');
    const stream = await before.follow('tasks/result', { taskId: asks.taskId });
    const question = (await stream.first(isQuestion)) as Question;
    await ran(place, 'step 2');
    await first.kill();
    place.go();
    const second = await listening(place);
    const lost = before.on(as('ann', second, validator));
    expect((await lost.request('GET', { accept: 'text/event-stream' })).status).toBe(404);
    const after = await LegacyPeer.connect(as('ann', second, validator), { capabilities });
    const waiting = await after.follow('tasks/result', { taskId: asks.taskId });
    expect(((await waiting.first(isQuestion)) as Question).id).toBe(question.id);
    await after.answer(question.id, red);
    expect((await waiting.first(isAnswer))['result']).toMatchObject(content('painted red'));
    const { taskId } = counts;
    expect((await after.send('tasks/result', { taskId })).result).toMatchObject(content('sum 6'));
    expect(place.ran().filter((what) => what === 'step 1')).toHaveLength(1);
    expect((await after.send('tasks/get', { taskId })).result).toMatchObject({ createdAt: counts['createdAt'] });
  });

  it("serves the SDK's own client by its API for tasks", async () => {
    const place = aPlace();
    place.go();
    const { url } = await listening(place);
    const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: {}, tasks: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { colour: 'red' } }));
    const fetch = validated().wrapFetch((input: string | URL, init?: RequestInit) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', 'Bearer ann');
      return globalThis.fetch(input, { ...init, headers });
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }) as never);
    onTestFinished(() => client.close());
    await client.listTools();
    const { tasks } = client.experimental;
    const kinds = async (name: string, args = {}) => {
      const seen: string[] = [];
      let last: unknown;
      for await (const message of tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: {} })) {
        seen.push(message.type);
        last = 'result' in message ? message.result : message;
      }
      return { first: seen[0], last };
    };
    const sum = { ...content('sum 6'), structuredContent: { sum: 6 } };
    expect(await kinds('count', { to: 3 })).toMatchObject({ first: 'taskCreated', last: sum });
    expect(await kinds('ask')).toMatchObject({ first: 'taskCreated', last: content('painted red') });
    expect(await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toEqual(content('hello Ada'));
    expect(await client.callTool({ name: 'quick' })).toEqual(content('done'));
    expect((await tasks.listTasks()).tasks.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'completed',
    ]);
  });
});
