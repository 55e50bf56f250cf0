import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/index.ts';
import {
  cancelledRequest,
  decodeTaskIds,
  encodeListenCancelled,
  encodeListenResult,
  encodeResourceUpdated,
  encodeTask,
  encodeTaskPush,
  grantedBy,
  isListenRequest,
  readListen,
  serverInfoOf,
  subscriptionOf,
  withTasksGranted,
} from '../../../src/wire/rev2026-07-28/index.ts';
import { notification, request } from '../../support/messages.ts';
import { createWireValidator } from '../../support/wire-validator.ts';
import { record } from './records.ts';

const hostile = fc.oneof(fc.jsonValue(), fc.anything());
const isTask = (uri: string) => uri.startsWith('longcall://tasks/');
const listen = (notifications: unknown, capabilities?: JsonObject) =>
  request(40, 'subscriptions/listen', { notifications }, capabilities);
const acknowledgement = (notifications: JsonObject) =>
  notification('notifications/subscriptions/acknowledged', {
    notifications,
    _meta: { 'io.modelcontextprotocol/subscriptionId': 40 },
  });

/** A validator that knows of a subscription to this task. */
function subscribed(taskId: string) {
  const validator = createWireValidator();
  validator.observeRequest(listen({ taskIds: [taskId], resourceSubscriptions: ['longcall://tasks/1'] }));
  const granted = { taskIds: [taskId], uris: ['longcall://tasks/1'] };
  validator.checkOutgoing(withTasksGranted(acknowledgement({}), granted));
  return validator;
}

describe('whatever a store holds', () => {
  it('is legal as a push, and equal to what tasks/get would answer [G3-S-44] [G3-S-84]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const now = task.createdAt + later;
        const push = JSON.parse(JSON.stringify(encodeTaskPush(task, now, 40))) as JsonObject & { params: JsonObject };
        subscribed(task.taskId).checkOutgoing(push);
        const { resultType, _meta, ...answer } = JSON.parse(JSON.stringify(encodeTask(task, now))) as JsonObject;
        expect(resultType).toBe('complete');
        expect(push.params).toEqual({
          ...answer,
          _meta: { ...(_meta as JsonObject | undefined), 'io.modelcontextprotocol/subscriptionId': 40 },
        });
      }),
    );
  });
});

describe('whatever a peer sends', () => {
  it('is read or not, and never throws', () => {
    fc.assert(
      fc.property(hostile, hostile, (value, other) => {
        const shaped = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: value };
        for (const message of [
          value,
          shaped,
          listen(value),
          listen({ taskIds: value, resourceSubscriptions: other }),
        ]) {
          readListen(message, isTask);
          isListenRequest(message);
          subscriptionOf(message);
          grantedBy(message);
          cancelledRequest(message);
          serverInfoOf(message);
        }
        expect(decodeTaskIds(value as never, 10)).toHaveProperty('ok');
      }),
    );
  });
});

describe('a listen request', () => {
  it('is parted into what is ours and what is not', () => {
    const asked = { toolsListChanged: true, resourceSubscriptions: ['app://a', 'longcall://tasks/1'], later: { x: 1 } };
    const message = listen({ ...asked, taskIds: ['b', 'a', 'b'] });
    const read = readListen(message, isTask);
    expect(read).toMatchObject({ id: 40, taskIds: ['b', 'a', 'b'], uris: ['longcall://tasks/1'], declared: true });
    expect(read?.rest).toEqual(listen({ ...asked, resourceSubscriptions: ['app://a'] }));
    expect(decodeTaskIds(read?.taskIds, 3)).toEqual({ ok: true, value: ['b', 'a'] });
    expect(message).toEqual(listen({ ...asked, taskIds: ['b', 'a', 'b'] })); // It is left as it was.
    expect(readListen(listen({ taskIds: [] }, {}), isTask)).toMatchObject({ taskIds: undefined, declared: false });
  });

  it.each([
    [listen(5)],
    [listen([])],
    [{ jsonrpc: '2.0', method: 'subscriptions/listen', params: { notifications: { taskIds: ['a'] } } }],
    [{ ...listen({ taskIds: ['a'] }), method: 'tools/list' }],
    [{ ...listen({ taskIds: ['a'] }), id: 1.5 }],
  ])('is none: %j', (message) => {
    expect(readListen(message, isTask)).toBeUndefined();
  });

  it('names ids of a length that an id can have', () => {
    expect(decodeTaskIds(['x'.repeat(1_025), 'a', ''], 3)).toEqual({ ok: true, value: ['a', ''] });
    expect(decodeTaskIds(['a', 'a'], 1)).toMatchObject({ ok: false });
    expect(decodeTaskIds(undefined, 1)).toEqual({ ok: true, value: [] });
  });
});

describe('what is sent on a subscription', () => {
  it('is legal from the first word to the last [G3-S-83] [G3-S-84] [G3-S-86]', () => {
    const validator = subscribed('a');
    validator.checkOutgoing(encodeResourceUpdated('longcall://tasks/1', 40));
    validator.checkOutgoing(encodeListenCancelled(40));
    const result = encodeListenResult(40, { name: 'a', version: '1' });
    validator.checkOutgoing(result);
    expect(serverInfoOf(result)).toEqual({ name: 'a', version: '1' });
    expect(encodeListenResult('s', undefined)).toEqual({
      jsonrpc: '2.0',
      id: 's',
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 's' } },
    });
  });

  it('grants tasks beside what else is granted [G3-S-45]', () => {
    const others = { toolsListChanged: true, resourceSubscriptions: ['app://a'] };
    const granted = (what: Parameters<typeof withTasksGranted>[1]) =>
      grantedBy(withTasksGranted(acknowledgement(others), what));
    expect(granted({ taskIds: undefined, uris: [] })).toEqual(others);
    expect(granted({ taskIds: [], uris: ['longcall://tasks/1'] })).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['app://a', 'longcall://tasks/1'],
      taskIds: [],
    });
  });

  it('says which subscription it is for', () => {
    expect(subscriptionOf(acknowledgement({}))).toBe(40);
    expect(subscriptionOf(encodeListenResult('s', undefined))).toBe('s');
    expect(subscriptionOf(notification('notifications/progress', {}))).toBeUndefined();
    expect(cancelledRequest(notification('notifications/cancelled', { requestId: 'r' }))).toBe('r');
    expect(cancelledRequest(notification('notifications/cancelled', {}))).toBeUndefined();
  });
});
