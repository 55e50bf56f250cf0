import { describe, expect, it } from 'vitest';
import { errorResponse, type Json, notification, question, request, response, withTasks } from './messages.ts';
import { createWireValidator, type WireValidator } from './wire-validator.ts';

const taskId = '4mUe0m0kS2u8p7cQ1n9dVg';

describe('answers about one task', () => {
  const first = {
    taskId,
    createdAt: '2026-08-01T08:00:00.000Z',
    lastUpdatedAt: '2026-08-01T08:00:01.000Z',
    ttlMs: 9000,
  };
  const later = { ...first, lastUpdatedAt: '2026-08-01T08:00:02.000Z' };
  const result = (text: string) => ({ resultType: 'complete', content: [{ type: 'text', text }] });
  const waiting = (key: string, message: string) => ({
    status: 'input_required',
    inputRequests: { [key]: question(message) },
  });

  it('may tell a whole life', () => {
    const validator = createWireValidator();
    call(validator, { ...first, status: 'working' });
    get(validator, { ...first, ...waiting('q1', 'Codec?') });
    get(validator, {
      ...later,
      status: 'input_required',
      inputRequests: { q1: question('Codec?'), q2: question('Size?') },
    });
    get(validator, { ...later, ...waiting('q2', 'Size?'), ttlMs: 10_000 });
    get(validator, { ...later, status: 'completed', result: result('done'), ttlMs: null });
    get(validator, { ...later, status: 'completed', result: result('done'), ttlMs: null });
    validator.assertClean();
    expect(validator.checked).toBe(6);
  });

  it.each<[rule: string, before: Json, after: Json, refusal: string]>([
    [
      'another creation',
      { status: 'working' },
      { status: 'working', createdAt: '2026-08-01T07:59:59.000Z' },
      '/createdAt',
    ],
    ['an earlier update', { ...later, status: 'working' }, { ...first, status: 'working' }, 'must not go back'],
    ['a shorter life', { status: 'working' }, { status: 'working', ttlMs: 8999 }, '/ttlMs: must not shrink'],
    ['a bounded life', { status: 'working', ttlMs: null }, { status: 'working' }, '/ttlMs: must not shrink from null'],
    ['work after the end', { status: 'cancelled' }, { ...later, status: 'working' }, '/status: must stay cancelled'],
    [
      'another result',
      { status: 'completed', result: result('done') },
      { status: 'completed', result: result('undone') },
      '/result: must not change',
    ],
    [
      'another error',
      { status: 'failed', error: { code: -32603, message: 'broken' } },
      { status: 'failed', error: { code: -32602, message: 'broken' } },
      '/error: must not change',
    ],
    ['another question under its key', waiting('q1', 'Codec?'), waiting('q1', 'Size?'), '/q1: must denote the request'],
  ])('are refused: %s', (_, before, after, refusal) => {
    const validator = createWireValidator();
    get(validator, { ...first, ...before });
    expect(() => get(validator, { ...first, ...after })).toThrow(refusal);
  });

  it('are refused: a key that comes back', () => {
    const validator = createWireValidator();
    get(validator, { ...first, ...waiting('q1', 'Codec?') });
    get(validator, { ...later, status: 'working' });
    expect(() => get(validator, { ...later, ...waiting('q1', 'Codec?') })).toThrow('/q1: must not come back');
  });

  it.each<[undeclared: string, capabilities: Json, request: Json]>([
    ['elicitation', {}, question('Codec?')],
    ['elicitation.url', { elicitation: {} }, question('Where?', 'url')],
    ['elicitation.form', { elicitation: { url: {} } }, question('Codec?')],
    ['sampling', { elicitation: {} }, { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }],
    ['roots', { elicitation: {} }, { method: 'roots/list' }],
  ])('are refused: a question to a client without %s', (undeclared, capabilities, request) => {
    const validator = createWireValidator();
    const extensions = withTasks.extensions;
    call(validator, { ...first, status: 'working' }, { ...capabilities, extensions });
    const task = { ...first, status: 'input_required', inputRequests: { q: request } };
    expect(() => get(validator, task)).toThrow(`the client did not declare ${undeclared}`);
  });

  it('may overtake each other on their way', () => {
    const validator = createWireValidator();
    const [slow, fast] = [validator.connection(), validator.connection()];
    slow.observeRequest(request(1, 'tasks/get', { taskId }));
    fast.observeRequest(request(1, 'tasks/get', { taskId }));
    fast.checkOutgoing(response(1, { resultType: 'complete', ...later, status: 'completed', result: result('done') }));
    slow.checkOutgoing(response(1, { resultType: 'complete', ...first, ...waiting('q1', 'Codec?') }));
    validator.assertClean();
  });

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('are refused to a %s that did not opt in', (method) => {
    const validator = createWireValidator();
    validator.observeRequest(request(1, method, { taskId }, {}));
    const answer = method === 'tasks/get' ? { ...first, status: 'working' } : {};
    expect(() => validator.checkOutgoing(response(1, { resultType: 'complete', ...answer }))).toThrow(
      'must be error -32021',
    );
  });

  it('are refused: a handle to a call that did not opt in', () => {
    const validator = createWireValidator();
    expect(() => call(validator, { ...first, status: 'working' }, {})).toThrow('must be no handle');
  });
});

