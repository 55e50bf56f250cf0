import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminal, type JsonObject, type TaskRecord, type TaskState } from '../../../src/core/index.ts';
import {
  encodeAnswer,
  encodeCreated,
  encodeDeleted,
  encodeList,
  encodePayload,
  encodeProgress,
  encodeQuestion,
  encodeTask,
  tasksCapability,
  withOffer,
} from '../../../src/wire/rev-sep-1686/index.ts';
import { type SchemaProblem, schemaProblems } from '../../spec/schemas.ts';
import { record } from '../rev2026-07-28/records.ts';

const RELATED = 'modelcontextprotocol.io/related-task';
const related = { [RELATED]: { taskId: 'cli-1' } };
const problems = (def: string, value: unknown): SchemaProblem[] =>
  schemaProblems('g1-core-draft-2025-10-31', def, JSON.parse(JSON.stringify(value)));

const CREATED = Date.UTC(2026, 0, 1);
const aRecord: TaskRecord = {
  taskId: 'tsk_1',
  requestorTaskId: 'cli-1',
  principal: { subject: 'local' },
  method: 'tools/call',
  name: 'transcode',
  state: { status: 'working' },
  createdAt: CREATED,
  updatedAt: CREATED,
  ttlMs: 60_000,
  expiresAt: CREATED + 86_400_000,
  keepResultMs: 60_000,
  started: true,
  attempt: 1,
  version: 1,
  revision: 'SEP-1686',
};
const told = (changes: Partial<TaskRecord>): JsonObject => encodeTask({ ...aRecord, ...changes }, 'cli-1', CREATED);

describe('whatever a store holds', () => {
  it('is legal as the answer to get, and names its task [G1-S-06] [G1-S-24] [G1-S-27]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const encoded = encodeTask(task, 'cli-1', task.createdAt + later);
        expect(problems('GetTaskResult', encoded)).toEqual([]);
        expect(encoded).toMatchObject({ taskId: 'cli-1', _meta: related, pollFrequency: expect.any(Number) });
        const known = /^(taskId|status|keepAlive|pollFrequency|error|_meta)$/;
        expect(Object.keys(encoded).filter((name) => !known.test(name))).toEqual([]);
      }),
    );
  });

  it('is legal in a list [G1-S-32]', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 3 }), fc.option(fc.string()), (tasks, cursor) => {
        const entries = tasks.map((task, index) => ({ task, taskId: `cli-${index}` }));
        const list = encodeList(entries, CREATED, cursor ?? undefined);
        expect(problems('ListTasksResult', list)).toEqual([]);
        expect('nextCursor' in list).toBe(cursor !== null);
      }),
    );
  });

  it('has a result only when it is completed, which names its task [G1-S-25] [G1-S-26] [G1-S-27]', () => {
    fc.assert(
      fc.property(record, (task) => {
        const payload = encodePayload(task, 'cli-1');
        expect('result' in payload).toBe(task.state.status === 'completed');
        if ('error' in payload) expect(payload.error).toMatchObject({ code: -32602, message: /status is/ });
        else expect(payload.result).toMatchObject({ _meta: related });
      }),
    );
  });

  it('answers the request that made it as if there had been no task [G1-S-05]', () => {
    fc.assert(
      fc.property(record, (task) => {
        if (!isTerminal(task.state)) return;
        const answer = encodeAnswer(task, task.state, 'cli-1');
        if (task.state.status === 'failed') expect(answer).toEqual({ error: task.state.error });
        else if (task.state.status === 'cancelled') expect(answer).toHaveProperty('error.code', -32603);
        else expect(answer).toEqual(encodePayload(task, 'cli-1'));
      }),
    );
  });
});

describe('a status', () => {
  it.each<[TaskState, boolean, string]>([
    [{ status: 'working' }, false, 'submitted'],
    [{ status: 'working' }, true, 'working'],
    [{ status: 'input_required', inputRequests: {} }, true, 'input_required'],
    [{ status: 'completed', result: { content: [] } }, true, 'completed'],
    [{ status: 'completed', result: { content: [], isError: true } }, true, 'completed'],
    [{ status: 'cancelled' }, false, 'cancelled'],
  ])('of %j, started: %s, is %s [G1-S-10] [G1-S-43]', (state, started, status) => {
    expect(told({ state, started })).toMatchObject({ status });
  });

  it('of a failed task says why, also where its worker was lost: it is never unknown [G1-S-16] [G1-S-42]', () => {
    const state = { status: 'failed', error: { code: -32603, message: 'interrupted: the worker was lost' } } as const;
    expect(told({ state })).toMatchObject({ status: 'failed', error: 'interrupted: the worker was lost' });
  });
});

