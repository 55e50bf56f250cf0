import {
  isTerminal,
  type JsonObject,
  pollIntervalMs,
  type Question,
  type TaskRecord,
  type TerminalState,
} from '../core/index.ts';
import { encodeInlinedResult, encodeInputRequired } from '../wire/rev2026-07-28/index.ts';
import { type Answer, chosenOf, inlineAnswer, refuse } from './answers.ts';
import type { TaskCall } from './call-tool.ts';
import type { Caller } from './caller.ts';
import { type Detached, stillRunning, waitingForAnswer } from './detached.ts';
import { isLeaving } from './leaving.ts';
import type { CallLimits } from './limits.ts';
import type { ServingParts } from './parts.ts';
import { progressReporter } from './progress.ts';
import { streamOf } from './questions.ts';
import { answerTo } from './rpc-error.ts';
import { type CallToolResult, isConnectionClosed, type ServerContext } from './sdk.ts';
import { sealOf } from './seals.ts';
import { sessionKnowsTasks } from './tool-view.ts';

/** From this version on a result may link a resource. */
const FIRST_WITH_LINKS = '2025-06-18';

const NONE: ReadonlySet<string> = new Set();

/** Why a call is answered, though its task may go on. */
type Reason = 'over' | 'asks' | 'late';

/**
 * For callers without tasks: the call runs as a task all the same, and is answered with its result if that comes in time;
 * else with what to do next. Questions reach the caller in whatever way it can be asked.
 */
export async function serveFallback(
  call: TaskCall,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { task } = call;
  const { signal } = ctx.mcpReq;
  const session = parts.peer.era === 'legacy' ? (parts.peer.session()?.id ?? '') : '';
  const answered = parts.inFlight.outlives(session, ctx.mcpReq.id, (reason) => callOff(call, reason, parts));
  try {
    const { record, reason } = await follow(task, caller, ctx, parts, { waitMs: limits.waitMs });
    answered();
    if (reason === 'over') return result(record, ctx, parts);
    const questions = askable(record, caller);
    if (reason === 'asks' && questions.size > 0) {
      const asking = encodeInputRequired(task.taskId, questions, caller.principal, await sealOf(parts.tasks));
      return parts.outbox.standIn({ result: asking }, signal) as CallToolResult;
    }
    return detach(record, caller, limits, ctx, parts);
  } catch (error) {
    // A legacy client whose connection breaks has not cancelled anything, and nobody has when it is the server that leaves.
    const legacyCut = parts.peer.era === 'legacy' && isConnectionClosed(signal.reason);
    const cut = signal.aborted && (legacyCut || isLeaving(parts.tasks));
    if (!cut) answered();
    if (!signal.aborted) return refuse(answerTo(error, task.name, parts.tasks), ctx, parts);
    if (!cut) callOff(call, signal.reason, parts);
    throw error;
  }
}

/** Nobody else knows the id. Who only gave up waiting may call again, though, and then joins what still runs. */
function callOff({ task, keyed }: TaskCall, reason: unknown, { tasks }: ServingParts): void {
  if (isTimeout(reason)) return;
  tasks.engine
    .abandon(task.taskId, task.principal, keyed)
    .catch((error) => tasks.logger.error({ error }, 'a task nobody will ask for could not be cancelled'));
}

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
function askable({ state }: TaskRecord, { askedBy, abilities }: Caller): Map<string, Question> {
  if (state.status !== 'input_required' || askedBy !== 'rounds') return new Map();
  return new Map(Object.entries(state.inputRequests).filter(([, { kind }]) => abilities[kind] === true));
}

/** What a finished task answers its call with. */
function result(record: TaskRecord, ctx: ServerContext, parts: ServingParts): CallToolResult {
  const state = record.state as TerminalState;
  return inlineAnswer(record.name, state, chosenOf(state), ctx, parts);
}

/** The call ends here and its task goes on. */
function detach(
  record: TaskRecord,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): CallToolResult {
  const note = detachedNote(record, caller, parts);
  // What is listed to clients without tasks allows for it. The others would refuse it, except as a failure.
  if (limits.schemaHeld) return { content: note.content as CallToolResult['content'], isError: true };
  const result = parts.peer.era === 'modern' ? encodeInlinedResult(note as never) : (note as never);
  return parts.outbox.standIn({ result }, ctx.mcpReq.signal) as CallToolResult;
}

/** What a caller reads of a task that is not over. */
export function detachedNote(record: TaskRecord, { version }: Caller, parts: ServingParts): Detached {
  const { tasks, resources, companions, peer } = parts;
  const ageMs = tasks.engine.clock.now() - record.createdAt;
  const options = {
    pollAfterMs: record.pollIntervalMs ?? pollIntervalMs(ageMs),
    link: resources && version !== undefined && version >= FIRST_WITH_LINKS,
    companions: peer.era === 'legacy' && sessionKnowsTasks(peer.session()) ? NONE : companions,
  };
  return record.state.status === 'input_required' ? waitingForAnswer(record, options) : stillRunning(record, options);
}

/** What hosts say in `notifications/cancelled` when a limit of theirs has run out; a person who cancels is told otherwise. */
function isTimeout(reason: unknown): boolean {
  return typeof reason === 'string' && /\btime(d )?-?out\b/i.test(reason);
}
