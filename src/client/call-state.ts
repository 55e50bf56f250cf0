import { type JsonObject, type RpcErrorObject, type TaskProgress, unreachable } from '../core/index.ts';
import { isOver } from '../wire/peer-task.ts';
import type { Outcome, RemoteStatus, RemoteTask } from './remote.ts';

/** How a call ended. `completed` holds the tool's result as it was, also one with `isError: true`. */
export type CallEnd =
  | { kind: 'completed'; result: JsonObject }
  | { kind: 'failed'; error: RpcErrorObject }
  | { kind: 'refused'; error: RpcErrorObject }
  | { kind: 'cancelled'; reason?: string }
  | { kind: 'expired'; message: string /** It never reached its server. */; neverSent?: true }
  | { kind: 'lost'; message: string }
  | { kind: 'unknown'; message: string };

/** What is known of the task that a call became. */
export interface FollowedTask {
  taskId: string;
  /** When its handle was received, by our own clock: its time is counted from there, as servers' clocks differ. */
  handledAt: number;
  status: RemoteStatus;
  statusMessage?: string;
  progress?: TaskProgress;
  pollIntervalMs?: number;
  /** Milliseconds from its creation; null: for ever; absent: nobody said. */
  ttlMs?: number | null;
  /** By the server's clock: only to tell older news from newer. */
  updatedAt?: number;
  /** When it last said anything that it had not said before, by our own clock. */
  newsAt: number;
  /** When it was asked for the last time, by our own clock; absent: not yet. A restart must not ask sooner either. */
  polledAt?: number;
}

/**
 * Where a call stands, as the journal has it.
 *
 * `intended`: nothing of it can have reached the server. `sent`: it may have; written before the request leaves.
 * `following`: the server gave a handle.
 */
export type OpenCall = { phase: 'intended' } | { phase: 'sent' } | { phase: 'following'; task: FollowedTask };
export type CallState = OpenCall | { phase: 'ended'; end: CallEnd };

export type CallEvent =
  /** The request is about to leave. */
  | { type: 'sending' }
  /** It is certain that it never arrived. */
  | { type: 'unsent' }
  /** The server gave a handle. */
  | { type: 'handled'; task: RemoteTask; at: number }
  /** The task is about to be asked for. */
  | { type: 'polling'; at: number }
  /** The server told of the task, asked or not. */
  | { type: 'observed'; task: RemoteTask; at: number }
  | { type: 'ended'; end: CallEnd };

export type CallTransition =
  | { ok: true; state: CallState }
  | { ok: false; refusal: 'ended' | 'sent_already' | 'not_sent' | 'not_following' | 'older' };

/** No clock, no I/O, no throw. */
export function callTransition(state: CallState, event: CallEvent): CallTransition {
  if (state.phase === 'ended') return { ok: false, refusal: 'ended' }; // An end is final, whatever arrives late.
  switch (event.type) {
    case 'sending':
      // Also again, under the same idempotency key. Not once there is a handle.
      return state.phase === 'following'
        ? { ok: false, refusal: 'sent_already' }
        : { ok: true, state: { phase: 'sent' } };
    case 'unsent':
      return state.phase === 'sent' ? { ok: true, state: { phase: 'intended' } } : { ok: false, refusal: 'not_sent' };
    case 'handled':
      if (state.phase !== 'sent') return { ok: false, refusal: 'not_sent' };
      return {
        ok: true,
        state: { phase: 'following', task: followed(event.task, { handledAt: event.at, newsAt: event.at }) },
      };
    case 'polling':
      if (state.phase !== 'following') return { ok: false, refusal: 'not_following' };
      return { ok: true, state: { phase: 'following', task: { ...state.task, polledAt: event.at } } };
    case 'observed':
      if (state.phase !== 'following') return { ok: false, refusal: 'not_following' };
      if (isOlder(state.task, event.task)) return { ok: false, refusal: 'older' };
      return { ok: true, state: { phase: 'following', task: observed(state.task, event) } };
    case 'ended':
      return { ok: true, state: { phase: 'ended', end: event.end } };
    default:
      return unreachable(event);
  }
}

/** News may overtake each other (a push, a poll). What is over stays over; of two at one time the one that ends counts. */
function isOlder(known: FollowedTask, news: RemoteTask): boolean {
  if (isOver(known.status)) return !isOver(news.status);
  if (known.updatedAt === undefined || news.updatedAt === undefined) return false;
  return news.updatedAt < known.updatedAt && !isOver(news.status);
}

