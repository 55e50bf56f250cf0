import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { methodNotFound } from '../../wire/rev2025-11-25/index.ts';
import type { MethodHandler } from '../host.ts';
import type { CallerAuth } from '../principal.ts';
import { asThrown } from '../rpc-error.ts';
import type { RequestId, ServerContext } from '../sdk.ts';

type Fallback = NonNullable<Server['fallbackRequestHandler']>;

/** What the SDK tells a handler of the request that it serves. */
export interface RequestExtra {
  requestId: RequestId;
  signal: AbortSignal;
  authInfo?: CallerAuth | undefined;
  /** There where a stream that broke can be gone on with. */
  closeSSEStream?: (() => void) | undefined;
  _meta?: { progressToken?: RequestId | undefined; [key: string]: unknown } | undefined;
}

/**
 * Lets a server answer methods of any name and shape, for which the SDK asks for a schema of its own kind. Only its handler
 * for everything unknown takes requests as they are; one of the server's own, set before or after, is asked as before.
 * @returns puts a method there
 */
export function offerMethods(
  server: Server,
  contextOf: (extra: RequestExtra) => ServerContext,
): (name: string, handler: MethodHandler) => void {
  const methods = new Map<string, MethodHandler>();
  let own = server.fallbackRequestHandler;
  const answer: Fallback = async (request, extra) => {
    const handler = methods.get(request.method);
    if (handler !== undefined) return handler(request.params, contextOf(extra));
    if (own !== undefined) return own(request, extra);
    throw asThrown(methodNotFound('Method not found'));
  };
  Object.defineProperty(server, 'fallbackRequestHandler', {
    configurable: true,
    get: () => answer,
    set: (handler: Fallback | undefined) => {
      own = handler;
    },
  });
  return (name, handler) => void methods.set(name, handler);
}
