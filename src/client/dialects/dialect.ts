import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Logger,
  type RandomSource,
  type RequestorAbilities,
} from '../../core/index.ts';
import type { Decoded } from '../../wire/decoded.ts';
import { encodeIdempotencyKey } from '../../wire/idempotency.ts';
import { decodeLogPage, logPageUri } from '../../wire/task-log.ts';
import { encodeTrace } from '../../wire/trace.ts';
import type { Connection } from '../connection.ts';
import type { Mirroring } from '../mirroring.ts';
import type { OnQuestion, Outcome, Remote, RemoteTask, Started, StartRequest } from '../remote.ts';
import { RemoteGoneError, RemoteProtocolError, RemoteRefusedError } from '../remote-errors.ts';
import { listTools } from '../tool-list.ts';

/** How a connected server is spoken to: all of {@link Remote} that depends on its generation of tasks. */
export type Dialect = Omit<Remote, 'origin' | 'repeatable' | 'link' | typeof Symbol.asyncDispose>;

/** What every dialect works with. */
export interface Speaking {
  connection: Connection;
  /** Sends requests of 2026-07-28. */
  mirroring: Mirroring;
  /** The capabilities that the server declared, as it sent them. */
  capabilities: unknown;
  /** The protocol version agreed on. */
  version: string;
  client: { name: string; version: string };
  abilities: RequestorAbilities;
  onQuestion: OnQuestion | undefined;
  /** The server honours idempotency keys. */
  repeatable: boolean;
  /** For requests that are answered at once: the others may take as long as they like. */
  requestTimeoutMs: number;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

/** Members of the `_meta` of every call, on whatever revision. */
export function metaOf(
  { repeatable }: Speaking,
  { idempotencyKey, repeatAgeMs, traceparent, meta }: StartRequest,
): JsonObject {
  return {
    ...meta,
    ...(repeatable && encodeIdempotencyKey(idempotencyKey, repeatAgeMs)),
    ...encodeTrace(traceparent),
  };
}

/** @throws {@link RemoteProtocolError} for what could not be read */
export function read<Value>(decoded: Decoded<Value>): Value {
  if (decoded.ok) return decoded.value;
  throw new RemoteProtocolError(decoded.message);
}

const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;

/** The answer to a request whose only parameter is the id of a task: that one is wrong, if any is. */
export async function ofTask<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (isInvalidParams(error)) throw new RemoteGoneError(error.message, { cause: error });
    throw error;
  }
}

export function isInvalidParams(error: unknown): error is RemoteRefusedError {
  return error instanceof RemoteRefusedError && error.rpcCode === INVALID_PARAMS;
}

/** Codes that say what is wrong with the request, or that it cannot be served: nothing was done. All others are the tool's. */
const REFUSALS: ReadonlySet<number> = new Set([
  -32700,
  -32600,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
  -32000,
  -32020,
  -32021,
  -32022,
  -32003,
  -32042,
]);

/**
 * How a call ended that was answered with an error: as a task of the same tool would have, whose error is the same.
 * @throws the error, if it is none of the protocol, or says that nothing was done
 */
export function failedOutcome(error: unknown): Outcome {
  if (!(error instanceof RemoteRefusedError) || REFUSALS.has(error.rpcCode)) throw error;
  return { status: 'failed', error: error.rpc };
}

const takenBack: Outcome = {
  status: 'cancelled',
  reason: 'cancelled while it ran; the server was told, and whether it stopped in time is not known',
};

/** How a call ended that was not answered with a result. @throws as {@link failedOutcome} */
export function endedOtherwise(error: unknown, { unwanted }: StartRequest): Started {
  const outcome = unwanted?.aborted === true && error === unwanted.reason ? takenBack : failedOutcome(error);
  return { kind: 'immediate', outcome };
}

/** Lists tools over a connection as it is. */
export function listing({ connection, capabilities, requestTimeoutMs }: Speaking): Pick<Dialect, 'listTools'> {
  const request = connection.request.bind(connection);
  return { listTools: ({ signal } = {}) => listTools({ capabilities, requestTimeoutMs, request }, signal) };
}

/** What answers a call that was over at once. */
export function immediate(result: JsonObject): Started {
  return { kind: 'immediate', outcome: { status: 'completed', result } };
}

/** @throws {@link RemoteProtocolError} for a task that is not over */
export function outcomeIn({ outcome, status }: RemoteTask): Outcome {
  if (outcome === undefined) throw new RemoteProtocolError(`the task is not over: it is ${status}`);
  return outcome;
}

/** How logs are read where the server has them as resources: ours do, on every revision. */
export function logReader(
  { connection, capabilities, repeatable, requestTimeoutMs: timeoutMs }: Speaking,
  request: Connection['request'] = connection.request.bind(connection),
): Pick<Dialect, 'log'> {
  if (!repeatable || !isJsonObject(capabilities) || !isJsonObject(capabilities.resources)) return {};
  return {
    async log(taskId, cursor, { signal } = {}) {
      const asking = { timeoutMs, signal, hangUp: true };
      const page = decodeLogPage(await request('resources/read', { uri: logPageUri(taskId, cursor) }, asking));
      if (page === undefined) throw new RemoteProtocolError('the log of a task: expected a page of it');
      return page;
    },
  };
}

/** For revisions before 2026-07-28, whose questions are requests. */
export async function answeredWhereAsked(): Promise<never> {
  const message = 'before 2026-07-28 questions are requests, and are answered by onQuestion';
  throw new RemoteRefusedError({ code: METHOD_NOT_FOUND, message });
}