describe('an answer to a malformed request', () => {
  it.each([{ id: 1 }, { jsonrpc: '2.0', id: 1, method: 7 }, { jsonrpc: '1.0', id: 1, method: 'x', params: [] }])(
    'may name its id, but only in an error: %j',
    (malformed) => {
      const validator = createWireValidator();
      validator.observeRequest(malformed, '2026-07-28');
      validator.checkOutgoing(errorResponse(1, { code: -32600, message: 'no' }));
      validator.assertClean();
      validator.observeRequest(malformed, '2026-07-28');
      expect(() => validator.checkOutgoing(response(1, { resultType: 'complete' }))).toThrow('must be an error');
    },
  );
});

describe('notifications', () => {
  const progress = (token: unknown, value: number) =>
    notification('notifications/progress', { progressToken: token, progress: value });
  const asking = request(1, 'tools/call', { name: 't' }, withTasks, { progressToken: 'p' });

  it('may tell the progress of an open request, upwards', () => {
    const validator = createWireValidator();
    validator.observeRequest(asking);
    validator.checkOutgoing(progress('p', 1));
    expect(() => validator.checkOutgoing(progress('p', 1))).toThrow('must rise above 1');
    expect(() => validator.checkOutgoing(progress('q', 1))).toThrow('must be the token of an open request');
    validator.checkOutgoing(response(1, { resultType: 'complete', content: [] }));
    expect(() => validator.checkOutgoing(progress('p', 2))).toThrow('must be the token of an open request');
  });

  it('may log for a request that asked for it', () => {
    const log = notification('notifications/message', { level: 'info', data: 'encoding' });
    const validator = createWireValidator();
    validator.observeRequest(asking);
    expect(() => validator.checkOutgoing(log)).toThrow('must be asked for');
    validator.observeRequest(request(2, 'tools/call', {}, withTasks, { 'io.modelcontextprotocol/logLevel': 'info' }));
    expect(() => validator.checkOutgoing(log)).not.toThrow();
  });

  const stream = { 'io.modelcontextprotocol/subscriptionId': 'l' };
  const acknowledge = (granted: Json, _meta: Json = stream) =>
    notification('notifications/subscriptions/acknowledged', { _meta, notifications: granted });
  const push = (more: Json = {}) =>
    notification('notifications/tasks', {
      ...{ _meta: stream, taskId, status: 'working', ttlMs: null },
      ...{ createdAt: '2026-08-01T08:00:00.000Z', lastUpdatedAt: '2026-08-01T08:00:00.000Z' },
      ...more,
    });
  const listen = (validator: WireValidator) =>
    validator.observeRequest(request('l', 'subscriptions/listen', { notifications: { taskIds: [taskId] } }));

  it('may push what a listen stream was granted', () => {
    const validator = createWireValidator();
    listen(validator);
    validator.checkOutgoing(acknowledge({ taskIds: [taskId] }));
    validator.checkOutgoing(push());
    validator.checkOutgoing(response('l', { resultType: 'complete', _meta: stream }));
    expect(() => validator.checkOutgoing(push())).toThrow('must name an open listen request');
  });

  it.each<[rule: string, sent: Json[], refusal: string]>([
    ['a push before the acknowledgement', [push()], 'must not come before the acknowledgement'],
    ['a second acknowledgement', [acknowledge({}), acknowledge({})], 'must come once'],
    ['a grant nobody asked for', [acknowledge({ toolsListChanged: true })], 'must grant no more'],
    ['a grant of another task', [acknowledge({ taskIds: [taskId, 'other'] })], 'must grant no more'],
    ['an acknowledgement of nothing', [acknowledge({}, {})], 'must name an open listen request'],
    [
      'a push of another task',
      [acknowledge({ taskIds: [taskId] }), push({ taskId: 'other' })],
      'must have been granted',
    ],
    ['a push that was not granted', [acknowledge({}), push()], 'must have been granted'],
    [
      'a push with a result type',
      [acknowledge({ taskIds: [taskId] }), push({ resultType: 'complete' })],
      '/resultType',
    ],
    [
      'a push back in time',
      [acknowledge({ taskIds: [taskId] }), push({ status: 'cancelled' }), push()],
      'must stay cancelled',
    ],
    [
      'progress',
      [notification('notifications/progress', { _meta: stream, progressToken: 'p', progress: 1 })],
      'listen stream',
    ],
    [
      'cancelling a call',
      [notification('notifications/cancelled', { requestId: 1 })],
      'must be an open listen request',
    ],
  ])('are refused on a listen stream: %s', (_, sent, refusal) => {
    const validator = createWireValidator();
    validator.observeRequest(asking);
    listen(validator);
    const last = sent.pop();
    for (const message of sent) validator.checkOutgoing(message);
    expect(() => validator.checkOutgoing(last)).toThrow(refusal);
  });
});

