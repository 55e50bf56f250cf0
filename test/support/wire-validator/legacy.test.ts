import { describe, expect, it } from 'vitest';
import { type Json, request, response } from '../messages.ts';
import { createWireValidator } from '../wire-validator.ts';

// What the validator says about tasks of 2025-11-25 beyond the schemas.

const RELATED = 'io.modelcontextprotocol/related-task';
const at = '2026-03-01T08:00:00.000Z';
const task = { taskId: 't', status: 'working', createdAt: at, lastUpdatedAt: at, ttl: null, pollInterval: 1_000 };

/** What is wrong with this answer to this request. */
function problem(method: string, params: Json, result: Json, version = '2025-11-25'): string {
  const validator = createWireValidator();
  validator.observeRequest({ jsonrpc: '2.0', id: 1, method, params }, version);
  return caught(() => validator.checkOutgoing(response(1, result)));
}

function caught(act: () => void): string {
  try {
    act();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the validator, at 2025-11-25', () => {
  it('wants the task of a result named, and only there', () => {
    const params = { taskId: 't' };
    const payload = { content: [], _meta: { [RELATED]: { taskId: 't' } } };
    expect(problem('tasks/result', params, payload)).toBe('');
    expect(problem('tasks/result', params, { content: [] })).toContain('must name the task');
    expect(problem('tasks/result', { taskId: 'u' }, payload)).toContain('must name the task');
    expect(problem('tasks/get', params, task)).toBe('');
    expect(problem('tasks/get', params, { ...task, _meta: payload._meta })).toContain('once more');
    expect(problem('tasks/get', { taskId: 'u' }, task)).toContain('the one asked for');
    expect(problem('tasks/cancel', params, task)).toContain('must be cancelled already');
    expect(problem('tasks/list', {}, { tasks: [task], _meta: payload._meta })).toContain('once more');
  });

  it('wants no trace of tasks at earlier versions', () => {
    const version = '2025-06-18';
    const hello = { protocolVersion: version, capabilities: { tasks: {} }, serverInfo: { name: 's', version: '1' } };
    const tool = { name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } };
    expect(problem('initialize', {}, hello, version)).toContain('/capabilities/tasks');
    expect(problem('tools/list', {}, { tools: [tool] }, version)).toContain('execution');
    expect(problem('tasks/get', { taskId: 't' }, task, version)).toContain('has none');
    const validator = createWireValidator();
    validator.observeRequest({ jsonrpc: '2.0', id: 1, method: 'ping' }, version);
    const status = { jsonrpc: '2.0', method: 'notifications/tasks/status', params: task };
    expect(caught(() => validator.checkOutgoing(status))).toContain('must not be about tasks');
    const params = { message: 'Go?', requestedSchema: { type: 'object', properties: {} } };
    const asked = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params };
    expect(caught(() => validator.checkOutgoing(asked))).toBe('');
    const related = { ...asked, params: { ...params, _meta: { [RELATED]: { taskId: 't' } } } };
    expect(caught(() => validator.checkOutgoing(related))).toContain('must not be about tasks');
  });
});

describe('the validator, for a client that moved to 2026-07-28', () => {
  it('takes the words of 2025-11-25 for what was made there, and only if the client knows them', () => {
    const answer = (capabilities: Json, result: Json): string => {
      const validator = createWireValidator();
      validator.observeRequest(request(1, 'tasks/get', { taskId: 't' }, capabilities));
      return caught(() => validator.checkOutgoing(response(1, result)));
    };
    const complete = { resultType: 'complete', ...task };
    expect(answer({ tasks: {} }, complete)).toBe('');
    expect(answer({ tasks: {} }, task)).toContain('/resultType');
    expect(answer({}, complete)).toContain('-32021');
    expect(answer({ tasks: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }, complete)).toContain('ttlMs');
  });
});
