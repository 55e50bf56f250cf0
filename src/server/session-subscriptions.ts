import { isJsonObject } from '../core/index.ts';
import { invalidParams } from '../wire/errors.ts';
import { callerOf, sessionIdOf } from './caller.ts';
import type { MethodHandler } from './host.ts';
import type { ServingParts } from './parts.ts';
import { taskNamed } from './requestor-ids.ts';
import { asThrown } from './rpc-error.ts';
import { subscribable } from './task-uris.ts';

/** Subscriptions of sessions to tasks and their logs, by method. What they are told goes where the session listens. */
export function sessionSubscriptions(parts: ServingParts): Record<string, MethodHandler> {
  const { tasks, peer, principalOf, followers } = parts;
  return {
    'resources/subscribe': async (params, ctx) => {
      const uri = uriOf(params);
      const sessionId = sessionIdOf(peer);
      if (sessionId === '')
        throw asThrown(invalidParams('resources/subscribe: only sessions can; begin with initialize'));
      const { principal } = callerOf(ctx, peer, principalOf);
      const wanted = subscribable(uri);
      const taskId = wanted && (await taskNamed(wanted.taskId, principal, parts));
      if (wanted === undefined || taskId === undefined || !(await tasks.engine.owns(taskId, principal))) {
        throw asThrown({ ...invalidParams(`Resource not found: ${uri}`), data: { uri } });
      }
      followers.subscribe(sessionId, uri, { ...wanted, taskId, principal });
      return {};
    },
    'resources/unsubscribe': async (params) => {
      followers.unsubscribe(sessionIdOf(peer), uriOf(params));
      return {};
    },
  };
}

function uriOf(params: unknown): string {
  const uri = isJsonObject(params) ? params.uri : undefined;
  if (typeof uri !== 'string') throw asThrown(invalidParams('params.uri: expected a string'));
  return uri;
}
