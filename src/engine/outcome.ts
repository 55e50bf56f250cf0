import {
  encodeJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorObject,
  type TerminalState,
} from '../core/index.ts';
import type { PastAttempt } from '../store/index.ts';

export const INTERNAL_ERROR = -32603;

/** Thrown where the work of a task was cancelled though nobody cancelled the task: that ends it the same way. */
export class WorkCancelledError extends Error {
  override readonly name = 'WorkCancelledError';
}

function failed(error: RpcErrorObject): TerminalState {
  return { status: 'failed', error };
}

export function internalError(message: string): TerminalState {
  return failed({ code: INTERNAL_ERROR, message });
}

/** How a task ends whose handler returned `result`. A result that cannot be kept is a failure, told as such. */
export function completed(result: unknown, name: string, maxBytes: number): TerminalState {
  let text: string;
  try {
    if (!isJsonObject(result)) throw new TypeError(`the result of ${name}: it is not an object`);
    text = encodeJson(result, `the result of ${name}`);
  } catch (error) {
    return internalError((error as Error).message);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    return internalError(
      `the result of ${name} has ${bytes} bytes; at most ${maxBytes} are kept; keep it elsewhere and return a reference`,
    );
  }
  return { status: 'completed', result: JSON.parse(text) as JsonObject };
}

/**
 * How a task ends whose handler threw. An error with a numeric `code` is a JSON-RPC error of the author's choosing and
 * goes out as it is; anything else is an internal error with its message, and never with its stack.
 */
export function thrown(error: unknown): TerminalState {
  if (error instanceof WorkCancelledError) return { status: 'cancelled', reason: error.message };
  if (typeof error === 'object' && error !== null) {
    const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    if (Number.isSafeInteger(code) && typeof message === 'string') {
      return failed({ code: code as number, message, ...jsonData(data) });
    }
    if (typeof message === 'string' && message !== '') return internalError(message);
  }
  return internalError(typeof error === 'string' && error !== '' ? error : 'the tool failed without a message');
}

/**
 * A failure that several attempts led to, with what became of each, so that whoever reads it need not ask. An error that
 * carries data of its own keeps it.
 * @param last how the attempt that is still running ends
 */
export function withHistory(
  outcome: TerminalState,
  past: readonly PastAttempt[],
  last: { endedAt: number; outcome: string },
): TerminalState {
  if (outcome.status !== 'failed' || outcome.error.code !== INTERNAL_ERROR || outcome.error.data !== undefined) {
    return outcome; // An error that the author chose goes out exactly as it is.
  }
  const attempts = past.map(({ attempt, startedAt, ...rest }) => {
    const { endedAt, outcome: how } = rest.endedAt === undefined ? last : rest;
    return {
      attempt,
      startedAt: new Date(startedAt).toISOString(),
      ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
      ...(how !== undefined && { outcome: how }),
      ...(rest.error !== undefined && { error: rest.error }),
    };
  });
  return failed({ ...outcome.error, data: { attempts } });
}

function jsonData(data: unknown): { data?: JsonValue } {
  if (data === undefined) return {};
  try {
    return { data: JSON.parse(encodeJson(data, 'data')) as JsonValue };
  } catch {
    return {}; // What is not JSON cannot be sent; code and message still are.
  }
}
