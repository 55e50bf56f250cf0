import { isTerminal, type TaskRecord, type TerminalState } from '../core/index.ts';
import { negotiateMethod } from '../wire/negotiate.ts';
import {
  decodeTaskId,
  encodeList,
  encodePayload,
  encodeTask,
  keptToken,
  METHODS,
  methodNotFound,
  notCancellable,
  offeredTo,
  REVISION,
  statusOf,
  type TasksCapability,
} from '../wire/rev2025-11-25/index.ts';
import { wordsFor } from '../wire/words.ts';
import { callerOf, sessionIdOf } from './caller.ts';
import { firstDraftMethods } from './first-draft-methods.ts';
import type { Host, MethodHandler as Method } from './host.ts';
import { listPage } from './list-page.ts';
import { asListed } from './listed-result.ts';
import { decoded, registerMethod } from './method.ts';
import type { ServingParts } from './parts.ts';
import { streamOf } from './questions.ts';
import { asThrown } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';

/**
 * `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` of 2025-11-25, as far as `declared` offers them, and those of
 * the first draft where it is spoken.
 */
export function registerLegacyTaskMethods(
  host: Host,
  parts: ServingParts,
  declared: TasksCapability | undefined,
): void {
  const { tasks, peer, principalOf, wording, firstDraft } = parts;
  const { engine } = tasks;
  const before: Record<string, Method> = firstDraft ? firstDraftMethods(parts) : {};
  const owner = (ctx: ServerContext) => principalOf({ auth: ctx.http?.authInfo });
  const own: Record<string, Method> = {
    [METHODS.get]: async (params, ctx) => {
      const record = await engine.poll(decoded(decodeTaskId(params)), owner(ctx), ctx.mcpReq.signal);
      return encodeTask(record, engine.clock.now(), wording);
    },
    [METHODS.result]: async (params, ctx) => {
      const ended = asListed(await attend(parts, decoded(decodeTaskId(params)), ctx), tasks);
      const reply = encodePayload(ended.taskId, ended.state as TerminalState, ended.method);
      if ('error' in reply) throw asThrown(reply.error);
      return reply.result;
    },
    [METHODS.list]: async (params, ctx) => {
      const page = await listPage(params, owner(ctx), tasks);
      return encodeList(page.tasks, engine.clock.now(), page.nextCursor, wording);
    },
    [METHODS.cancel]: async (params, ctx) => {
      const taskId = decoded(decodeTaskId(params));
      const outcome = await engine.cancel(taskId, owner(ctx), 'cancelled by the client');
      const record = await engine.get(taskId, owner(ctx));
      if (outcome === 'already_terminal') throw asThrown(notCancellable(statusOf(record, wording)));
      return encodeTask(record, engine.clock.now(), wording);
    },
  };
  for (const method of Object.keys({ ...own, ...before })) {
    const negotiated: Method = async (params, ctx) => {
      const { version, clientCapabilities, principal } = callerOf(ctx, peer, principalOf);
      const offered = declared && offeredTo(principal, declared);
      const face = negotiateMethod(method, { version, clientCapabilities, declared: offered, firstDraft });
      if (face.face === 'refused') throw asThrown(face.error);
      const served = (face.revision === REVISION ? own : before)[method];
      if (served === undefined) throw asThrown(methodNotFound(`Method not found: ${method}`));
      return served(params, ctx);
    };
    registerMethod(host, method, negotiated, tasks);
  }
}

/** Waits for the end of a task; meanwhile its questions and its progress go out on the stream of the request. */
async function attend(parts: ServingParts, taskId: string, ctx: ServerContext): Promise<TaskRecord> {
  const { tasks, desk, told, principalOf } = parts;
  const { logger } = tasks;
  const caller = callerOf(ctx, parts.peer, principalOf);
  const { principal } = caller;
  await tasks.engine.get(taskId, principal); // Who has no such task must not stand between its owner and its questions.
  const stream = streamOf(caller, ctx, parts);
  const leave = desk.attend(taskId, stream);
  const sessionId = sessionIdOf(parts.peer);
  const report = (record: TaskRecord): void => {
    const { state, progress, progressToken } = record;
    const token = keptToken(sessionId, progressToken);
    if (isTerminal(state)) told.forget(taskId);
    else if (token !== undefined && progress !== undefined && desk.leads(taskId, stream)) {
      if (!told.isNews(taskId, progress)) return;
      const notification = wordsFor(record, caller.version).progress(record, token, progress);
      stream.send({ jsonrpc: '2.0', ...notification }).catch(() => {}); // The signal tells when nobody is left.
    }
  };
  let brought: Promise<void> | undefined;
  try {
    const ended = await tasks.engine.wait(taskId, principal, {
      signal: ctx.mcpReq.signal,
      onChange: (record) => {
        report(record);
        brought = desk.bring(record, stream).catch((error) => {
          if (!ctx.mcpReq.signal.aborted) logger.warn({ error }, 'a question could not be sent to its requestor');
        });
      },
    });
    await brought; // What the end closes is withdrawn before the stream ends with the answer.
    return ended;
  } finally {
    leave();
  }
}
