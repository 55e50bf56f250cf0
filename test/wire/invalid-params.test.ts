import { describe, expect, it } from 'vitest';
import { withInvalidParams } from '../../src/wire/invalid-params.ts';

const answer = (message: string, code = -32603) => ({ jsonrpc: '2.0', id: 1, error: { code, message } });
const issue = (path: unknown[], message = 'Invalid input') => ({ code: 'invalid_type', path, message });

describe('params that the SDK could not read', () => {
  it('are invalid params, named with what was expected', () => {
    const issues = [issue(['params', 'capabilities', 'tasks'], 'expected object'), issue(['params', 'list', 0])];
    expect(withInvalidParams(answer(JSON.stringify(issues, null, 2)))).toEqual(
      answer('params.capabilities.tasks: expected object; params.list.0: Invalid input', -32602),
    );
  });

  it('are told in the same way where the SDK has the right code', () => {
    const message = `Invalid tools/call request: ${JSON.stringify([issue(['params', 'name'])])}`;
    expect(withInvalidParams(answer(message, -32602))).toEqual(answer('params.name: Invalid input', -32602));
  });

  it('are told of in a few words, however many are wrong', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => issue(['params', n]));
    const { error } = withInvalidParams(answer(JSON.stringify(many)));
    expect(error.message).toBe('params.0: Invalid input; params.1: Invalid input; params.2: Invalid input');
  });

  it.each([
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }],
    ['another internal error', answer('Internal error')],
    ['an error of another code', answer(JSON.stringify([issue(['params'])]), -32602)],
    ['text that begins like a list', answer('[the projector broke]')],
    ['an empty list', answer('[]')],
    ['a list of something else', answer('[1, {"path":["params"]}, {"message":"x"}]')],
    ['what a handler validated itself', answer(JSON.stringify([issue(['name'])]))],
    ['no message at all', undefined],
  ])('are not %s', (_, message) => {
    expect(withInvalidParams(message ?? {})).toEqual(message ?? {});
  });
});
