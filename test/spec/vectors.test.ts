import { describe, expect, it } from 'vitest';
import { errorResponse, type Json, question, request, response } from '../support/messages.ts';
import { createWireValidator, type WireValidator, WireViolationError } from '../support/wire-validator.ts';
import { schemaProblems } from './schemas.ts';
import { type Vector, vectors } from './vectors/2026-07-28.ts';

const serverMessages = vectors.filter(({ from }) => from === 'server');

describe('the message of each kind', () => {
  it.each(vectors)('is valid by its schema: $name', ({ schema, definition, member, message }) => {
    expect(schemaProblems(schema, definition, member ? message[member] : message)).toEqual([]);
  });

  it.each(serverMessages)('may be sent by a server: $name', ({ message }) => {
    const validator = validatorReadyFor(message);
    expect(() => validator.checkOutgoing(message)).not.toThrow();
    validator.assertClean();
    expect(validator.checked).toBeGreaterThan(0);
  });

  it.each(serverMessages.filter(({ message }) => 'id' in message))(
    'answers one request, once: $name',
    ({ message }) => {
      const unasked = /must be the id of an open request/;
      expect(() => createWireValidator().checkOutgoing(message)).toThrow(unasked);
      const validator = validatorReadyFor(message);
      validator.checkOutgoing(message);
      expect(() => validator.checkOutgoing(message)).toThrow(unasked);
    },
  );
});

describe('a task handle', () => {
  const task = {
    taskId: 'Zt3mX0q5c1v8QwLr2yHk9A',
    status: 'working',
    createdAt: '2026-03-01T08:00:00.000Z',
    lastUpdatedAt: '2026-03-01T08:00:00.000Z',
  };
  const flat = response(1, { ...task, resultType: 'task', ttlMs: 600000 });
  const nested = response(1, { task: { ...task, ttl: 600000 } });
  const modernCall = requestFor(vectorNamed('handle').message);
  const legacyCall = { ...modernCall, params: { name: 'render_video', task: { ttl: 600000 } } };

  it.each<[shape: string, revision: string, call: Json, handle: Json]>([
    ['flat', '2026-07-28', modernCall, flat],
    ['nested', '2025-11-25', legacyCall, nested],
  ])('that is %s is right at %s [C-004]', (_, revision, call, handle) => {
    const validator = createWireValidator();
    validator.observeRequest({ ...call, id: 1 }, revision);
    validator.checkOutgoing(handle);
    validator.assertClean();
  });

  it.each<[shape: string, revision: string, call: Json, handle: Json]>([
    ['nested', '2026-07-28', modernCall, nested],
    ['flat', '2025-11-25', legacyCall, flat],
    ['nested', '2025-06-18', legacyCall, nested],
    ['flat', '2025-06-18', legacyCall, flat],
  ])('that is %s is wrong at %s [C-004]', (_, revision, call, handle) => {
    const validator = createWireValidator();
    validator.observeRequest({ ...call, id: 1 }, revision);
    expect(() => validator.checkOutgoing(handle)).toThrow();
    expect(() => validator.assertClean()).toThrow();
  });
});

