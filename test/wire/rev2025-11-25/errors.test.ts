import { describe, expect, it } from 'vitest';
import {
  AnswerInvalidError,
  IdempotencyConflictError,
  InputNotSupportedError,
  LimitExceededError,
  RateLimitedError,
  StoreClosedError,
  StoreRefusedError,
  StoreUnavailableError,
  type TaskError,
  TaskNotFoundError,
} from '../../../src/core/index.ts';
import {
  encodeError,
  internalError,
  invalidParams,
  methodNotFound,
  notCancellable,
} from '../../../src/wire/rev2025-11-25/index.ts';

const secret = '/var/lib/app/tasks.db: select * from tasks';

describe('errors of the domain', () => {
  it.each<[TaskError, number]>([
    [new TaskNotFoundError(), -32602],
    [new AnswerInvalidError('q', 'content must be object'), -32602],
    [new IdempotencyConflictError(), -32602],
    [new InputNotSupportedError('q'), -32603],
    [new LimitExceededError('too many open tasks'), -32603],
  ])('%s is %i, in its own words [G2-S-49] [G2-S-52]', (error, code) => {
    expect(encodeError(error)).toEqual({ code, message: error.message });
  });

  it('say when to come again where polls are too many', () => {
    expect(encodeError(new RateLimitedError(250))).toMatchObject({ code: -32603, data: { retryAfterMs: 250 } });
  });

  it.each<[TaskError]>([
    [new StoreUnavailableError(secret)],
    [new StoreRefusedError(secret)],
    [new StoreClosedError()],
  ])('%s is -32603 and tells nothing about the store [G2-S-51]', (error) => {
    expect(encodeError(error)).toEqual({
      code: -32603,
      message: 'The server cannot reach its task store; try again later',
    });
  });
});

describe('errors of the wire', () => {
  it.each([
    [internalError, -32603, 'Internal error'],
    [invalidParams('params.taskId: expected a string'), -32602, 'params.taskId: expected a string'],
    [methodNotFound('Method not found: tasks/list'), -32601, 'Method not found: tasks/list'],
    [notCancellable('failed'), -32602, 'Cannot cancel task: it is already failed'],
  ])('%j', (error, code, message) => {
    expect(error).toEqual({ code, message });
  });
});
