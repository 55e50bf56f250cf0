import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Asked,
  decodeAnswer,
  decodeQuestionId,
  encodeQuestion,
  encodeQuestionId,
} from '../../../src/wire/rev2025-11-25/index.ts';
import { Seal } from '../../../src/wire/seal.ts';
import { schemaProblems } from '../../spec/schemas.ts';
import { record } from '../rev2026-07-28/records.ts';

const ada = { subject: 'ada' };
const seal = new Seal(new Uint8Array(32).fill(3));
const related = { 'io.modelcontextprotocol/related-task': { taskId: 'tsk_1' } };
const form: Asked = {
  kind: 'form',
  message: 'Which codec?',
  schema: { type: 'object', properties: { codec: { type: 'string' } }, required: ['codec'] },
};
const url: Asked = { kind: 'url', message: 'Sign in', url: 'https://example.test/in' };
const messages = [{ role: 'user', content: { type: 'text', text: 'Summarise' } }];
const sampling: Asked = { kind: 'sampling', params: { messages, maxTokens: 100, _meta: { 'x/y': 1 }, task: {} } };

function problems(asked: Asked): unknown {
  const request = encodeQuestion('tsk_1', 'e1', asked);
  const definition = request.method === 'elicitation/create' ? 'ElicitRequest' : 'CreateMessageRequest';
  const message = { jsonrpc: '2.0', id: encodeQuestionId('tsk_1', 'q', ada, seal), ...request };
  return schemaProblems('core-2025-11-25', definition, JSON.parse(JSON.stringify(message)));
}

describe('a question', () => {
  it('that a store holds is legal as a request [G2-S-19] [G2-S-32]', () => {
    fc.assert(
      fc.property(record, ({ state }) => {
        if (state.status !== 'input_required') return;
        for (const question of Object.values(state.inputRequests)) {
          expect(problems(question)).toEqual([]);
          expect(encodeQuestion('tsk_1', 'e1', question).params._meta).toEqual(related);
        }
      }),
    );
  });

  it('with a form is tied to its task [G2-S-19]', () => {
    expect(encodeQuestion('tsk_1', 'e1', form)).toEqual({
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Which codec?', requestedSchema: form.schema, _meta: related },
    });
  });

  it('behind a URL is tied to its task [G2-S-19]', () => {
    expect(problems(url)).toEqual([]);
    expect(encodeQuestion('tsk_1', 'e1', url)).toEqual({
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Sign in', url: 'https://example.test/in', elicitationId: 'e1', _meta: related },
    });
  });

  it('to a model is tied to its task, keeps its own _meta, and never asks for a task of the client [G2-S-19]', () => {
    expect(problems(sampling)).toEqual([]);
    expect(encodeQuestion('tsk_1', 'e1', sampling)).toEqual({
      method: 'sampling/createMessage',
      params: { messages, maxTokens: 100, _meta: { 'x/y': 1, ...related } },
    });
  });
});