function observed(known: FollowedTask, { task, at }: { task: RemoteTask; at: number }): FollowedTask {
  const now = followed(task, known);
  const same =
    now.status === known.status &&
    now.statusMessage === known.statusMessage &&
    now.updatedAt === known.updatedAt &&
    now.progress?.progress === known.progress?.progress &&
    now.progress?.message === known.progress?.message;
  return same ? now : { ...now, newsAt: at };
}

function followed(
  task: RemoteTask,
  { handledAt, newsAt, polledAt }: Pick<FollowedTask, 'handledAt' | 'newsAt' | 'polledAt'>,
): FollowedTask {
  const { taskId, status, statusMessage, progress, pollIntervalMs, ttlMs, updatedAt } = task;
  return {
    taskId,
    handledAt,
    newsAt,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress !== undefined && { progress }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...(ttlMs !== undefined && { ttlMs }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(polledAt !== undefined && { polledAt }),
  };
}

export function endOf(outcome: Outcome): CallEnd {
  switch (outcome.status) {
    case 'completed':
      return { kind: 'completed', result: outcome.result };
    case 'failed':
      return { kind: 'failed', error: outcome.error };
    case 'cancelled':
      return { kind: 'cancelled', ...(outcome.reason !== undefined && { reason: outcome.reason }) };
    default:
      return unreachable(outcome);
  }
}

/** What is to be done next for an open call. */
export type CallStep =
  | { do: 'send' }
  | { do: 'poll' }
  /** The task is over and its outcome was not in the answer. */
  | { do: 'fetch' }
  | { do: 'cancel'; taskId: string }
  | { do: 'end'; end: CallEnd };

export interface Circumstances {
  /** Whether the server honours idempotency keys. */
  repeatable: boolean;
  /** Whether the request was taken up by this run for the first time: the mark `sent` is then its own, and nothing left yet. */
  fresh: boolean;
  cancelRequested: boolean;
  /** When a call without a handle is given up. */
  giveUpAt: number;
  now: number;
}

export function nextStep(state: OpenCall, circumstances: Circumstances): CallStep {
  const { cancelRequested, now } = circumstances;
  switch (state.phase) {
    case 'intended':
      if (cancelRequested) return { do: 'end', end: neverSent };
      return now >= circumstances.giveUpAt ? { do: 'end', end: neverReached } : { do: 'send' };
    case 'sent':
      if (circumstances.fresh) return cancelRequested ? { do: 'end', end: neverSent } : { do: 'send' };
      if (cancelRequested) return { do: 'end', end: unknownEnd('it was cancelled before the server had answered') };
      if (!circumstances.repeatable) {
        return { do: 'end', end: unknownEnd('no answer was kept, and the server has no idempotency keys') };
      }
      return now >= circumstances.giveUpAt
        ? { do: 'end', end: unknownEnd('the server did not answer as long as it was asked') }
        : { do: 'send' };
    case 'following':
      if (cancelRequested && !isOver(state.task.status)) return { do: 'cancel', taskId: state.task.taskId };
      if (state.task.status === 'cancelled') return { do: 'end', end: cancelledBy(state.task) };
      return isOver(state.task.status) ? { do: 'fetch' } : { do: 'poll' };
    default:
      return unreachable(state);
  }
}

const neverSent: CallEnd = { kind: 'cancelled', reason: 'cancelled before it was sent' };
const neverReached: CallEnd = {
  kind: 'expired',
  message: 'the server could not be reached in time; nothing ran',
  neverSent: true,
};

export function unknownEnd(why: string): CallEnd {
  return { kind: 'unknown', message: `whether the tool ran is not known: ${why}` };
}

function cancelledBy({ statusMessage }: FollowedTask): CallEnd {
  return { kind: 'cancelled', ...(statusMessage !== undefined && { reason: statusMessage }) };
}

/**
 * When the task's time is over by our own clock, a moment of grace included; undefined: never, or nobody said.
 * Servers keep an expired task readable for a while, so that whoever asks learns why it is gone.
 */
export function deadlineOf(task: FollowedTask, graceMs: number): number | undefined {
  return typeof task.ttlMs === 'number' ? task.handledAt + task.ttlMs + graceMs : undefined;
}
