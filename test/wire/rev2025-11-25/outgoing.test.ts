import { describe, expect, it } from 'vitest';
import { encodeQuestion, forVersion } from '../../../src/wire/rev2025-11-25/index.ts';

const OLDER = ['2025-06-18', '2025-03-26', '2024-11-05', undefined];
const schema = { type: 'object', properties: {} };
const question = {
  jsonrpc: '2.0',
  id: 'lc-1',
  ...encodeQuestion('t', 'lc-1', { kind: 'form', message: 'Go?', schema }),
};
const status = { jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 't' } };
const list = { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a', execution: { taskSupport: 'optional' } }, 7] } };
const hello = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 1,
  result: { protocolVersion, capabilities: { tools: {}, tasks: { list: {} } } },
});

describe('a message to a session of 2025-11-25', () => {
  it.each([[question], [status], [list], [hello('2025-11-25')], ['text']])('leaves as it is', (message) => {
    expect(forVersion(message, '2025-11-25')).toBe(message);
  });
});

describe.each(OLDER)('a message to a session of %s', (version) => {
  it('says nothing of tasks [G2-S-06]', () => {
    expect(forVersion(status, version)).toBeUndefined();
    expect(forVersion(list, version)).toEqual({ ...list, result: { tools: [{ name: 'a' }, 7] } });
    expect(forVersion(hello(version ?? '2025-06-18'), version)).toMatchObject({
      result: { capabilities: { tools: {} } },
    });
    expect(JSON.stringify(forVersion(hello(version ?? '2025-06-18'), version))).not.toContain('tasks');
  });

  it('asks as it was done then', () => {
    expect(forVersion(question, version)).toEqual({
      jsonrpc: '2.0',
      id: 'lc-1',
      method: 'elicitation/create',
      params: { message: 'Go?', requestedSchema: schema },
    });
    const more = {
      ...question,
      params: { ...question.params, _meta: { ...(question.params['_meta'] as object), mine: 1 } },
    };
    expect(forVersion(more, version)).toMatchObject({ params: { _meta: { mine: 1 } } });
  });

  it('of any other kind leaves as it is', () => {
    for (const message of [
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', method: 'notifications/progress' },
      7,
    ]) {
      expect(forVersion(message, version)).toEqual(message);
    }
  });
});