describe('an answer', () => {
  it.each<[Asked['kind'], unknown, unknown]>([
    ['form', { action: 'accept', content: { codec: 'av1' } }, { action: 'accept', content: { codec: 'av1' } }],
    [
      'form',
      { action: 'accept', content: { a: 1.5, b: ['x'] }, _meta: related },
      { action: 'accept', content: { a: 1.5, b: ['x'] } },
    ],
    ['form', { action: 'accept' }, { action: 'accept', content: {} }],
    ['form', { action: 'decline', content: { a: 1 } }, { action: 'decline' }],
    ['form', { action: 'cancel' }, { action: 'cancel' }],
    ['url', { action: 'accept' }, { action: 'accept', content: {} }],
    ['url', { action: 'accept', content: { token: 'x' } }, { action: 'accept', content: {} }],
    ['url', { action: 'decline' }, { action: 'decline' }],
  ])('to a question by %s is taken: %j', (kind, result, answer) => {
    expect(decodeAnswer(kind, { result })).toEqual({ ok: true, value: answer });
  });

  it('of a model is taken as it is, without what ties it to the task', () => {
    const message = { role: 'assistant', content: { type: 'text', text: 'ok' }, model: 'm', stopReason: 'endTurn' };
    expect(decodeAnswer('sampling', { result: { ...message, _meta: related } })).toEqual({
      ok: true,
      value: { action: 'accept', content: message },
    });
  });

  it.each<[Asked['kind'], unknown, string]>([
    ['form', undefined, 'result: expected an object'],
    ['form', 'yes', 'result: expected an object'],
    ['form', {}, "action: expected 'accept', 'decline' or 'cancel'"],
    ['form', { action: 'maybe' }, "action: expected 'accept', 'decline' or 'cancel'"],
    ['form', { task: { taskId: 'theirs' } }, "action: expected 'accept', 'decline' or 'cancel'"],
    ['form', { action: 'accept', content: [] }, 'content: expected an object'],
    ['form', { action: 'accept', content: null }, 'content: expected an object'],
    ['url', {}, "action: expected 'accept', 'decline' or 'cancel'"],
    ['sampling', { action: 'accept', content: {} }, "role: expected 'user' or 'assistant'"],
    ['sampling', { role: 'assistant', content: {} }, 'model: expected a string'],
    ['sampling', { role: 'assistant', model: 'm', content: 'ok' }, 'content: expected a block, or a list of blocks'],
  ])('to a question by %s that makes no sense is none: %j', (kind, result, message) => {
    expect(decodeAnswer(kind, { result })).toEqual({ ok: false, message });
  });

  it.each<[Asked['kind'], number, unknown]>([
    ['form', -1, { ok: true, value: { action: 'decline' } }],
    ['form', -32601, { ok: true, value: { action: 'cancel' } }],
    ['url', -32603, { ok: true, value: { action: 'cancel' } }],
    ['sampling', -1, { ok: true, value: { action: 'decline' } }],
    ['sampling', -32601, { ok: false, message: 'no', error: { code: -32601, message: 'no' } }],
  ])('to a question by %s may be the error %i', (kind, code, answer) => {
    expect(decodeAnswer(kind, { error: { code, message: 'no' } })).toEqual(answer);
  });

  it('of any kind never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.anything()),
        fc.constantFrom('form', 'url', 'sampling'),
        (value, kind) => {
          expect(decodeAnswer(kind, { result: value })).toHaveProperty('ok');
          expect(decodeAnswer(kind, { error: value })).toHaveProperty('ok');
          expect(decodeQuestionId(value, ada, seal)).toBeUndefined();
        },
      ),
    );
  });
});

describe('the id of a question', () => {
  it('is the same each time, and says which question it is to whoever shares the seal', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (taskId, key) => {
        const id = encodeQuestionId(taskId, key, ada, seal);
        const elsewhere = new Seal(new Uint8Array(32).fill(3));
        expect(encodeQuestionId(taskId, key, ada, elsewhere)).toBe(id);
        expect(decodeQuestionId(id, ada, elsewhere)).toEqual({ taskId, key });
      }),
    );
  });

  it('cannot be made up, read, or changed', () => {
    const id = encodeQuestionId('tsk_1', 'q', ada, seal);
    expect(Buffer.from(id.slice(3), 'base64url').toString('latin1')).not.toContain('tsk_1');
    for (const other of [id.slice(0, -1), `${id}A`, id.slice(3), 's-1', 1, null, `lc-${'A'.repeat(40)}`]) {
      expect(decodeQuestionId(other, ada, seal)).toBeUndefined();
    }
    expect(decodeQuestionId(id, ada, new Seal(new Uint8Array(32).fill(4)))).toBeUndefined();
  });

  it('is none to anybody but its principal', () => {
    const id = encodeQuestionId('tsk_1', 'q', ada, seal);
    for (const other of [{ subject: 'bob' }, { subject: 'ada', tenant: 'acme' }]) {
      expect(decodeQuestionId(id, other, seal)).toBeUndefined();
    }
  });
});
