import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminal, type JsonObject } from '../../../src/core/index.ts';
import { encodePayload, encodeProgressNotification } from '../../../src/wire/rev2025-11-25/index.ts';
import { schemaProblems } from '../../spec/schemas.ts';
import { type Json, response } from '../../support/messages.ts';
import { createWireValidator } from '../../support/wire-validator.ts';
import { record } from '../rev2026-07-28/records.ts';

const RELATED = 'io.modelcontextprotocol/related-task';
const onWire = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

/** Holds a payload against schema and rules, as the answer to `tasks/result`. */
function check(taskId: string, payload: JsonObject): Json {
  const validator = createWireValidator();
  validator.observeRequest({ jsonrpc: '2.0', id: 1, method: 'tasks/result', params: { taskId } }, '2025-11-25');
  validator.checkOutgoing(response(1, onWire(payload)));
  validator.assertClean();
  return onWire(payload);
}

describe('the answer to tasks/result', () => {
  it('is legal whatever a store holds, and tied to its task [G2-S-30] [G2-S-31]', () => {
    fc.assert(
      fc.property(record, (task) => {
        if (!isTerminal(task.state)) return;
        const payload = encodePayload(task.taskId, task.state);
        if ('error' in payload) {
          const message = { jsonrpc: '2.0', id: 1, ...payload };
          expect(schemaProblems('core-2025-11-25', 'JSONRPCErrorResponse', onWire(message))).toEqual([]);
          return;
        }
        const result = check(task.taskId, payload.result);
        expect(schemaProblems('core-2025-11-25', 'CallToolResult', result)).toEqual([]);
        expect(result['_meta']).toMatchObject({ [RELATED]: { taskId: task.taskId } });
        expect(result).not.toHaveProperty('resultType');
      }),
    );
  });

  it('is what the call would have been answered with, and the task it belongs to [G2-S-28] [G2-S-30] [G2-S-55] [C-001] [C-005]', () => {
    const result = {
      content: [{ type: 'text', text: '2 tests failed' }],
      structuredContent: { failed: [1, 2] },
      isError: true,
      _meta: { 'example.com/kept': 1 },
    };
    expect(encodePayload('tsk_1', { status: 'completed', result })).toEqual({
      result: { ...result, _meta: { 'example.com/kept': 1, [RELATED]: { taskId: 'tsk_1' } } },
    });
  });

  it('names its own task, whatever the tool says', () => {
    const _meta = { [RELATED]: { taskId: 'forged' }, 'modelcontextprotocol.io/related-task': { taskId: 'forged' } };
    expect(encodePayload('tsk_1', { status: 'completed', result: { content: [], _meta } })).toEqual({
      result: { content: [], _meta: { [RELATED]: { taskId: 'tsk_1' } } },
    });
  });

  it('is the error itself, to the letter [G2-S-28] [G2-S-30]', () => {
    const error = { code: -32099, message: 'broken', data: [{ line: 7 }] };
    expect(encodePayload('tsk_1', { status: 'failed', error })).toEqual({ error });
  });

  it('is an error that says so when the task was cancelled', () => {
    expect(encodePayload('tsk_1', { status: 'cancelled', reason: 'by the client' })).toEqual({
      error: { code: -32603, message: 'Task was cancelled', data: { taskId: 'tsk_1', status: 'cancelled' } },
    });
  });

  it('is the same each time [C-101]', () => {
    fc.assert(
      fc.property(record, ({ taskId, state }) => {
        if (!isTerminal(state)) return;
        const before = JSON.stringify(state);
        const first = JSON.stringify(encodePayload(taskId, state));
        expect(JSON.stringify(encodePayload(taskId, state))).toBe(first);
        expect(JSON.stringify(state)).toBe(before);
      }),
    );
  });
});

describe('progress of a task', () => {
  it.each([
    ['p1', { progress: 1 }],
    [7, { progress: 45, total: 100, message: 'a.mp4' }],
    [0, { progress: 0.5, message: '' }],
  ])('under token %j is tied to the task: %j [G2-S-32]', (progressToken, progress) => {
    const notification = encodeProgressNotification('tsk_1', progressToken, progress);
    const message = { jsonrpc: '2.0', ...notification };
    expect(schemaProblems('core-2025-11-25', 'ProgressNotification', onWire(message))).toEqual([]);
    expect(notification.params).toEqual({ progressToken, ...progress, _meta: { [RELATED]: { taskId: 'tsk_1' } } });
  });
});
