import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, TaskRecord } from '../../../src/core/index.ts';
import {
  encodeHandle,
  encodeList,
  encodeStatusNotification,
  encodeTask,
  encodeTaskForLaterRevision,
  statusOf,
} from '../../../src/wire/rev2025-11-25/index.ts';
import { schemaProblems } from '../../spec/schemas.ts';
import { type Json, response } from '../../support/messages.ts';
import { createWireValidator } from '../../support/wire-validator.ts';
import { record } from '../rev2026-07-28/records.ts';

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
  revision: '2025-11-25',
};
const onWire = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

/** Holds what an encoder gave against schema and rules, as the answer to the request it is for. */
function check(method: string, params: JsonObject, encoded: JsonObject): Json {
  const validator = createWireValidator();
  validator.observeRequest({ jsonrpc: '2.0', id: 1, method, params }, '2025-11-25');
  validator.checkOutgoing(response(1, onWire(encoded)));
  validator.assertClean();
  return onWire(encoded);
}

function checkTask(task: Json): void {
  expect(task).toMatchObject({ createdAt: expect.any(String), lastUpdatedAt: expect.any(String) });
  for (const time of [task['createdAt'], task['lastUpdatedAt']]) {
    expect(new Date(time as string).toISOString()).toBe(time);
  }
  expect(Object.keys(task)).toEqual(expect.arrayContaining(['taskId', 'status', 'ttl', 'pollInterval']));
  expect(task['ttl'] === null || Number.isInteger(task['ttl'])).toBe(true);
  expect(Number.isInteger(task['pollInterval']) && (task['pollInterval'] as number) >= 1).toBe(true);
  const known = /^(taskId|status|statusMessage|createdAt|lastUpdatedAt|ttl|pollInterval)$/;
  expect(Object.keys(task).filter((name) => !known.test(name))).toEqual([]);
}

describe('whatever a store holds', () => {
  it('is legal as the answer to get and cancel, which carries no related-task key [G2-S-22] [G2-S-23] [G2-S-25] [G2-S-27] [G2-S-34]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const encoded = encodeTask(task, task.createdAt + later);
        const methods = ['tasks/get', ...(task.state.status === 'cancelled' ? ['tasks/cancel'] : [])];
        for (const method of methods) checkTask(check(method, { taskId: task.taskId }, encoded));
      }),
    );
  });

  it('is legal as a handle, which holds the task and nothing of its result [G2-S-08] [G2-S-22] [G2-S-23]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const handle = check('tools/call', { name: task.name, task: {} }, encodeHandle(task, task.createdAt + later));
        expect(Object.keys(handle)).toEqual(['task']);
        checkTask(handle['task'] as Json);
      }),
    );
  });

  it('is legal in a list, which carries no related-task key [G2-S-22] [G2-S-23] [G2-S-34]', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 3 }), fc.option(fc.string()), (tasks, cursor) => {
        const list = check('tasks/list', {}, encodeList(tasks, Date.UTC(2026, 0, 1), cursor ?? undefined));
        expect(Object.keys(list)).toEqual(cursor === null ? ['tasks'] : ['tasks', 'nextCursor']);
        for (const task of list['tasks'] as Json[]) checkTask(task);
      }),
    );
  });

  it('is legal as a status notification: the whole task, without a related-task key [G2-S-36]', () => {
    fc.assert(
      fc.property(record, fc.nat(), (task, later) => {
        const now = task.createdAt + later;
        const notification = encodeStatusNotification(task, now);
        const message = { jsonrpc: '2.0', ...notification };
        expect(schemaProblems('core-2025-11-25', 'TaskStatusNotification', onWire(message))).toEqual([]);
        expect(notification.params).toEqual(encodeTask(task, now));
      }),
    );
  });
});