describe('how long a task is kept', () => {
  const state: TaskState = { status: 'completed', result: { content: [] } };
  const ended = { state, updatedAt: CREATED + 5_000 };
  it.each<[string, Partial<TaskRecord>, number | null]>([
    ['an open task', {}, 60_000],
    ['one that ended', { ...ended, expiresAt: CREATED + 65_000 }, 60_000],
    ['one of a later revision, to the end of its life', { ...ended, expiresAt: CREATED + 3_600_000 }, 3_595_000],
    ['an open task without limit', { ttlMs: null, expiresAt: null }, null],
    ['one without limit that ended', { ...ended, ttlMs: null, expiresAt: null }, null],
  ])('is told of %s, from its end on [G1-S-22]', (_, changes, keepAlive) => {
    expect(told(changes)).toMatchObject({ keepAlive });
  });
});

describe('a message about a task', () => {
  it('tells that it was created, and nothing else [G1-S-03]', () => {
    const message = { jsonrpc: '2.0', ...encodeCreated('cli-1') };
    expect(problems('TaskCreatedNotification', message)).toEqual([]);
    expect(message).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tasks/created',
      params: { _meta: related },
    });
  });

  it('names its task on every answer and notification [G1-S-27]', () => {
    expect(problems('DeleteTaskResult', encodeDeleted('cli-1'))).toEqual([]);
    expect(encodeDeleted('cli-1')).toEqual({ _meta: related });
    const progress = { jsonrpc: '2.0', ...encodeProgress('cli-1', 't', { progress: 1, total: 2, message: 'x' }) };
    expect(problems('ProgressNotification', progress)).toEqual([]);
    expect(progress.params).toEqual({ progressToken: 't', progress: 1, total: 2, message: 'x', _meta: related });
  });

  it('asks a question under the key of this revision alone [G1-S-18]', () => {
    const schema = { type: 'object', properties: {} } as const;
    const form = {
      jsonrpc: '2.0',
      id: 'lc-1',
      ...encodeQuestion('cli-1', 'lc-1', { kind: 'form', message: '?', schema }),
    };
    expect(problems('ElicitRequest', form)).toEqual([]);
    expect(form.params['_meta']).toEqual(related);
    const params = { messages: [], maxTokens: 5, _meta: { 'example.com/kept': 1 } };
    const sampling = encodeQuestion('cli-1', 'lc-2', { kind: 'sampling', params }, { taskId: 'own', keepAliveMs: 9 });
    expect(problems('CreateMessageRequest', { jsonrpc: '2.0', id: 'lc-2', ...sampling })).toEqual([]);
    expect(sampling.params['_meta']).toEqual({
      'example.com/kept': 1,
      ...related,
      'modelcontextprotocol.io/task': { taskId: 'own', keepAlive: 9 },
    });
  });

  it('holds no keys of other revisions, whatever a handler wrote, and is no tool result where it answers something else', () => {
    const _meta = {
      'io.modelcontextprotocol/related-task': { taskId: 'x' },
      'longcall/outcome': 'x',
      'example.com/kept': 1,
    };
    const result = { messages: [], resultType: 'complete', _meta };
    const prompt: TaskRecord = { ...aRecord, method: 'prompts/get', state: { status: 'completed', result } };
    expect(encodePayload(prompt, 'cli-1')).toEqual({
      result: { messages: [], _meta: { 'example.com/kept': 1, ...related } },
    });
  });
});

describe('what a server says of its tasks', () => {
  const offer = { capability: tasksCapability(new Set(['tools/call', 'prompts/get'])), hinted: new Set(['slow']) };
  const hello = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } } };
  const list = {
    jsonrpc: '2.0',
    id: 2,
    result: { tools: [{ name: 'slow', annotations: { title: 'S' } }, { name: 'quick' }] },
  };

  it('names the requests that it takes as tasks, by booleans [G1-S-01] [G1-S-02]', () => {
    const { result } = withOffer(hello, offer) as typeof hello;
    expect(result.capabilities).toEqual({ tools: {}, tasks: { tools: { call: true }, prompts: { get: true } } });
    expect(problems('ServerCapabilities', result.capabilities)).toEqual([]);
    expect(tasksCapability(new Set())).toBeUndefined();
    expect(withOffer(hello, { ...offer, capability: undefined })).toEqual(hello);
  });

  it('hints at tools that are good to call so, and leaves all other messages alone', () => {
    const { result } = withOffer(list, offer) as typeof list;
    expect(result.tools).toEqual([{ name: 'slow', annotations: { title: 'S', taskHint: true } }, { name: 'quick' }]);
    for (const other of [{ jsonrpc: '2.0', id: 3, result: { content: [] } }, { jsonrpc: '2.0', method: 'x' }, 'x']) {
      expect(withOffer(other, offer)).toEqual(other);
    }
  });
});
