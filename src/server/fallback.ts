import { pollIntervalMs, type TaskRecord, type TerminalState } from '../core/index.ts';
import { encodeInlinedResult, encodeInputRequired } from '../wire/rev2026-07-28/index.ts';
import { type Answer, chosenOf, inlineAnswer, refuse, standInFor } from './answers.ts';
import { type Caller, sessionIdOf } from './caller.ts';
import type { TaskCall } from './creation.ts';
import { type Detached, stillRunning, waitingForAnswer } from './detached.ts';
import { askable, follow } from './follow.ts';
import { isLeaving } from './leaving.ts';
import type { CallLimits } from './limits.ts';
import type { ServingParts } from './parts.ts';
import { answerTo } from './rpc-error.ts';
import { type CallToolResult, isConnectionClosed, type ServerContext } from './sdk.ts';
import { sealOf } from './seals.ts';
import { shownTask } from './shown-task.ts';
import { sessionKnowsTasks } from './tool-view.ts';

/** From this version on a result may link a resource. */
const FIRST_WITH_LINKS = '2025-06-18';

const NONE: ReadonlySet<string> = new Set();

/**
 * For callers without tasks: the call runs as a task all the same, and is answered with its result if that comes in time;
 * else with what to do next. Questions reach the caller in whatever way it can be asked.
 */
export function serveFallback(
  call: TaskCall,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  return serveWaiting(call, caller, ctx, parts, {
    waitMs: limits.waitMs,
    over: (record) => result(record, ctx, parts),
    late: (record) => detach(record, caller, limits, ctx, parts),
  });
}

/** What a call is answered with whose caller waits for its task. */
interface Answering {
  waitMs: number;
  /** When the task is over. */
  over(record: TaskRecord): Answer;
  /** When it is not, and nothing can be asked. */
  late(record: TaskRecord): Answer | Promise<Answer>;
}

/** Keeps a caller waiting for its task, and answers as it is told; what the task asks, its caller is asked. */
export async function serveWaiting(
  call: TaskCall,
  caller: Caller,
  ctx: ServerContext,
  parts: ServingParts,
  { waitMs, over, late }: Answering,
): Promise<Answer> {
  const { task } = call;
  const { signal } = ctx.mcpReq;
  const session = sessionIdOf(parts.peer);
  const answered = parts.inFlight.outlives(session, ctx.mcpReq.id, (reason) => callOff(call, reason, parts));
  try {
    const { record, reason } = await follow(task, caller, ctx, parts, { waitMs });
    answered();
    if (reason === 'over') return over(record);
    const questions = askable(record, caller);
    if (reason === 'asks' && questions.size > 0) {
      const asking = encodeInputRequired(task.taskId, questions, caller.principal, await sealOf(parts.tasks));
      return standInFor({ result: asking }, ctx, parts);
    }
    return await late(record);
  } catch (error) {
    // A legacy client whose connection breaks has not cancelled anything, and nobody has when it is the server that leaves.
    const legacyCut = parts.peer.era === 'legacy' && isConnectionClosed(signal.reason);
    const cut = signal.aborted && (legacyCut || isLeaving(parts));
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

/** What a finished task answers its call with. */
function result(record: TaskRecord, ctx: ServerContext, parts: ServingParts): CallToolResult {
  const state = record.state as TerminalState;
  return inlineAnswer(shownTask(record, parts).name, state, chosenOf(state), ctx, parts);
}

/** The call ends here and its task goes on. */
async function detach(
  record: TaskRecord,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<CallToolResult> {
  const note = detachedNote(record, caller, parts, await hasLogged(record, parts));
  // What is listed to clients without tasks allows for it. The others would refuse it, except as a failure.
  if (limits.schemaHeld) return { content: note.content as CallToolResult['content'], isError: true };
  const result = parts.peer.era === 'modern' ? encodeInlinedResult(note as never) : (note as never);
  return parts.outbox.standIn({ result }, ctx.mcpReq.signal) as CallToolResult;
}

/** What a caller reads of a task that is not over. */
export function detachedNote(record: TaskRecord, { version }: Caller, parts: ServingParts, hasLog: boolean): Detached {
  const { tasks, resources, companions, peer } = parts;
  const ageMs = tasks.engine.clock.now() - record.createdAt;
  const options = {
    pollAfterMs: record.pollIntervalMs ?? pollIntervalMs(ageMs),
    link: resources && version !== undefined && version >= FIRST_WITH_LINKS,
    companions: peer.era === 'legacy' && sessionKnowsTasks(peer.session()) ? NONE : companions,
    hasLog,
  };
  const shown = shownTask(record, parts);
  return shown.state.status === 'input_required' ? waitingForAnswer(shown, options) : stillRunning(shown, options);
}

/** A log that cannot be looked at now is no reason not to answer. */
export async function hasLogged({ taskId, principal }: TaskRecord, { tasks }: ServingParts): Promise<boolean> {
  try {
    return (await tasks.engine.logEnd(taskId, principal)) > 0;
  } catch (error) {
    tasks.logger.debug({ error }, 'the log of a task could not be looked at');
    return false;
  }
}

/** What hosts say in `notifications/cancelled` when a limit of theirs has run out; a person who cancels is told otherwise. */
function isTimeout(reason: unknown): boolean {
  return typeof reason === 'string' && /\btime(d )?-?out\b/i.test(reason);
}
