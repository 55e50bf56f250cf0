import * as v16 from '../wire/rev-sep-1686/index.ts';
import { mayList, methodNotFound } from '../wire/rev2025-11-25/index.ts';
import { callerOf } from './caller.ts';
import type { MethodHandler } from './host.ts';
import { listPage } from './list-page.ts';
import { asListed } from './listed-result.ts';
import { decoded } from './method.ts';
import type { ServingParts } from './parts.ts';
import { taskNamed } from './requestor-ids.ts';
import { asThrown } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';

/** `tasks/get`, `tasks/result`, `tasks/list` and `tasks/delete` of the first draft. @see SEP-1686, section 3 */
export function firstDraftMethods(parts: ServingParts): Record<string, MethodHandler> {
  const { tasks, peer, principalOf } = parts;
  const { engine } = tasks;
  const { get, result, list, delete: remove } = v16.METHODS;
  /** The task that the request names, by its requestor's id or by ours. */
  const named = async (params: unknown, ctx: ServerContext) => {
    const taskId = decoded(v16.decodeTaskId(params));
    const { principal } = callerOf(ctx, peer, principalOf);
    return { taskId, known: await taskNamed(taskId, principal, parts), principal };
  };
  return {
    [get]: async (params, ctx) => {
      const { taskId, known, principal } = await named(params, ctx);
      const record = await engine.poll(known, principal, ctx.mcpReq.signal);
      return v16.encodeTask(record, taskId, engine.clock.now());
    },
    [result]: async (params, ctx) => {
      const { taskId, known, principal } = await named(params, ctx);
      // It never waits, so it is as good for polling as the other.
      const record = await engine.poll(known, principal, ctx.mcpReq.signal);
      const reply = v16.encodePayload(asListed(record, tasks), taskId);
      if ('error' in reply) throw asThrown(reply.error);
      return reply.result;
    },
    [list]: async (params, ctx) => {
      const { principal } = callerOf(ctx, peer, principalOf);
      if (!mayList(principal)) throw asThrown(methodNotFound(`Method not found: ${list}`));
      const page = await listPage(params, principal, tasks);
      const entries = page.tasks.map((task) => ({ task, taskId: v16.taskIdOf(task) }));
      return v16.encodeList(entries, engine.clock.now(), page.nextCursor);
    },
    [remove]: async (params, ctx) => {
      const { taskId, known, principal } = await named(params, ctx);
      await engine.delete(known, principal);
      return v16.encodeDeleted(taskId);
    },
  };
}
