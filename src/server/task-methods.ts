import { CLIENT_CAPABILITIES_META_KEY, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { RateLimitedError } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import {
  type Decoded,
  declaredCapabilities,
  decodeAnswers,
  decodeTaskId,
  encodeAck,
  encodeTask,
  invalidParams,
  METHODS,
  missingTasksCapability,
} from '../wire/rev2026-07-28/index.ts';
import type { PrincipalOf } from './principal.ts';
import { answerTo, asThrown } from './rpc-error.ts';
import { refuseForNow } from './too-many-requests.ts';

/** Lets anything through: the codec decides what is valid, in the order the extension asks for. */
const ANY_PARAMS = {
  '~standard': { version: 1, vendor: 'longcall', validate: (value: unknown) => ({ value }) },
} as const;

type Method = (params: unknown, ctx: ServerContext) => Promise<Record<string, unknown>>;

/**
 * `tasks/get`, `tasks/update` and `tasks/cancel` of 2026-07-28. First the capability, then the shape, then the lookup:
 * a request that did not opt in learns nothing, not even whether an id exists.
 */
export function registerTaskMethods(mcp: McpServer, { engine, logger }: Tasks, principalOf: PrincipalOf): void {
  const register = (method: string, handler: Method): void => {
    mcp.server.setRequestHandler(method, { params: ANY_PARAMS }, async (params, ctx) => {
      if (!declaresTasks(ctx)) throw asThrown(missingTasksCapability(method));
      try {
        return await handler(params, ctx);
      } catch (error) {
        if (error instanceof RateLimitedError) refuseForNow(ctx.http?.req, error.retryAfterMs);
        throw asThrown(answerTo(error, method, logger));
      }
    });
  };
  const owner = (ctx: ServerContext) => principalOf({ auth: ctx.http?.authInfo });

  register(METHODS.get, async (params, ctx) => {
    const record = await engine.poll(decoded(decodeTaskId(params)), owner(ctx), ctx.mcpReq.signal);
    return encodeTask(record, engine.clock.now());
  });
  register(METHODS.update, async (params, ctx) => {
    const taskId = decoded(decodeTaskId(params));
    const principal = owner(ctx);
    const open = await engine.openKeys(taskId, principal);
    await engine.answer(taskId, principal, decoded(decodeAnswers(params, open)));
    return encodeAck();
  });
  register(METHODS.cancel, async (params, ctx) => {
    await engine.cancel(decoded(decodeTaskId(params)), owner(ctx), 'cancelled by the client');
    return encodeAck();
  });
}

function declaresTasks(ctx: ServerContext): boolean {
  const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
  return declaredCapabilities(envelope?.[CLIENT_CAPABILITIES_META_KEY]).tasks;
}

function decoded<Value>(result: Decoded<Value>): Value {
  if (result.ok) return result.value;
  throw asThrown(invalidParams(result.message));
}
