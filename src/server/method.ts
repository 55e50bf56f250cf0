import { RateLimitedError } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import type { Decoded } from '../wire/decoded.ts';
import { invalidParams } from '../wire/errors.ts';
import type { Host, MethodHandler } from './host.ts';
import { answerTo, asThrown } from './rpc-error.ts';
import { refuseForNow } from './too-many-requests.ts';

/** Puts a method on a server; what it throws is answered as a JSON-RPC error that tells the peer no more than it should. */
export function registerMethod(host: Host, name: string, method: MethodHandler, tasks: Tasks): void {
  host.registerMethod(name, async (params, ctx) => {
    try {
      return await method(params, ctx);
    } catch (error) {
      if (ctx.mcpReq.signal.aborted) throw error; // Nobody is there to be answered.
      if (error instanceof RateLimitedError) refuseForNow(ctx.http?.req, error.retryAfterMs);
      throw asThrown(answerTo(error, name, tasks));
    }
  });
}

/** What a codec read. @throws {Error} as the SDK wants it, when it makes no sense: invalid params, and why. */
export function decoded<Value>(result: Decoded<Value>): Value {
  if (result.ok) return result.value;
  throw asThrown(invalidParams(result.message));
}
