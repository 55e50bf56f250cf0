import { describe, expect, it } from 'vitest';
import {
  AnswerInvalidError,
  IdempotencyConflictError,
  InputNotSupportedError,
  LimitExceededError,
  StoreClosedError,
  StoreRefusedError,
  StoreUnavailableError,
  TaskCancelledError,
  type TaskError,
  TaskInterruptedError,
  TaskNotFoundError,
  TaskTimedOutError,
} from '../../../src/core/index.ts';
import { encodeError, internalError, missingTasksCapability } from '../../../src/wire/rev2026-07-28/index.ts';
import { schemaProblems } from '../../spec/schemas.ts';

const secret = '/var/lib/app/tasks.db: select * from tasks';

describe('errors of the domain', () => {
  it.each<[TaskError, number]>([
    [new TaskNotFoundError(), -32602],
    [new AnswerInvalidError('q', 'content must be object'), -32602],
    [new IdempotencyConflictError(), -32602],
    [new InputNotSupportedError('q'), -32603],
    [new LimitExceededError('too many open tasks'), -32603],
    [new TaskTimedOutError(5), -32603],
    [new TaskCancelledError(), -32603],
    [new TaskInterruptedError('moved'), -32603],
  ])('%s is %i, in its own words [G3-S-51]', (error, code) => {
    expect(encodeError(error)).toEqual({ code, message: error.message });
  });

  it.each<[TaskError]>([
    [new StoreUnavailableError(secret)],
    [new StoreRefusedError(secret)],
    [new StoreClosedError()],
  ])('%s is -32603 and tells nothing about the store [G3-S-49]', (error) => {
    expect(encodeError(error)).toEqual({
      code: -32603,
      message: 'The server cannot reach its task store; try again later',
    });
  });
});

describe('errors of the wire', () => {
  it('name the missing capability as the schema wants it [G3-S-05] [G3-S-51]', () => {
    const error = missingTasksCapability('tasks/get');
    expect(error).toEqual({
      code: -32021,
      message: expect.stringMatching(/^tasks\/get .*declare io\.modelcontextprotocol\/tasks/),
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    });
    const message = { jsonrpc: '2.0', id: 1, error };
    expect(schemaProblems('core-2026-07-28', 'MissingRequiredClientCapabilityError', message)).toEqual([]);
  });

  it('say nothing of an internal error', () => {
    expect(internalError).toEqual({ code: -32603, message: 'Internal error' });
  });
});