describe('a task on the wire', () => {
  const ended = (state: TaskRecord['state']): TaskRecord => ({ ...aRecord, statusMessage: 'old news', state });

  it('has exactly these members while it works', () => {
    expect(encodeTask(aRecord, aRecord.createdAt)).toEqual({
      taskId: 'tsk_1',
      status: 'working',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-02T00:00:00.000Z',
      ttl: 60_000,
      pollInterval: 1_000,
    });
    expect(encodeTask({ ...aRecord, ttlMs: null, pollIntervalMs: 77 }, 0)).toMatchObject({
      ttl: null,
      pollInterval: 77,
    });
  });

  it('lets nothing through that it does not know', () => {
    const grown = { ...aRecord, secret: 'x', state: { status: 'working' as const, secret: 'x' } };
    expect(encodeTask(grown, 0)).toEqual(encodeTask(aRecord, 0));
    expect(encodeHandle(grown, 0)).toEqual(encodeHandle(aRecord, 0));
  });

  it.each<[string, TaskRecord['state'], string, string | undefined]>([
    ['waits', { status: 'input_required', inputRequests: {} }, 'input_required', 'old news'],
    ['is completed', { status: 'completed', result: { content: [] } }, 'completed', undefined],
    ['is cancelled', { status: 'cancelled' }, 'cancelled', undefined],
    ['is cancelled for a reason', { status: 'cancelled', reason: 'by the client' }, 'cancelled', 'by the client'],
    ['failed', { status: 'failed', error: { code: -32603, message: 'disk full' } }, 'failed', 'disk full'],
  ])('that %s says so [G2-S-54]', (_, state, status, statusMessage) => {
    const task = encodeTask(ended(state), 0);
    expect([task.status, task.statusMessage]).toEqual([status, statusMessage]);
  });

  it.each<[what: string, content: unknown, statusMessage: string]>([
    ['its text', [{ type: 'text', text: 'no such file' }], 'no such file'],
    [
      'its first text',
      [
        { type: 'image', data: '', mimeType: 'image/png' },
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      'a',
    ],
    ['a sentence of ours if it has none', [{ type: 'text', text: ' ' }], 'the tool reported an error'],
    ['the beginning of a long one', [{ type: 'text', text: 'x'.repeat(10_000) }], `${'x'.repeat(499)}…`],
    [
      'whole letters of a long one',
      [{ type: 'text', text: `${'x'.repeat(498)}😀${'x'.repeat(9)}` }],
      `${'x'.repeat(498)}…`,
    ],
  ])(
    'whose tool answered with an error has failed, and says %s [G2-S-54] [G2-S-55] [C-001]',
    (_, content, statusMessage) => {
      const task = ended({ status: 'completed', result: { content, isError: true } as JsonObject });
      expect(encodeTask(task, 0)).toMatchObject({ status: 'failed', statusMessage });
      expect(statusOf(task)).toBe('failed');
    },
  );

  it('whose tool answered with an error can be called completed, for clients that drop what failed', () => {
    const task = ended({ status: 'completed', result: { content: [], isError: true } });
    const options = { isErrorStatus: 'completed' } as const;
    const told = [
      encodeTask(task, 0, options),
      encodeHandle(task, 0, options).task,
      (encodeList([task], 0, undefined, options).tasks as JsonObject[])[0],
      encodeStatusNotification(task, 0, options).params,
    ] as JsonObject[];
    expect(told.map(({ status }) => status)).toEqual(Array(4).fill('completed'));
    const failed = ended({ status: 'failed', error: { code: 1, message: 'm' } });
    expect(encodeTask(failed, 0, options).status).toBe('failed');
  });

  it('is told to a client that moved to a later revision as a result of that revision', () => {
    expect(encodeTaskForLaterRevision(aRecord, 0)).toEqual({ resultType: 'complete', ...encodeTask(aRecord, 0) });
  });
});

describe('a handle', () => {
  it('brings what a host may tell its model at once [G2-S-10]', () => {
    const handle = encodeHandle(aRecord, 0, { immediateResponse: 'Rendering started.', existing: true });
    check('tools/call', { name: 't', task: {} }, handle);
    expect(handle._meta).toEqual({
      'io.modelcontextprotocol/model-immediate-response': 'Rendering started.',
      'longcall/existing': true,
    });
  });
});
