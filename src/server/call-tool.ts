import { isAnonymous, isTerminal, type JsonObject, type TaskRecord } from '../core/index.ts';
import type { Prepared, RegisteredTaskTool } from '../engine/index.ts';
import { COMPANIONS } from '../wire/companions.ts';
import { decodeIdempotencyKey, decodeRepeat, EXISTING_META_KEY } from '../wire/idempotency.ts';
import { type CallFace, negotiateCall, type TaskRevision } from '../wire/negotiate.ts';
import { relayedMeta } from '../wire/relayed.ts';
import * as v16 from '../wire/rev-sep-1686/index.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import * as v26 from '../wire/rev2026-07-28/index.ts';
import { type Answer, failure, refuse, standInFor } from './answers.ts';
import { type Caller, callerOf, sessionIdOf } from './caller.ts';
import { createTask, type TaskCall } from './creation.ts';
import { serveFallback } from './fallback.ts';
import { firstDraftWish, serveFirstDraft } from './first-draft.ts';
import { runInline } from './inline.ts';
import type { ServingParts } from './parts.ts';
import type { RawArguments } from './raw-schema.ts';
import { relatedLabels } from './related.ts';
import { continueRound } from './rounds.ts';
import { answerTo, asThrown, chosenError } from './rpc-error.ts';
import { isConnectionClosed, type ServerContext } from './sdk.ts';
import { sessionKnowsTasks } from './tool-view.ts';

/** Answers one `tools/call`. First the capability, then the arguments, then whatever the tool does. */
export async function callTool(
  tool: RegisteredTaskTool,
  args: RawArguments,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { tasks, peer, principalOf } = parts;
  let caller: Caller;
  try {
    caller = callerOf(ctx, peer, principalOf);
  } catch (error) {
    return refuse(answerTo(error, tool.name, tasks), ctx, parts);
  }
  const limits = parts.limits.of(tool, {
    client: caller.client,
    hearsProgress: ctx.mcpReq._meta?.progressToken !== undefined,
    knowsTasks: peer.era === 'legacy' && sessionKnowsTasks(peer.session()),
  });
  const task = peer.era === 'legacy' ? v25.keptTask(ctx.mcpReq._meta) : undefined;
  const wanted = firstDraftWish(tool.definition, ctx, caller, parts);
  const face = negotiateCall({
    version: caller.version,
    clientCapabilities: caller.clientCapabilities,
    declared: parts.declared,
    tool: tool.name,
    support: tool.support,
    task,
    augmented: wanted !== undefined,
    firstDraft: parts.firstDraft,
    fallback: limits.how,
  });
  if (face.face === 'refused') return refuse(face.error, ctx, parts);
  if (args.problem !== undefined) return invalidArguments(tool, args.problem, face, ctx, parts);
  if (v26.hasRound(ctx.mcpReq._meta)) return continueRound(tool, caller, limits, ctx, parts);
  let prepared: Prepared;
  try {
    prepared = await tool.prepare?.(args.parsed, {
      principal: caller.principal,
      canAsk: caller.askedBy === 'rounds' && caller.abilities.form,
      ...v26.earlierRounds(ctx.mcpReq),
      meta: relayedMeta(ctx.mcpReq._meta),
      signal: ctx.mcpReq.signal,
    });
  } catch (error) {
    const chosen = chosenError(error);
    if (chosen !== undefined) return refuse(chosen, ctx, parts);
    throw error; // The SDK makes it a failure the model can read.
  }
  if (prepared?.problem !== undefined) return invalidArguments(tool, prepared.problem, face, ctx, parts);
  if (prepared?.respond !== undefined) {
    return v26.immediateAnswer(prepared.respond as JsonObject) as unknown as Answer;
  }
  if (face.face === 'inline') return runInline(tool, args, prepared?.prepared, caller, ctx, parts);
  let call: TaskCall;
  try {
    call = await create(tool, args, prepared, { caller, face, task, wanted }, ctx, parts);
  } catch (error) {
    return refuse(answerTo(error, tool.name, tasks), ctx, parts);
  }
  if (face.face === 'fallback') return serveFallback(call, caller, limits, ctx, parts);
  if (face.revision === v16.REVISION) return serveFirstDraft(call, caller, ctx, parts);
  return handle(call, face.revision, ctx, parts);
}

/** In the words of the SDK, which had to let them pass. */
function invalidArguments(
  { name }: RegisteredTaskTool,
  problem: string,
  face: CallFace,
  ctx: ServerContext,
  parts: ServingParts,
): Answer {
  const words = `Input validation error: Invalid arguments for tool ${parts.shownAs(name) ?? name}: ${problem}`;
  // Who asked for a task, in a session, takes nothing but a task or an error: the words of a result would be lost.
  const asked = face.face === 'handle' && face.revision !== v26.REVISION;
  return asked ? refuse(v25.invalidParams(words), ctx, parts) : failure(words);
}

