import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { relatedTask } from './encode.ts';
import { CREATED_NOTIFICATION, METHODS, RELATED_TASK_META_KEY } from './names.ts';

// The other way round: a request of ours that the client made a task of its own.

interface Asking {
  method: string;
  params: JsonObject;
}

/** How a client's task stands. */
export interface ClientTask {
  status: 'open' | 'completed' | 'over';
  /** How often to ask, in milliseconds, if the client says it. */
  pollIntervalMs?: number;
}

/** The task that a client tells us it has created; `undefined` for any other message. */
export function createdTask(message: unknown): string | undefined {
  if (!isJsonObject(message) || message.method !== CREATED_NOTIFICATION || !isJsonObject(message.params))
    return undefined;
  const { _meta } = message.params;
  const related = isJsonObject(_meta) ? _meta[RELATED_TASK_META_KEY] : undefined;
  return isJsonObject(related) && typeof related.taskId === 'string' ? related.taskId : undefined;
}

export function askStatus(taskId: string): Asking {
  return about(METHODS.get, taskId);
}

export function askResult(taskId: string): Asking {
  return about(METHODS.result, taskId);
}

export function askToDelete(taskId: string): Asking {
  return about(METHODS.delete, taskId);
}

/** What a client answers to {@link askStatus}. Whatever it calls a status that we do not know is not its end. */
export function readStatus(result: unknown): ClientTask | undefined {
  if (!isJsonObject(result) || typeof result.status !== 'string') return undefined;
  const { status, pollFrequency, pollInterval } = result; // The later name of it was in the field before the revision was.
  const said = pollFrequency ?? pollInterval;
  const pollIntervalMs = Number.isFinite(said) && (said as number) > 0 ? Math.ceil(said as number) : undefined;
  const over = status === 'failed' || status === 'cancelled' || status === 'unknown';
  return {
    status: status === 'completed' ? status : over ? 'over' : 'open',
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
  };
}

function about(method: string, taskId: string): Asking {
  return { method, params: { taskId, _meta: relatedTask(taskId) } };
}
