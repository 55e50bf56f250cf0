import { describe, expect, it } from 'vitest';
import type { Json } from '../support/messages.ts';
import { validated } from './host.ts';
import { LegacyStdioPeer } from './legacy-stdio-peer.ts';
import { aPlace, type Place, until } from './processes.ts';

// Tasks of 2025-11-25 over real pipes: one stream for everything, a client that is told unasked.

const RELATED = 'io.modelcontextprotocol/related-task';
const STATUS = 'notifications/tasks/status';
const ASK = 'elicitation/create';
const capabilities = { elicitation: { form: {} } };
const red = { result: { action: 'accept', content: { colour: 'red' } } };
const content = (text: string) => ({ content: [{ type: 'text', text }] });

const connect = (place: Place = aPlace()) => LegacyStdioPeer.connect(place, validated(), { capabilities });
const ran = (place: Place, what: string) =>
  until(`${what} has run`, () => (place.ran().includes(what) ? true : undefined));

describe('over stdio, a client of 2025-11-25', () => {
  it('starts, follows, and fetches a task [G2-S-01] [G2-S-08] [G2-S-28] [G2-S-35] [G2-S-37] [G2-S-38]', async () => {
    const place = aPlace();
    const host = await connect(place);
    expect(host.hello['capabilities']).toMatchObject({
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    const extra = { task: { ttl: 3_600_000 }, _meta: { progressToken: 'mine' } };
    const taskId = await host.start('count', { to: 3, waitAt: 2 }, extra);
    await ran(place, 'step 2');
    expect((await host.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working', ttl: 3_600_000 });
    const waiting = host.send('tasks/result', { taskId });
    await host.nth('notifications/progress');
    place.go();
    const { result } = await waiting;
    expect(result).toMatchObject({ ...content('sum 6'), _meta: { [RELATED]: { taskId } } });
    await host.told(taskId, 'completed');
    for (const { params } of host.all('notifications/progress')) {
      expect(params).toMatchObject({ progressToken: 'mine', _meta: { [RELATED]: { taskId } } });
    }
    expect((await host.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId, status: 'completed' }] });
    const answered = host.peer.messages.findIndex(({ result: payload }) => payload === result);
    const after = host.peer.messages.slice(answered + 1);
    expect(after.filter(({ method }) => method === 'notifications/progress')).toEqual([]);
  });

  it('is told of errors as 2025-11-25 has them [G2-S-30] [G2-S-43] [G2-S-49] [G2-S-55]', async () => {
    const host = await connect();
    const broken = await host.start('broken');
    expect((await host.send('tasks/result', { taskId: broken })).error).toEqual({
      code: -32050,
      message: 'the projector broke',
      data: { reel: 3 },
    });
    const report = await host.start('report');
    const { result } = await host.send('tasks/result', { taskId: report });
    expect(result).toMatchObject({ ...content('no such film'), isError: true });
    expect(await host.told(report, 'failed')).toMatchObject({ params: { statusMessage: 'no such film' } });
    expect((await host.send('tasks/cancel', { taskId: report })).error).toMatchObject({ code: -32602 });
    expect((await host.send('tasks/get', { taskId: 'unknown' })).error).toMatchObject({ code: -32602 });
    expect((await host.call('must')).error).toMatchObject({ code: -32601 });
    expect((await host.call('greet', { name: 'Ada' }, { task: {} })).error).toMatchObject({ code: -32601 });
    expect((await host.call('greet', { name: 'Ada' })).result).toEqual(content('hello Ada'));
  });

  it('cancels by tasks/cancel, and by nothing else [G2-S-44] [G2-S-45] [G2-S-48]', async () => {
    const place = aPlace();
    const host = await connect(place);
    const taskId = await host.start('wait');
    await ran(place, 'wait');
    for (const requestId of [host.lastId, taskId, 'never was']) {
      host.notify('notifications/cancelled', { requestId, reason: 'AbortError: The operation was aborted.' });
    }
    expect((await host.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
    expect(place.ran()).toEqual(['wait']);
    const { result } = await host.send('tasks/cancel', { taskId });
    expect(result).toMatchObject({ taskId, status: 'cancelled' });
    await ran(place, 'stopped');
    await host.told(taskId, 'cancelled');
    expect((await host.send('tasks/get', { taskId })).result).toEqual(result);
  });
});

describe('over stdio, a question', () => {
  it('is asked at once, though nobody waits for the result [G2-S-18] [G2-S-19] [G2-S-20] [C-070]', async () => {
    const host = await connect();
    const taskId = await host.start('ask');
    const question = await host.nth(ASK);
    expect(question['params']).toMatchObject({ message: 'Which colour?', _meta: { [RELATED]: { taskId } } });
    host.answer(question['id'], red);
    await host.told(taskId, 'completed');
    expect((await host.send('tasks/result', { taskId })).result).toMatchObject(content('painted red'));
    const statuses = host.all(STATUS).map(({ params }) => (params as Json)['status']);
    expect(statuses.filter((status, n) => status !== statuses[n - 1])).toEqual([
      'input_required',
      'working',
      'completed',
    ]);
  });

  it('is asked once, however many wait for the result [G2-S-68]', async () => {
    const host = await connect();
    const taskId = await host.start('ask');
    const waiting = [1, 2, 3].map(() => host.send('tasks/result', { taskId }));
    const question = await host.nth(ASK);
    expect((await host.send('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
    host.answer(question['id'], red);
    host.answer(question['id'], { result: { action: 'cancel' } });
    for (const { result } of await Promise.all(waiting)) expect(result).toMatchObject(content('painted red'));
    expect(host.all(ASK)).toHaveLength(1);
  });

  it('answered with nonsense is asked again, under its id, when somebody comes for the result', async () => {
    const host = await connect();
    const taskId = await host.start('ask');
    const { id } = await host.nth(ASK);
    for (const nonsense of [{ result: {} }, { result: { action: 'accept', content: { colour: 7 } } }]) {
      host.answer(id, nonsense);
    }
    expect((await host.send('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
    const waiting = host.send('tasks/result', { taskId });
    expect((await host.nth(ASK, 2))['id']).toBe(id);
    host.answer(id, red);
    expect((await waiting).result).toMatchObject(content('painted red'));
  });

  it('outlives its server, under its id: the answer may come to the next one [G2-S-17] [C-030]', async () => {
    const place = aPlace();
    const first = await connect(place);
    const taskId = await first.start('ask');
    const { id } = await first.nth(ASK);
    await first.peer.server.kill();
    const second = await connect(place);
    expect((await second.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId, status: 'input_required' }] });
    const waiting = second.send('tasks/result', { taskId });
    expect((await second.nth(ASK))['id']).toBe(id);
    second.answer(id, red);
    expect((await waiting).result).toMatchObject(content('painted red'));
  });

  it('is withdrawn when its task is cancelled', async () => {
    const host = await connect();
    const taskId = await host.start('ask');
    const { id } = await host.nth(ASK);
    await host.send('tasks/cancel', { taskId });
    expect((await host.nth('notifications/cancelled'))['params']).toMatchObject({ requestId: id });
    host.answer(id, red);
    expect((await host.send('tasks/get', { taskId })).result).toMatchObject({ status: 'cancelled' });
  });
});

describe('over stdio, a client of an earlier version', () => {
  it.each(['2025-06-18', '2024-11-05'])('of %s sees no trace of tasks [G2-S-06] [C-015]', async (version) => {
    const place = aPlace();
    const tasks = { requests: { tools: { call: {} } } };
    const host = await LegacyStdioPeer.connect(place, validated(), { version, capabilities: { tasks } });
    expect(host.hello).toMatchObject({ protocolVersion: version });
    expect(host.hello['capabilities']).not.toHaveProperty('tasks');
    for (const tool of (await host.send('tools/list')).result['tools'] as Json[]) {
      expect(tool).not.toHaveProperty('execution');
    }
    expect((await host.call('must', {}, { task: {} })).result).toEqual(content('done as a task'));
    expect((await host.call('count', { to: 3 }, { task: {} })).result).toMatchObject(content('sum 6'));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
      expect((await host.send(method, { taskId: 'x' })).error).toMatchObject({ code: -32601 });
    }
    expect(host.all(STATUS)).toEqual([]);
  });
});
