import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTask, decodeTaskId, keepTask, keptTask } from '../../../src/wire/rev2025-11-25/index.ts';

const call = (params: unknown, method = 'tools/call') => ({ jsonrpc: '2.0', id: 1, method, params }) as const;
/** `params.task` as a tool's callback finds it, and what is left of the message. */
function arrived(params: Record<string, unknown>): { task: unknown; params: Record<string, unknown> } {
  const message = structuredClone(call(params));
  keepTask(message);
  const left = message.params as Record<string, unknown>;
  return { task: keptTask(left['_meta']), params: left };
}

describe('a wish for a task', () => {
  it.each([
    [{}, {}],
    [{ ttl: 60_000 }, { ttlMs: 60_000 }],
    [{ ttl: 1 }, { ttlMs: 1 }],
    [{ ttl: 1e12 }, { ttlMs: 1e12 }],
    [{ ttl: 1e300 }, { ttlMs: Number.MAX_SAFE_INTEGER }],
    [{ ttl: null }, { ttlMs: null }],
    [
      { ttl: 60_000, pollInterval: 500 },
      { ttlMs: 60_000, pollIntervalMs: 500 },
    ],
    [{ pollInterval: 0 }, {}],
    [{ pollInterval: -1 }, {}],
    [{ pollInterval: 1.5 }, {}],
    [{ pollInterval: 'often' }, {}],
    [{ pollInterval: null }, {}],
    [{ taskId: 'mine', keepAlive: 5, ttlMs: 5 }, {}],
  ])('is taken: %j', (task, wish) => {
    expect(decodeTask(task)).toEqual({ ok: true, value: wish });
  });

  it.each([[0], [-1], [1.5], ['60000'], ['soon'], [Number.NaN], [Number.POSITIVE_INFINITY], [true], [[60_000]], [{}]])(
    'is refused with a ttl of %j, naming the field [G2-S-52]',
    (ttl) => {
      expect(decodeTask({ ttl })).toEqual({
        ok: false,
        message: 'params.task.ttl: expected a whole number of milliseconds of at least 1',
      });
    },
  );

  it.each([[null], [true], ['yes'], [5], [[]]])('is refused when it is no object: %j', (task) => {
    expect(decodeTask(task)).toEqual({ ok: false, message: 'params.task: expected an object' });
  });

  it('of any kind never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.anything()), (value) => {
        for (const decoded of [decodeTask(value), decodeTask({ ttl: value, pollInterval: value })]) {
          if (!decoded.ok) continue;
          for (const number of Object.values(decoded.value)) {
            expect(number === null || (Number.isSafeInteger(number) && number >= 1)).toBe(true);
          }
        }
        keepTask(value);
        keepTask(call(value));
        keepTask(call({ _meta: value, task: value }));
        keptTask(value);
      }),
    );
  });
});

describe('the task of a call', () => {
  it.each([[{ ttl: 5 }], [{}], [null], ['yes']])(
    'reaches the tool through the SDK, which never sees it: %j',
    (task) => {
      const kept = arrived({ name: 't', arguments: { a: 1 }, _meta: { progressToken: 7 }, task });
      expect(kept.task).toEqual(task);
      expect(kept.params).toEqual({
        name: 't',
        arguments: { a: 1 },
        _meta: { progressToken: 7, 'longcall/task': task },
      });
      expect(arrived({ name: 't', task }).task).toEqual(task);
    },
  );

  it('is undefined where there is none, and leaves the call alone', () => {
    expect(arrived({ name: 't' })).toEqual({ task: undefined, params: { name: 't' } });
    const params = { name: 't', _meta: { progressToken: 7 } };
    expect(arrived(params)).toEqual({ task: undefined, params });
    expect(keptTask(undefined)).toBeUndefined();
    expect(keptTask(Object.create({ 'longcall/task': {} }))).toBeUndefined();
  });

  it('cannot be slipped in where it is kept', () => {
    expect(arrived({ name: 't', _meta: { 'longcall/task': { ttl: 1 } } }).task).toBeUndefined();
    expect(arrived({ name: 't', task: { ttl: 2 }, _meta: { 'longcall/task': { ttl: 1 } } }).task).toEqual({ ttl: 2 });
  });

  it('of other methods is left alone', () => {
    const params = { taskId: 't', task: { ttl: 1 } };
    const message = call(params, 'tasks/get');
    keepTask(message);
    expect(message).toEqual(call({ taskId: 't', task: { ttl: 1 } }, 'tasks/get'));
  });
});

describe('a request about a task', () => {
  it.each([
    [{ taskId: 'a' }],
    // The official SDK repeats the wish of the call.
    [{ taskId: 'a', task: { ttl: 60_000 } }],
    [{ taskId: 'a', task: 'junk' }],
    [{ taskId: 'a', _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'b' } } }],
  ])('means the task of its taskId, whatever else it says: %j [G2-S-33]', (params) => {
    expect(decodeTaskId(params)).toEqual({ ok: true, value: 'a' });
  });

  it.each([[undefined], [null], [{}], [{ taskId: 5 }], [{ taskId: null }], [{ task: { taskId: 'a' } }]])(
    'needs one: %j [G2-S-49] [G2-S-52]',
    (params) => {
      expect(decodeTaskId(params)).toEqual({ ok: false, message: 'params.taskId: expected a string' });
    },
  );
});