describe('a session of 2025-11-25', () => {
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  const initialized = response(0, {
    protocolVersion: '2025-11-25',
    capabilities: {},
    serverInfo: { name: 's', version: '1' },
  });

  it('gets plain results and may be asked', () => {
    const validator = createWireValidator();
    validator.observeRequest(initialize);
    validator.checkOutgoing(initialized);
    validator.observeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } });
    validator.checkOutgoing({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
    validator.checkOutgoing(response(1, { content: [] }));
    validator.assertClean();
  });

  it.each<[rule: string, result: Json, refusal: string]>([
    ['a result type', { content: [], resultType: 'complete' }, '/resultType: must be absent'],
    ['server info', { content: [], _meta: { 'io.modelcontextprotocol/serverInfo': {} } }, 'must not hold'],
    [
      'structured content that is a list',
      { content: [], structuredContent: [1] },
      '/structuredContent: must be object',
    ],
    ['no content', {}, "must have required property 'content'"],
  ])('is refused %s', (_, result, refusal) => {
    const validator = createWireValidator();
    validator.observeRequest(initialize);
    validator.checkOutgoing(initialized);
    validator.observeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } });
    expect(() => validator.checkOutgoing(response(1, result))).toThrow(refusal);
  });

  it('gets a handle only where it asked for a task', () => {
    const validator = createWireValidator();
    validator.observeRequest(initialize);
    validator.checkOutgoing(initialized);
    validator.observeRequest({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } });
    const task = { taskId, status: 'working', createdAt: '', lastUpdatedAt: '', ttl: null };
    expect(() => validator.checkOutgoing(response(1, { task }))).toThrow('must be no handle');
  });
});

function call(validator: WireValidator, task: Json, capabilities: Json = withTasks): void {
  validator.observeRequest(request(1, 'tools/call', { name: 't' }, capabilities));
  validator.checkOutgoing(response(1, { resultType: 'task', ...task }));
}

function get(validator: WireValidator, task: Json): void {
  validator.observeRequest(request(1, 'tasks/get', { taskId }));
  validator.checkOutgoing(response(1, { resultType: 'complete', ...task }));
}
