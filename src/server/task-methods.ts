import { type RpcErrorObject, TaskNotFoundError, type TaskRecord } from '../core/index.ts';
import { negotiateMethod } from '../wire/negotiate.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import {
  CLIENT_CAPABILITIES_META_KEY,
  decodeAnswers,
  decodeTaskId,
  encodeAck,
  encodeTask,
  METHODS,
  REVISION,
} from '../wire/rev2026-07-28/index.ts';
import type { Host, MethodHandler as Method } from './host.ts';
import { decoded, registerMethod } from './method.ts';
import type { ServingParts } from './parts.ts';
import { asThrown } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';

/**
 * `tasks/get`, `tasks/update` and `tasks/cancel` of 2026-07-28. First the capability, then the shape, then the lookup:
 * a request that did not opt in learns nothing, not even whether an id exists.
 */
export function registerTaskMethods(host: Host, { tasks, principalOf, wording }: ServingParts): void {
  const { engine } = tasks;
  const register = (method: string, handler: Method): void => {
    const negotiated: Method = async (params, ctx) => {
      const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
      const clientCapabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
      const face = negotiateMethod(method, { version: REVISION, clientCapabilities, declared: undefined });
      if (face.face === 'refused') throw asThrown(face.error);
      return face.face === 'served_if_legacy' ? fromBefore(method, params, ctx, face.error) : handler(params, ctx);
    };
    registerMethod(host, method, negotiated, tasks);
  };
  const owner = (ctx: ServerContext) => principalOf({ auth: ctx.http?.authInfo });
  /** The caller's task of 2025-11-25, in its words; for every other id the answer is `error`. */
  const fromBefore = async (
    method: string,
    params: unknown,
    ctx: ServerContext,
    error: RpcErrorObject,
  ): Promise<Record<string, unknown>> => {
    const taskId = decodeTaskId(params);
    const principal = owner(ctx);
    const find = async (id: string): Promise<TaskRecord> => {
      const record = await (method === METHODS.get
        ? engine.poll(id, principal, ctx.mcpReq.signal)
        : engine.get(id, principal));
      if (record.revision !== v25.REVISION) throw new TaskNotFoundError();
      return record;
    };
    let record: TaskRecord;
    try {
      if (!taskId.ok) throw asThrown(error);
      record = await find(taskId.value);
    } catch (problem) {
      throw problem instanceof TaskNotFoundError ? asThrown(error) : problem;
    }
    if (method === METHODS.cancel) {
      const outcome = await engine.cancel(record.taskId, principal, 'cancelled by the client');
      record = await engine.get(record.taskId, principal);
      if (outcome === 'already_terminal') throw asThrown(v25.notCancellable(v25.statusOf(record, wording)));
    }
    return v25.encodeTaskForLaterRevision(record, engine.clock.now(), wording);
  };

  register(METHODS.get, async (params, ctx) => {
    const record = await engine.poll(decoded(decodeTaskId(params)), owner(ctx), ctx.mcpReq.signal);
    return encodeTask(record, engine.clock.now());
  });
  register(METHODS.update, async (params, ctx) => {
    const taskId = decoded(decodeTaskId(params));
    const principal = owner(ctx);
    const open = await engine.openQuestions(taskId, principal);
    await engine.answer(taskId, principal, decoded(decodeAnswers(params, open)));
    return encodeAck();
  });
  register(METHODS.cancel, async (params, ctx) => {
    await engine.cancel(decoded(decodeTaskId(params)), owner(ctx), 'cancelled by the client');
    return encodeAck();
  });
}