describe('a message that breaks a rule', () => {
  // Each starts from a good message and spoils one thing, named by where it is refused.
  const spoiled: [rule: string, vector: string, change: Json, refusal: string][] = [
    ['a timestamp in local time', 'handle', { createdAt: '2026-08-01T10:00:00+02:00' }, '/createdAt: must be an ISO'],
    ['a timestamp in epoch milliseconds', 'handle', { lastUpdatedAt: 1785571200000 }, '/lastUpdatedAt: must be an ISO'],
    ['a day that is none', 'handle', { createdAt: '2026-02-30T08:00:00.000Z' }, '/createdAt: must be an ISO'],
    ['an update before the creation', 'handle', { lastUpdatedAt: '2026-07-01T08:00:00.000Z' }, 'before createdAt'],
    ['a time to live of 0', 'handle', { ttlMs: 0 }, '/ttlMs: must be null or'],
    ['a negative time to live', 'task that waits', { ttlMs: -1 }, '/ttlMs: must be null or'],
    ['a fractional time to live', 'pushed status', { ttlMs: 0.5 }, '/ttlMs: must be null or'],
    ['no time to live', 'handle', { ttlMs: undefined }, '/ttlMs: must be null or'],
    ['a poll interval of 0', 'handle', { pollIntervalMs: 0 }, '/pollIntervalMs: must be an integer'],
    ['a fractional poll interval', 'task that waits', { pollIntervalMs: 1.5 }, '/pollIntervalMs: must be an integer'],
    ['the old name ttl', 'handle', { ttl: 900000 }, '/ttl: must be absent'],
    ['the old name pollInterval', 'task that waits', { pollInterval: 2000 }, '/pollInterval: must be absent'],
    ['an unknown status', 'handle', { status: 'queued' }, '/status: must be one of'],
    ['no id', 'handle', { taskId: '' }, '/taskId: must be a string'],
    ['another id than asked for', 'task that waits', { taskId: 'another' }, '/taskId: must be the one asked for'],
    ['a result in the handle', 'handle', { result: {} }, '/result: must be absent from a handle'],
    ['an error in the handle', 'handle', { error: {} }, '/error: must be absent from a handle'],
    ['questions in the handle', 'handle', { inputRequests: {} }, '/inputRequests: must be absent from a handle'],
    ['content in the handle', 'handle', { content: [] }, '/content: must be absent from a handle'],
    ['a nested task', 'handle', { task: {} }, '/task: must be absent'],
    ['request state in the handle', 'handle', { requestState: 's' }, '/requestState: must be absent'],
    ['request state on get', 'task that waits', { requestState: 's' }, '/requestState: must be absent'],
    [
      'a failed task with a result',
      'task that failed',
      { result: {} },
      '/result: must be absent while the status is failed',
    ],
    [
      'a completed task with an error',
      'task that ended with an error result',
      { error: {} },
      '/error: must be absent while',
    ],
    ['a waiting task with a result', 'task that waits', { result: {} }, '/result: must be absent while'],
    [
      'a failed task without a reason',
      'task that failed',
      { error: { code: 1, message: '' } },
      'must say what happened',
    ],
    [
      'a fractional error code',
      'task that failed',
      { error: { code: 1.5, message: 'm' } },
      '/error/code: must be integer',
    ],
    [
      'a waiting task without a question',
      'task that waits',
      { inputRequests: {} },
      'must hold what the task waits for',
    ],
    [
      'a question with an id',
      'task that waits',
      { inputRequests: { q: { ...question('Codec?'), id: 1 } } },
      '/q/id: must be absent',
    ],
    [
      'a question of another kind',
      'task that waits',
      { inputRequests: { q: { method: 'tools/call' } } },
      '/q/method: must be',
    ],
    ['a question of no kind', 'task that waits', { inputRequests: { q: 'codec?' } }, '/q: must be a request'],
    [
      'resultType "task" on get',
      'task that waits',
      { resultType: 'task' },
      '/resultType: must be complete for tasks/get',
    ],
    ['resultType "task" on update', 'acknowledgement', { resultType: 'task' }, '/resultType: must be complete'],
    [
      'resultType "input_required" on get',
      'task that waits',
      { resultType: 'input_required' },
      '/resultType: must be complete',
    ],
    [
      'an unknown resultType',
      'handle',
      { resultType: 'later' },
      '/resultType: must be complete or input_required or task',
    ],
    ['no resultType on a handle', 'handle', { resultType: undefined }, "must have required property 'resultType'"],
    ['no resultType on get', 'task that waits', { resultType: undefined }, "must have required property 'resultType'"],
    [
      'no resultType on discover',
      'discover result',
      { resultType: undefined },
      "must have required property 'resultType'",
    ],
    ['a status in an acknowledgement', 'acknowledgement', { status: 'working' }, '/status: must be absent: an acknow'],
    ['an id in an acknowledgement', 'acknowledgement', { taskId: 't' }, '/taskId: must be absent: an acknowledgement'],
    [
      'an empty question before the task',
      'question before the task',
      { inputRequests: undefined, requestState: undefined },
      'must have inputRequests or requestState',
    ],
    [
      'a task id before the task',
      'question before the task',
      { taskId: 't' },
      '/taskId: must be absent: there is no task',
    ],
    [
      'capabilities of 2025-11-25',
      'discover result',
      { capabilities: { tasks: {} } },
      '/capabilities/tasks: must be absent',
    ],
    [
      'settings of the extension',
      'discover result',
      { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': { list: {} } } } },
      'must be an empty object',
    ],
    [
      'no cache scope on discover',
      'discover result',
      { cacheScope: undefined },
      "must have required property 'cacheScope'",
    ],
    [
      'a listen stream that ends for another',
      'end of the subscription',
      { _meta: { 'io.modelcontextprotocol/subscriptionId': 41 } },
      'must be the id of the listen request',
    ],
  ];

  it.each(spoiled)('is refused: %s', (_, name, change, refusal) => {
    const { message } = vectorNamed(name);
    const holder = 'result' in message ? 'result' : 'params';
    expectRefusal({ ...message, [holder]: { ...(message[holder] as Json), ...change } }, refusal);
  });

  const ended = 'task that ended with an error result';
  const inlined: [rule: string, change: Json, refusal: string][] = [
    [
      'the related-task key',
      { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } },
      'related-task: must be absent',
    ],
    [
      'its first form',
      { _meta: { 'modelcontextprotocol.io/related-task': { taskId: 't' } } },
      'related-task: must be absent',
    ],
    ['no resultType', { resultType: undefined }, '/result/resultType: must be "complete"'],
    ['resultType "task"', { resultType: 'task' }, '/result/resultType: must be "complete"'],
    ['no content', { content: undefined }, "/result: must have required property 'content'"],
    ['content that is none', { content: [{ type: 'text' }] }, '/result/content/0: must'],
  ];

  it('is refused: a task with something else for a result', () => {
    const { message } = vectorNamed(ended);
    const result = { ...(message['result'] as Json), result: 'done' };
    expectRefusal({ ...message, result }, '/result/result: must be the result of the call');
  });

  it.each(inlined)('is refused: %s in the result of a task', (_, change, refusal) => {
    const { message } = vectorNamed(ended);
    const result = message['result'] as Json;
    const changed = { ...result, result: { ...(result['result'] as Json), ...change } };
    expectRefusal({ ...message, result: changed }, refusal);
    const pushed = vectorNamed('pushed status').message;
    expectRefusal({ ...pushed, params: { ...(pushed['params'] as Json), result: changed.result } }, refusal);
  });

  const errors: [rule: string, error: Json, refusal: string][] = [
    ['-32021 without data', { code: -32021, message: 'no' }, "/error: must have required property 'data'"],
    ['-32022 without versions', { code: -32022, message: 'no', data: {} }, "must have required property 'supported'"],
    ['a missing message', { code: -32602 }, "/error: must have required property 'message'"],
    ['an empty message', { code: -32602, message: '' }, '/error/message: must say what is wrong'],
    ['the number -32003', { code: -32003, message: 'no' }, '/error/code: must be a code of 2026-07-28'],
    ['the number -32042', { code: -32042, message: 'no' }, '/error/code: must be a code of 2026-07-28'],
  ];

  it.each(errors)('is refused: an error with %s', (_, error, refusal) => {
    expectRefusal({ ...vectorNamed('missing capability').message, error }, refusal);
  });

  it('is refused: -32021 on a task method that names another capability', () => {
    const data = { requiredCapabilities: { sampling: {} } };
    const error = { code: -32021, message: 'no', data };
    expectRefusal(errorResponse(34, error), 'must name the tasks extension');
  });

  it.each<[rule: string, message: unknown, refusal: string]>([
    ['result and error', { ...response(34, {}), error: {} }, 'must have one of'],
    ['neither', { jsonrpc: '2.0', id: 34 }, 'must have one of'],
    ['no object', 'done', 'must be a JSON-RPC message'],
    ['a batch', [response(34, {})], 'must be a JSON-RPC message'],
    ['another version', { ...response(34, {}), jsonrpc: '1.0' }, '/jsonrpc: must be "2.0"'],
    ['a member of its own', { ...response(34, {}), sessionId: 's' }, '/sessionId: must be absent'],
    ['the id null', errorResponse(null, { code: -32700, message: 'no' }), '/id: must be'],
    ['a request', { jsonrpc: '2.0', id: 1, method: 'elicitation/create' }, 'must be no request'],
    ['an unknown notification', { jsonrpc: '2.0', method: 'notifications/tasks/status' }, 'must be a notification of'],
    ['a bare list', response(34, ['working']), '/result: must be an object'],
  ])('is refused: %s', (_, message, refusal) => {
    expectRefusal(message, refusal);
  });

  it('may have the id null where a test allows it', () => {
    const validator = createWireValidator({ nullErrorId: 'accept' });
    validator.checkOutgoing(errorResponse(null, { code: -32700, message: 'no' }));
    validator.assertClean();
  });

  it.each(['tasks/result', 'tasks/list', 'tasks/delete', 'initialize', 'ping'])(
    'is refused: a result for %s',
    (method) => {
      const validator = createWireValidator();
      validator.observeRequest(request(1, method, {}));
      const message = response(1, { resultType: 'complete' });
      expect(() => validator.checkOutgoing(message)).toThrow(`must be an error: 2026-07-28 has no ${method}`);
    },
  );

  it('is refused: a tool with hints of other revisions', () => {
    const validator = createWireValidator();
    validator.observeRequest(request(1, 'tools/list', {}));
    const tool = { name: 't', inputSchema: { type: 'object' }, execution: {}, annotations: { taskHint: true } };
    const message = response(1, { resultType: 'complete', tools: [tool], ttlMs: 0, cacheScope: 'private' });
    expect(() => validator.checkOutgoing(message)).toThrow(/execution: must be absent[\s\S]*taskHint: must be absent/);
  });

  it('names method, place, reason and message', () => {
    const validator = createWireValidator();
    validator.observeRequest(request(1, 'tasks/cancel', { taskId: 't' }));
    expect(() => validator.checkOutgoing(response(1, { resultType: 'complete', status: 'cancelled' }))).toThrow(
      'tasks/cancel /result/status: must be absent: an acknowledgement is empty\n' +
        '  in {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","status":"cancelled"}}',
    );
    expect(() => validator.assertClean()).toThrow(WireViolationError);
  });
});

