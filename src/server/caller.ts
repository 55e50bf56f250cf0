import { CLIENT_CAPABILITIES_META_KEY, type ServerContext, TRACEPARENT_META_KEY } from '@modelcontextprotocol/server';
import type { Principal, RequestorAbilities } from '../core/index.ts';
import { declaredCapabilities } from '../wire/rev2026-07-28/index.ts';
import type { PrincipalOf } from './principal.ts';

export type Era = 'legacy' | 'modern';

/** Who is asking, and what this very request says it can take. */
export interface Caller {
  principal: Principal;
  /** It may be answered with a task. */
  tasks: boolean;
  abilities: RequestorAbilities;
  /** It can answer what is asked before a task exists. */
  canAsk: boolean;
  traceparent: string | undefined;
}

/** @throws whatever `principalOf` throws, when nobody can say whose request it is. */
export function callerOf(ctx: ServerContext, era: Era, principalOf: PrincipalOf): Caller {
  const principal = principalOf({ auth: ctx.http?.authInfo });
  const traceparent = ctx.mcpReq._meta?.[TRACEPARENT_META_KEY];
  // Legacy sessions declare nothing per request that this revision of tasks would honour.
  const envelope = era === 'modern' ? (ctx.mcpReq.envelope as Record<string, unknown> | undefined) : undefined;
  const { tasks, abilities } = declaredCapabilities(envelope?.[CLIENT_CAPABILITIES_META_KEY]);
  return {
    principal,
    tasks,
    // A question reaches only those who look at the task: whoever waits for the result would wait for ever.
    abilities: tasks ? abilities : { form: false },
    canAsk: abilities.form,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  };
}
