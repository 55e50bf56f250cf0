import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, TaskRecord } from '../../../src/core/index.ts';
import {
  encodeAck,
  encodeHandle,
  encodeTask,
  immediateAnswer,
  plainResult,
} from '../../../src/wire/rev2026-07-28/index.ts';
import { request, response } from '../../support/messages.ts';
import { createWireValidator } from '../../support/wire-validator.ts';
import { record, result } from './records.ts';

const aRecord: TaskRecord = {
  taskId: 'tsk_1',
  principal: { subject: 'local' },
  method: 'tools/call',
  name: 'transcode',
  state: { status: 'working' },
  createdAt: Date.UTC(2026, 0, 1),
  updatedAt: Date.UTC(2026, 0, 2),
  ttlMs: 60_000,
  expiresAt: Date.UTC(2026, 0, 1) + 60_000,
  keepResultMs: 60_000,
  started: true,
  attempt: 1,
  version: 1,
  revision: '2026-07-28',
};
const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** Holds what an encoder gave against schema and rules, as the answer to the request it is for. */
function check(method: string, params: JsonObject, encoded: JsonObject): void {
  const validator = createWireValidator();
  validator.observeRequest(request(1, method, params, capabilities));
  validator.checkOutgoing(response(1, JSON.parse(JSON.stringify(encoded))));
}

describe('whatever a store holds', () => {
  it('is legal as the answer to tasks/get [G3-S-22] [G3-S-57] [G3-S-69] [G3-S-70] [G3-S-71]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        check('tasks/get', { taskId: task.taskId }, encodeTask(task, task.createdAt + later));
      }),
    );
  });

  it('is legal as a handle, which carries no payload [G3-S-08] [G3-S-10] [G3-S-69] [G3-S-71]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const handle = encodeHandle(task, task.createdAt + later);
        check('tools/call', { name: task.name }, handle);
        expect(Object.keys(handle)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/^(result|error|inputRequests|task|requestState|_meta)$/)]),
        );
      }),
    );
  });

  it('names every open question, whatever its key [G3-S-18] [G3-S-31]', () => {
    fc.assert(
      fc.property(record, (task) => {
        if (task.state.status !== 'input_required') return;
        const { inputRequests } = JSON.parse(JSON.stringify(encodeTask(task, 0))) as { inputRequests: object };
        expect(Object.keys(inputRequests).sort()).toEqual(Object.keys(task.state.inputRequests).sort());
      }),
      { numRuns: 400 },
    );
  });

  it("is legal as a call's own result when the tool says what is not its to say [G3-S-09]", () => {
    fc.assert(
      fc.property(result, (told) => {
        const plain = plainResult(told);
        check('tools/call', { name: 't' }, { ...plain, resultType: 'complete' });
        expect(plain).not.toHaveProperty('resultType');
        const { _meta = {}, resultType: _said, ...rest } = told;
        expect(plain).toMatchObject(rest);
        expect(plain._meta ?? {}).toEqual(
          Object.hasOwn(_meta as object, 'example.com/kept')
            ? { 'example.com/kept': (_meta as JsonObject)['example.com/kept'] }
            : {},
        );
      }),
    );
  });
});

describe('a task on the wire', () => {
  it('has exactly these members while it works', () => {
    expect(encodeTask(aRecord, aRecord.createdAt)).toEqual({
      resultType: 'complete',
      taskId: 'tsk_1',
      status: 'working',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-02T00:00:00.000Z',
      ttlMs: 60_000,
      pollIntervalMs: 1_000,
    });
  });

  it('lets nothing through that it does not know', () => {
    const grown = { ...aRecord, secret: 'x', state: { status: 'working' as const, secret: 'x' } };
    expect(encodeTask(grown, aRecord.createdAt)).toEqual(encodeTask(aRecord, aRecord.createdAt));
    expect(encodeHandle(grown, aRecord.createdAt)).toEqual(encodeHandle(aRecord, aRecord.createdAt));
  });

  it.each([
    [{ progress: 45, total: 100, message: 'a.mp4' }, '45/100 a.mp4'],
    [{ progress: 45, total: 100 }, '45/100'],
    [{ progress: 45, message: 'a.mp4' }, '45 a.mp4'],
    [{ progress: 0.5, message: '' }, '0.5'],
    [{ progress: 45, message: '44 passed, 1 failed' }, '44 passed, 1 failed'],
    [{ progress: 45, total: 100, message: '44 passed, 1 failed' }, '45/100 44 passed, 1 failed'],
  ])('shows progress %j as a message and as numbers', (progress, statusMessage) => {
    expect(encodeTask({ ...aRecord, progress }, 0)).toMatchObject({
      statusMessage,
      _meta: { 'longcall/progress': progress },
    });
  });

  it('says how it failed, in the error and in the message [G3-S-53] [G3-S-54]', () => {
    const error = { code: -32099, message: 'broken', data: [{ line: 7 }] };
    const failed = { ...aRecord, statusMessage: 'old news', state: { status: 'failed' as const, error } };
    expect(encodeTask(failed, 0)).toMatchObject({ status: 'failed', statusMessage: 'broken', error });
  });

  it('says why it was cancelled, and nothing where nobody said', () => {
    const cancelled = (reason?: string): TaskRecord => ({
      ...aRecord,
      state: { status: 'cancelled', ...(reason !== undefined && { reason }) },
    });
    expect(encodeTask(cancelled('by the client'), 0).statusMessage).toBe('by the client');
    expect(encodeTask(cancelled(), 0)).not.toHaveProperty('statusMessage');
  });

  it('suggests to poll at a tenth of its age, from a second to half a minute', () => {
    const hint = (age: number) => encodeTask(aRecord, aRecord.createdAt + age).pollIntervalMs;
    expect([0, 10_000, 100_000, 300_000, 1e9].map(hint)).toEqual([1_000, 1_000, 10_000, 30_000, 30_000]);
    expect(encodeTask({ ...aRecord, pollIntervalMs: 77 }, 1e15).pollIntervalMs).toBe(77);
  });
});

describe('other answers', () => {
  it('acknowledge with nothing but the kind of the result [G3-S-32] [G3-S-38] [G3-S-42]', () => {
    expect(encodeAck()).toEqual({ resultType: 'complete' });
  });

  it('before a task: a request for input passes as it is, anything else as a plain result [G3-S-09]', () => {
    const asking = { resultType: 'input_required', requestState: 's' };
    expect(immediateAnswer(asking)).toBe(asking);
    expect(immediateAnswer({ resultType: 'task', content: [] })).toEqual({ content: [] });
  });
});
