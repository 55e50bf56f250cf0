import { isTerminal, type JsonObject, type Question, type TaskRecord } from '../core/index.ts';
import type { Caller } from './caller.ts';
import type { ServingParts } from './parts.ts';
import { progressReporter } from './progress.ts';
import { streamOf } from './questions.ts';
import type { ServerContext } from './sdk.ts';

/** Why a call is answered, though its task may go on. */
type Reason = 'over' | 'asks' | 'late';

interface FollowOptions {
  /** After so many milliseconds it is late. @default never */
  waitMs?: number;
  /** Ends it too. @default a question that cannot be asked */
  enoughFor?: (record: TaskRecord) => boolean;
  /** What its progress says besides. */
  progressMeta?: JsonObject;
}

/**
 * Follows a task until the request that waits for it has to be answered: it is over, or waits for something its caller
 * cannot be asked, or it is late. Meanwhile its progress and its questions go out on the request's own stream.
 */
export async function follow(
  task: TaskRecord,
  caller: Caller,
  ctx: ServerContext,
  parts: ServingParts,
  options: FollowOptions,
): Promise<{ record: TaskRecord; reason: Reason }> {
  const { tasks, desk } = parts;
  const { waitMs, enoughFor = (record) => unaskable(record, caller), progressMeta } = options;
  const { engine, logger } = tasks;
  const { signal } = ctx.mcpReq;
  const enough = new AbortController();
  let reason: Reason = 'over';
  const end = (why: Reason): void => {
    if (enough.signal.aborted) return;
    reason = why;
    enough.abort();
  };
  const timer = waitMs === undefined ? undefined : engine.clock.setTimer(waitMs, () => end('late'));
  if (waitMs === 0) end('late');
  const reporter = progressReporter(ctx, engine.clock, progressMeta);
  const stream = caller.askedBy === 'requests' ? streamOf(caller, ctx, parts) : undefined;
  const leave = stream === undefined ? undefined : desk.attend(task.taskId, stream);
  let latest = task;
  try {
    await engine.wait(task.taskId, caller.principal, {
      signal: AbortSignal.any([signal, enough.signal]),
      onChange: (record) => {
        latest = record;
        reporter.report(record.progress);
        if (stream !== undefined) {
          desk.bring(record, stream).catch((error) => {
            if (!signal.aborted) logger.warn({ error }, 'a question could not be sent to its requestor');
          });
        }
        if (enoughFor(record)) end('asks');
      },
    });
  } catch (error) {
    if (signal.aborted || !enough.signal.aborted) throw error;
  } finally {
    timer?.cancel();
    reporter.stop();
    leave?.();
  }
  return { record: latest, reason: isTerminal(latest.state) ? 'over' : reason };
}

/** It waits for something that its caller cannot be asked while the call goes on. */
function unaskable({ state }: TaskRecord, { askedBy, abilities }: Caller): boolean {
  if (state.status !== 'input_required') return false;
  return askedBy !== 'requests' || Object.values(state.inputRequests).some(({ kind }) => abilities[kind] !== true);
}

/** The open questions that a caller can be asked by the answer to its call. */
export function askable({ state }: TaskRecord, { askedBy, abilities }: Caller): Map<string, Question> {
  if (state.status !== 'input_required' || askedBy !== 'rounds') return new Map();
  return new Map(Object.entries(state.inputRequests).filter(([, { kind }]) => abilities[kind] === true));
}
