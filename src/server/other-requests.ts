import type { JsonValue, TaskRecord } from '../core/index.ts';
import type { RegisteredTaskPrompt, RegisteredTaskResource } from '../engine/index.ts';
import { internalError, invalidParams } from '../wire/errors.ts';
import { negotiateRequest } from '../wire/negotiate.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import * as v26 from '../wire/rev2026-07-28/index.ts';
import { type Answer, refuse } from './answers.ts';
import { type Caller, callerOf } from './caller.ts';
import { createTask } from './creation.ts';
import { serveWaiting } from './fallback.ts';
import { firstDraftWish, serveFirstDraft } from './first-draft.ts';
import type { ServingParts } from './parts.ts';
import { progressReporter } from './progress.ts';
import { continueWaiting } from './rounds.ts';
import { answerTo, asThrown } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';

/** A prompt or a resource: what runs as a task, but is no tool. */
type Work = RegisteredTaskPrompt | RegisteredTaskResource;

/**
 * Answers a `prompts/get` or a `resources/read`. Only the first draft has these as tasks of their clients; everybody else
 * waits for the answer, and whoever gives up and asks again finds the task that is at work.
 * @throws {Error} with a code: the JSON-RPC error it is answered with
 */
export async function serveOther(
  work: Work,
  input: JsonValue,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Record<string, unknown>> {
  const { peer, principalOf, tasks } = parts;
  try {
    const caller = callerOf(ctx, peer, principalOf);
    const wish = firstDraftWish(work.definition, ctx, caller, parts);
    const face = negotiateRequest({
      version: caller.version,
      what: `${work.definition.method} of ${work.name}`,
      support: work.support,
      augmented: wish !== undefined,
      firstDraft: parts.firstDraft,
      fallback: work.task.fallback?.mode,
    });
    if (face.face === 'refused') throw asThrown(face.error);
    if (face.face === 'inline') return await within(work, input, caller, ctx, parts);
    const waitMs = waitOf(work, caller, ctx, parts);
    const waiting = { waitMs, over: answerOf(ctx, parts), late: lateAnswer(ctx, parts) };
    if (v26.hasRound(ctx.mcpReq._meta)) return await continueWaiting(work.definition, caller, ctx, parts, waiting);
    const asked = face.face === 'handle' ? wish : undefined;
    if (asked?.ok === false) throw asThrown(invalidParams(asked.message));
    const call = await createTask(
      {
        definition: work.definition,
        input,
        own: asked?.value,
        attended: asked === undefined,
        followed: asked !== undefined,
        joins: asked === undefined && (work.task.joinRunning ?? true),
      },
      caller,
      ctx,
      parts,
    );
    return await (asked === undefined
      ? serveWaiting(call, caller, ctx, parts, waiting)
      : serveFirstDraft(call, caller, ctx, parts));
  } catch (error) {
    if (ctx.mcpReq.signal.aborted) throw error; // Nobody is there to be answered.
    throw asThrown(answerTo(error, `${work.definition.method} ${work.name}`, tasks));
  }
}

/** Runs it within its request, without the store. */
async function within(
  { definition }: Work,
  input: JsonValue,
  { principal }: Caller,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Record<string, unknown>> {
  const { engine } = parts.tasks;
  const reporter = progressReporter(ctx, engine.clock);
  try {
    const state = await engine.runInline(definition, input, {
      principal,
      signal: ctx.mcpReq.signal,
      onProgress: reporter.report,
    });
    return answerOf(ctx, parts)({ method: definition.method, state });
  } finally {
    reporter.stop();
  }
}

function waitOf({ task }: Work, { client }: Caller, ctx: ServerContext, { limits }: ServingParts): number {
  const hearsProgress = ctx.mcpReq._meta?.progressToken !== undefined;
  return task.fallback?.maxBlockMs ?? limits.longestWaitMs({ client, hearsProgress });
}

function answerOf(ctx: ServerContext, parts: ServingParts): (ended: Pick<TaskRecord, 'method' | 'state'>) => Answer {
  return ({ method, state }) => {
    switch (state.status) {
      case 'completed':
        return plain(method, state.result, parts) as Answer;
      case 'failed':
        return refuse({ ...state.error }, ctx, parts);
      case 'cancelled':
        return refuse({ ...internalError, message: state.reason ?? 'the task was cancelled' }, ctx, parts);
      default:
        throw new Error('a task was followed to its end and has none');
    }
  };
}

/** There is no note how to go on that these could be answered with, so it is an error, which says that it goes on. */
function lateAnswer(ctx: ServerContext, parts: ServingParts): (record: TaskRecord) => Answer {
  return ({ name }) => {
    const message = `${name} is not ready yet; it goes on, so ask again to wait for it`;
    return refuse({ ...internalError, message }, ctx, parts);
  };
}

function plain(method: string, result: Parameters<typeof v26.plainResult>[0], { peer }: ServingParts) {
  return peer.era === 'modern' ? v26.plainResult(result) : v25.plainResult(result, method);
}
