import { DEFAULTS, isAnonymous, isTerminal, TaskNotFoundError } from '../core/index.ts';
import type { CreatedTask } from '../engine/index.ts';
import type { Decoded } from '../wire/decoded.ts';
import * as v16 from '../wire/rev-sep-1686/index.ts';
import { type Answer, refuse, standInFor } from './answers.ts';
import { type Caller, sessionIdOf } from './caller.ts';
import { follow } from './follow.ts';
import { isLeaving } from './leaving.ts';
import { asListed } from './listed-result.ts';
import type { ServingParts } from './parts.ts';
import { streamOf } from './questions.ts';
import { answerTo } from './rpc-error.ts';
import { isConnectionClosed, type ServerContext } from './sdk.ts';

/** Its own end is not enough reason to answer a request: its task may still be asked for. */
const never = (): boolean => false;

/**
 * For a request that its requestor made a task by the first draft: says that there is a task, and answers the request too,
 * once the task is over. Questions and progress go out on the request's own stream, as long as there is one.
 * @see SEP-1686, sections 3.4, 4.4 and 4.8
 */
export async function serveFirstDraft(
  { task }: CreatedTask,
  caller: Caller,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { tasks, peer, inFlight, followers } = parts;
  const { signal, id } = ctx.mcpReq;
  const taskId = v16.taskIdOf(task);
  const session = sessionIdOf(peer);
  const cancel = (reason: unknown): void => {
    const why = typeof reason === 'string' && reason !== '' ? reason : 'cancelled by the client';
    tasks.engine.cancel(task.taskId, task.principal, why).catch((error) => {
      if (error instanceof TaskNotFoundError) return; // Gone by itself.
      tasks.logger.error({ error }, 'a task could not be cancelled');
    });
  };
  const answered = inFlight.outlives(session, id, cancel);
  try {
    await streamOf(caller, ctx, parts).send({ jsonrpc: '2.0', ...v16.encodeCreated(taskId) });
    if (session !== '') followers.follow(session, task);
    const { record } = await follow(task, caller, ctx, parts, {
      enoughFor: never,
      progressMeta: v16.relatedTask(taskId),
    });
    answered();
    const { state } = asListed(record, tasks);
    if (!isTerminal(state)) throw new Error('a task was followed to its end and has none');
    return standInFor(v16.encodeAnswer(record, state, taskId), ctx, parts);
  } catch (error) {
    if (!signal.aborted) {
      answered();
      if (error instanceof TaskNotFoundError) return standInFor(v16.encodeGone(), ctx, parts);
      return refuse(answerTo(error, task.name, tasks), ctx, parts);
    }
    // Whose connection breaks has cancelled nothing, nor has anybody when it is the server that leaves.
    if (!isConnectionClosed(signal.reason) && !isLeaving(parts)) {
      answered();
      cancel(signal.reason);
    }
    throw error;
  }
}

/** What a request says by the first draft of the task it wants to be; `undefined`: nothing that counts here. */
export function firstDraftWish(
  { keepResultMs }: { keepResultMs: number },
  ctx: ServerContext,
  { principal }: Caller,
  { firstDraft, peer }: ServingParts,
): Decoded<{ requestorTaskId: string; keepAliveMs: number }> | undefined {
  if (!firstDraft || peer.era !== 'legacy') return undefined;
  const wish = v16.decodeTask(ctx.mcpReq._meta);
  if (wish?.ok !== true) return wish;
  const { keepAliveMs = keepResultMs } = wish.value;
  const longestMs = isAnonymous(principal) ? DEFAULTS.anonymousTtlMs : Number.MAX_SAFE_INTEGER;
  const requestorTaskId = v16.keepTaskId(wish.value.requestorTaskId, sessionIdOf(peer), principal);
  if (requestorTaskId === undefined) return undefined; // Nobody could say later whose task it is.
  return { ok: true, value: { requestorTaskId, keepAliveMs: Math.min(keepAliveMs ?? longestMs, longestMs) } };
}