/** A call, as far as it is not the tool's. */
interface Asked {
  caller: Caller;
  face: CallFace & { face: 'handle' | 'fallback' };
  /** `params.task` of 2025-11-25. */
  task: unknown;
  /** The same of the first draft. */
  wanted: ReturnType<typeof firstDraftWish>;
}

/** @throws what the engine throws, and a JSON-RPC error where the request is at fault. */
async function create(
  tool: RegisteredTaskTool,
  args: RawArguments,
  prepared: Prepared,
  { caller, face, task, wanted }: Asked,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<TaskCall> {
  const { principal } = caller;
  const key = decodeIdempotencyKey(ctx.mcpReq._meta);
  if (!key.ok) throw asThrown(v26.invalidParams(key.message));
  const repeatAgeMs = decodeRepeat(ctx.mcpReq._meta);
  const handled = face.face === 'handle';
  const wish = handled && face.revision === v25.REVISION ? v25.decodeTask(task) : undefined;
  if (wish?.ok === false) throw asThrown(v25.invalidParams(wish.message));
  const own = handled && face.revision === v16.REVISION ? wanted : undefined;
  if (own?.ok === false) throw asThrown(v25.invalidParams(own.message));
  const idempotencyKey = key.value ?? (isAnonymous(principal) ? undefined : tool.dedupe?.(args.parsed, principal));
  // Who waits for the result and cannot be asked meanwhile still has the tools to answer with, unless it has to block.
  const answersByTool = !handled && face.how !== 'block' && parts.companions.has(COMPANIONS.answer);
  return createTask(
    {
      definition: tool.definition,
      input: args.raw,
      ...(prepared?.prepared !== undefined && { prepared: prepared.prepared }),
      ...(answersByTool && { abilities: { ...caller.abilities, form: true, url: true } }),
      own: own?.value,
      wishedMs: wish?.value.ttlMs,
      attended: !handled,
      followed: (wish ?? own) !== undefined,
      joins: !handled && tool.joinRunning,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(repeatAgeMs !== undefined && { repeatAgeMs }),
      ...(parts.relatedTasks && (await relatedLabels(parts.tasks, ctx.mcpReq._meta, principal))),
    },
    caller,
    ctx,
    parts,
  );
}

/** The task's handle. Until it has left, the task belongs to a request that may still be called off. */
async function handle(
  { task, existing, keyed }: TaskCall,
  revision: TaskRevision,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { tasks, peer, wording, followers } = parts;
  const { engine, logger } = tasks;
  const { signal } = ctx.mcpReq;
  const callOff = (): void => {
    // A client of 2025-11-25 whose connection breaks has cancelled nothing: where it has a list, it finds the task again.
    if (revision === v25.REVISION && v25.mayList(task.principal) && isConnectionClosed(signal.reason)) return;
    engine
      .abandon(task.taskId, task.principal, keyed)
      .catch((error) => logger.error({ error }, 'a task nobody will ask for could not be cancelled'));
  };
  const now = engine.clock.now();
  if (revision === v25.REVISION) {
    const session = sessionIdOf(peer);
    const result = v25.encodeHandle(task, now, { ...wording, existing });
    const sent = (): void => {
      if (session !== '') followers.follow(session, task);
    };
    return standInFor({ result }, ctx, parts, { dropped: callOff, sent });
  }
  const record = await settledSoon(task, ctx, parts);
  if (record?.state.status === 'completed') {
    const result = v26.encodeInlinedResult(record.state.result);
    return standInFor({ result }, ctx, parts);
  }
  const told = v26.encodeHandle(task, now);
  const result = existing ? { ...told, _meta: { [EXISTING_META_KEY]: true } } : told;
  return standInFor({ result }, ctx, parts, { dropped: callOff });
}

/** The task, if it is over within the time that a server may spend on saving its client the polling. */
async function settledSoon(
  task: TaskRecord,
  ctx: ServerContext,
  { tasks, inlineWithinMs }: ServingParts,
): Promise<TaskRecord | undefined> {
  if (inlineWithinMs === 0) return undefined;
  const { engine } = tasks;
  const late = new AbortController();
  const timer = engine.clock.setTimer(inlineWithinMs, () => late.abort());
  try {
    const record = await engine.wait(task.taskId, task.principal, {
      signal: AbortSignal.any([late.signal, ctx.mcpReq.signal]),
    });
    return isTerminal(record.state) ? record : undefined;
  } catch (error) {
    if (late.signal.aborted || ctx.mcpReq.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
  }
}
