import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  declaredCapabilities,
  decodeAnswers,
  decodeTaskId,
  earlierRounds,
  keepResponses,
} from '../../../src/wire/rev2026-07-28/index.ts';

const asked = (...keys: string[]) =>
  new Map(keys.map((key) => [key, { kind: 'form', message: '?', schema: {} } as const]));

const hostile = fc.oneof(fc.jsonValue(), fc.anything());
/** Params as the SDK hands them on: `inputResponses` is gone by then. */
function arrived(params: unknown): unknown {
  const message = { jsonrpc: '2.0', id: 1, method: 'tasks/update', params };
  keepResponses(message);
  if (typeof message.params !== 'object' || message.params === null) return message.params;
  const { inputResponses: _taken, ...left } = message.params as Record<string, unknown>;
  return left;
}
const update = (inputResponses: unknown, ...open: string[]) =>
  decodeAnswers(arrived({ taskId: 't', inputResponses }), asked(...open));

describe('whatever a peer sends', () => {
  it('is decoded or refused, and never throws', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        expect(decodeTaskId(value)).toHaveProperty('ok');
        expect(declaredCapabilities(value)).toMatchObject({ tasks: expect.any(Boolean) });
        expect(update(value, 'a', '__proto__', 'constructor')).toHaveProperty('ok');
        expect(decodeAnswers(value, asked('a'))).toHaveProperty('ok');
        keepResponses(value);
      }),
    );
  });

  it('under an open key, too', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const decoded = update({ a: value }, 'a');
        if (decoded.ok) expect(['accept', 'decline', 'cancel']).toContain(decoded.value.get('a')?.action);
      }),
    );
  });
});

describe('a task id', () => {
  it.each([[undefined], [null], [5], [['t']], [{}]])('must be a string: %j [G3-S-48]', (taskId) => {
    expect(decodeTaskId({ taskId })).toEqual({ ok: false, message: 'params.taskId: expected a string' });
  });

  it('that is too long to be ours is one that does not exist [C-010]', () => {
    expect(decodeTaskId({ taskId: 'x'.repeat(10_240) })).toEqual({ ok: true, value: '' });
    expect(decodeTaskId({ taskId: 'x'.repeat(1_024) })).toEqual({ ok: true, value: 'x'.repeat(1_024) });
  });
});

describe('answers', () => {
  it.each([
    [
      { action: 'accept', content: { a: 1 } },
      { action: 'accept', content: { a: 1 } },
    ],
    [{ action: 'decline', content: { a: 1 } }, { action: 'decline' }],
    [{ action: 'cancel' }, { action: 'cancel' }],
    [
      { action: 'accept', content: {}, _meta: {}, method: 'x', result: 'x' },
      { action: 'accept', content: {} },
    ],
  ])('are taken: %j', (given, taken) => {
    expect(update({ q: given }, 'q')).toEqual({ ok: true, value: new Map([['q', taken]]) });
  });

  it.each([
    [null, 'inputResponses.q: expected an elicitation result'],
    ['yes', 'inputResponses.q: expected an elicitation result'],
    [[], 'inputResponses.q: expected an elicitation result'],
    [{}, "inputResponses.q: action: expected 'accept', 'decline' or 'cancel'"],
    [{ action: 'maybe' }, "inputResponses.q: action: expected 'accept', 'decline' or 'cancel'"],
    [{ action: 'accept' }, 'inputResponses.q: content: expected an object'],
    [{ action: 'accept', content: [] }, 'inputResponses.q: content: expected an object'],
    [{ method: 'elicitation/create', result: { action: 'accept', content: {} } }, 'inputResponses.q: action'],
  ])('under an open key are refused: %j', (given, message) => {
    const decoded = update({ q: given }, 'q');
    expect(decoded.ok).toBe(false);
    expect(decoded).toHaveProperty('message', expect.stringContaining(message));
  });

  it.each([[undefined], [null], [5], ['x'], [[]]])('must come in an object, not %j', (responses) => {
    expect(update(responses, 'q')).toEqual({ ok: false, message: 'params.inputResponses: expected an object' });
  });

  it('under any other key are not looked at [G3-S-35]', () => {
    const given = JSON.parse('{"old":5,"__proto__":{"q":{"action":"cancel"}},"constructor":null}');
    expect(update(given, 'q')).toEqual({ ok: true, value: new Map() });
  });

  it('are found under a key called __proto__', () => {
    const given = JSON.parse('{"__proto__":{"action":"cancel"}}');
    expect(update(given, '__proto__')).toEqual({ ok: true, value: new Map([['__proto__', { action: 'cancel' }]]) });
  });

  it('cannot be slipped in where they are kept', () => {
    const params = { taskId: 't', 'longcall/inputResponses': { q: { action: 'cancel' } } };
    expect(decodeAnswers(arrived(params), asked('q'))).toMatchObject({ ok: false });
  });

  it('of other methods are left alone', () => {
    const message = { method: 'tools/call', params: { inputResponses: {} } };
    keepResponses(message);
    expect(message).toEqual({ method: 'tools/call', params: { inputResponses: {} } });
  });
});

describe('declared capabilities', () => {
  const extension = (value: unknown) => ({ extensions: { 'io.modelcontextprotocol/tasks': value } });

  it.each([[{}], [{ later: { setting: 1 } }]])('know tasks with an object, such as %j', (value) => {
    expect(declaredCapabilities(extension(value)).tasks).toBe(true);
  });

  it.each([[null], [true], [[]], ['yes'], [1]])('do not with %j', (value) => {
    expect(declaredCapabilities(extension(value)).tasks).toBe(false);
  });

  it.each([
    [undefined],
    [{}],
    [{ tasks: { requests: { tools: { call: {} } } } }],
    [{ extensions: {} }],
    [{ extensions: Object.create({ 'io.modelcontextprotocol/tasks': {} }) }],
  ])('do not without a member of that name: %j [G3-S-66]', (capabilities) => {
    expect(declaredCapabilities(capabilities).tasks).toBe(false);
  });

  it.each([
    [undefined, false],
    [true, false],
    [{}, true],
    [{ form: {} }, true],
    [{ form: {}, url: {} }, true],
    [{ url: {} }, false],
  ])('show a form with elicitation %j: %s [G3-S-30]', (elicitation, form) => {
    expect(declaredCapabilities({ elicitation }).abilities).toMatchObject({ form });
  });
});

describe('earlier rounds of a call', () => {
  it('are handed on as the SDK has them: the state as it came, or as the server verified it', () => {
    const answers = { name: { action: 'cancel' } };
    expect(earlierRounds({ inputResponses: answers, requestState: () => 's' })).toEqual({ answers, state: 's' });
    expect(earlierRounds({ requestState: () => ({ n: 1 }) })).toEqual({ answers: undefined, state: { n: 1 } });
    expect(earlierRounds({ requestState: () => undefined })).toEqual({ answers: undefined, state: undefined });
  });
});
