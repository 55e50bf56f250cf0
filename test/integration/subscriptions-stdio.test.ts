import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Json } from '../support/messages.ts';
import { overStdio, validated } from './host.ts';
import { aPlace, type Place, until } from './processes.ts';
import { StdioPeer } from './stdio-peer.ts';

const anything = z.looseObject({});
const methodOf = (message: Json) => message['method'] ?? ('result' in message ? 'result' : 'error');
const paramsOf = (message: Json) => (message['params'] ?? {}) as Json;

/** A client that writes lines, what came for one of its subscriptions, and a task that waits for an answer. */
async function listening(place: Place = aPlace()) {
  const peer = new StdioPeer(place, validated());
  const { result } = await peer.call('ask');
  const taskId = String(result['taskId']);
  const of = (id: unknown) =>
    peer.messages.filter((message) => {
      const meta = (paramsOf(message)['_meta'] ?? {}) as Json;
      return message['id'] === id || meta['io.modelcontextprotocol/subscriptionId'] === id;
    });
  const listen = (id: unknown, notifications: Json, capabilities?: Json) => {
    const message = peer.request('subscriptions/listen', { notifications }, capabilities);
    peer.write({ ...message, id });
  };
  const told = (id: unknown, status: string) =>
    until(`${String(id)} is told: ${status}`, () => of(id).find((message) => paramsOf(message)['status'] === status));
  return { peer, taskId, of, listen, told };
}

describe('over stdio, a subscription to a task', () => {
  it('is told from question to result, and ends [G3-S-43] [G3-S-45] [G3-S-83] [G3-S-84] [G3-S-86]', async () => {
    const { peer, taskId, of, listen, told } = await listening();
    listen('l', { taskIds: [taskId, 'nobody'] });
    await told('l', 'input_required');
    await peer.send('tasks/update', {
      taskId,
      inputResponses: { colour: { action: 'accept', content: { colour: 'red' } } },
    });
    const done = await told('l', 'completed');
    const { result: task } = await peer.send('tasks/get', { taskId });
    const { resultType: _type, _meta: _who, ...members } = task;
    const { _meta: _for, ...pushed } = paramsOf(done);
    expect(pushed).toEqual(members);
    const last = await until('the result', () => of('l').find((message) => 'result' in message));
    expect(of('l').at(-1)).toBe(last);
    expect(of('l').map(methodOf)[0]).toBe('notifications/subscriptions/acknowledged');
    expect(paramsOf(of('l')[0]!)['notifications']).toEqual({ taskIds: [taskId] });
  });

  it('ends with its server: cancelled, then its result, then the stream [G3-S-86]', async () => {
    const { peer, taskId, of, listen, told } = await listening();
    listen('l', { taskIds: [taskId] });
    listen('m', { taskIds: [taskId] });
    await told('l', 'input_required');
    await told('m', 'input_required');
    peer.server.child.kill('SIGTERM');
    await peer.server.ended;
    for (const id of ['l', 'm']) expect(of(id).slice(-2).map(methodOf)).toEqual(['notifications/cancelled', 'result']);
  });

  it('ends when the client takes it back', async () => {
    const { peer, taskId, of, listen, told } = await listening();
    listen('l', { taskIds: [taskId] });
    await told('l', 'input_required');
    const before = of('l').length;
    peer.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'l' } });
    listen('m', { taskIds: [taskId] });
    await told('m', 'input_required');
    await peer.send('tasks/cancel', { taskId });
    await told('m', 'cancelled');
    expect(of('l')).toHaveLength(before);
  });

  it('needs the extension [G3-S-46]', async () => {
    const { taskId, of, listen } = await listening();
    listen('l', { taskIds: [taskId] }, {});
    const [refused] = await until('an answer', () => (of('l').length > 0 ? of('l') : undefined));
    expect(refused).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } } },
    });
  });

  it('outlives the worker that began the task, and hears of what others do [C-023]', async () => {
    const place = aPlace();
    const { taskId, listen, told } = await listening(place);
    listen('l', { taskIds: [taskId] });
    await told('l', 'input_required');
    const other = new StdioPeer(place, validated()); // Another process on the same database.
    await other.send('tasks/cancel', { taskId });
    await told('l', 'cancelled');
  });
});

describe('over stdio, the official client', () => {
  it('listens to a task without polling it [G3-S-43] [G3-S-44] [G3-S-84]', async () => {
    const host = await overStdio(aPlace(), validated());
    const { taskId } = await host.start('ask');
    const seen: Json[] = [];
    host.client.setNotificationHandler('notifications/tasks', { params: anything }, (params) => {
      seen.push(params as Json);
    });
    type Filter = Parameters<typeof host.client.listen>[0];
    const subscription = await host.client.listen({ taskIds: [taskId] } as Filter);
    await until('the question', () => seen.find(({ status }) => status === 'input_required'));
    await host.update(taskId, { colour: { action: 'accept', content: { colour: 'blue' } } });
    expect(await subscription.closed).toBe('graceful');
    // What comes in one piece with the end, the SDK tells its handlers a moment after it.
    const last = await until('the end of the task', () => seen.find(({ status }) => status === 'completed'));
    expect(last).toMatchObject({ taskId, result: { content: [{ type: 'text', text: 'painted blue' }] } });
    expect(seen.at(-1)).toBe(last);
    const other = await host.start('ask');
    const second = await host.client.listen({ taskIds: [other.taskId] } as Filter);
    await second.close();
    expect(await second.closed).toBe('local');
  });
});