function expectRefusal(message: unknown, refusal: string): void {
  const validator = validatorReadyFor(message as Json);
  // As it arrives: a member that is undefined here is absent on the wire.
  expect(() => validator.checkOutgoing(JSON.parse(JSON.stringify(message)))).toThrow(refusal);
  expect(() => validator.assertClean()).toThrow(refusal);
}

/** A validator that has seen what comes before the message: the request it answers, or the stream it is pushed on. */
function validatorReadyFor(message: Json): WireValidator {
  const validator = createWireValidator();
  if (message['id'] !== undefined) {
    validator.observeRequest(requestFor(message));
    return validator;
  }
  validator.observeRequest(vectorNamed('listen request').message);
  const acknowledgement = vectorNamed('acknowledged subscription').message;
  if (message !== acknowledgement) validator.checkOutgoing(acknowledgement);
  return validator;
}

/** What a client sends to be sent this. */
function requestFor(message: Json): Json {
  const id = message['id'];
  const vector = vectors.find(({ from, message }) => from === 'client' && message['id'] === id);
  if (vector) return vector.message;
  if ('error' in message) return request(id, 'tools/call', { name: 'render_video' }, {});
  return request(id, 'tasks/get', { taskId: (message['result'] as Json | undefined)?.['taskId'] });
}

function vectorNamed(name: string): Vector {
  return vectors.find((vector) => vector.name === name)!;
}
