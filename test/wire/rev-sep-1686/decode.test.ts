import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL } from '../../../src/core/index.ts';
import { decodeTask, keepTaskId, samplesAsTask, taskIdOf } from '../../../src/wire/rev-sep-1686/index.ts';

const KEY = 'modelcontextprotocol.io/task';
const asked = (task: unknown) => decodeTask({ [KEY]: task });

describe('a wish for a task', () => {
  it.each([[undefined], [null], ['x'], [[]], [{}], [{ other: {} }]])('is not in %j', (meta) => {
    expect(decodeTask(meta)).toBeUndefined();
  });

  it.each([
    [{ taskId: 'cli-1' }, { requestorTaskId: 'cli-1' }],
    [
      { taskId: 'cli-1', keepAlive: 60_000 },
      { requestorTaskId: 'cli-1', keepAliveMs: 60_000 },
    ],
    [
      { taskId: 'cli-1', keepAlive: 0 },
      { requestorTaskId: 'cli-1', keepAliveMs: 0 },
    ],
    [
      { taskId: 'cli-1', keepAlive: 0.5 },
      { requestorTaskId: 'cli-1', keepAliveMs: 0.5 },
    ],
    [
      { taskId: 'cli-1', keepAlive: null },
      { requestorTaskId: 'cli-1', keepAliveMs: null },
    ],
    [{ taskId: '日本 1', ttl: 5 }, { requestorTaskId: '日本 1' }],
    [{ taskId: 'x'.repeat(256) }, { requestorTaskId: 'x'.repeat(256) }],
    [{ taskId: '__proto__' }, { requestorTaskId: '__proto__' }],
  ])('is taken: %j [G1-S-06]', (task, wish) => {
    expect(asked(task)).toEqual({ ok: true, value: wish });
  });

  it.each([
    [null, 'an object'],
    ['cli-1', 'an object'],
    [{}, 'taskId: expected a string'],
    [{ taskId: 7 }, 'taskId: expected a string'],
    [{ taskId: '' }, 'of 1 to 256 characters'],
    [{ taskId: 'x'.repeat(257) }, 'of 1 to 256 characters'],
    [{ taskId: 'a\nb' }, 'control character'],
    [{ taskId: 'a\0b' }, 'control character'],
    [{ taskId: '\ud800' }, 'taskId: expected'],
    [{ taskId: 'cli-1', keepAlive: -1 }, 'keepAlive: expected milliseconds of at least 0'],
    [{ taskId: 'cli-1', keepAlive: '60000' }, 'keepAlive: expected'],
    [{ taskId: 'cli-1', keepAlive: Number.POSITIVE_INFINITY }, 'keepAlive: expected'],
  ])('is refused: %j, naming the field', (task, problem) => {
    expect(asked(task)).toEqual({ ok: false, message: expect.stringContaining(problem) });
    expect(asked(task)).toHaveProperty('message', expect.stringContaining(KEY));
  });

  it('is read or refused, whatever it is, and never throws', () => {
    fc.assert(fc.property(fc.jsonValue(), (task) => typeof asked(task)?.ok === 'boolean'));
  });
});

describe('an id of a requestor', () => {
  const idOf = (kept: string, principal = LOCAL_PRINCIPAL) =>
    taskIdOf({ taskId: 'tsk_1', requestorTaskId: kept, principal } as Parameters<typeof taskIdOf>[0]);

  it('is its own, for callers that are told apart', () => {
    expect(keepTaskId('cli-1', '', LOCAL_PRINCIPAL)).toBe('cli-1');
    expect(keepTaskId('cli-1', 'session', LOCAL_PRINCIPAL)).toBe('cli-1');
    expect(idOf('a b')).toBe('a b');
    expect(taskIdOf({ taskId: 'tsk_1', principal: LOCAL_PRINCIPAL } as Parameters<typeof taskIdOf>[0])).toBe('tsk_1');
  });

  it('belongs to the session, for callers that are not, and without one they have none', () => {
    expect(keepTaskId('cli-1', '', ANONYMOUS_PRINCIPAL)).toBeUndefined();
    const kept = keepTaskId('cli 1', 'session', ANONYMOUS_PRINCIPAL) ?? '';
    expect(kept).not.toBe(keepTaskId('cli 1', 'another', ANONYMOUS_PRINCIPAL));
    expect(idOf(kept, ANONYMOUS_PRINCIPAL)).toBe('cli 1');
  });
});

it.each([
  [{ tasks: { sampling: { createMessage: true } } }, true],
  [{ tasks: { sampling: { createMessage: {} } } }, false],
  [{ tasks: { requests: { sampling: { createMessage: {} } } } }, false],
  [{ tasks: {} }, false],
  [undefined, false],
])('a client that declares %j takes sampling as a task: %s', (capabilities, expected) => {
  expect(samplesAsTask(capabilities)).toBe(expected);
});
