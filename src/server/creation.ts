import { DEFAULTS, isAnonymous, TaskIdTakenError } from '../core/index.ts';
import type { CreatedTask, Tasks } from '../engine/index.ts';
import * as v16 from '../wire/rev-sep-1686/index.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import { type Caller, sessionIdOf } from './caller.ts';
import type { ServingParts } from './parts.ts';
import type { ServerContext } from './sdk.ts';

type CreateRequest = Parameters<Tasks['engine']['create']>[0];

/** The task a request led to. */
export type TaskCall = CreatedTask & { keyed: boolean };

/** What is particular to a request that becomes a task; who asks, and by which revision, is known of every request. */
export interface Creation
  extends Pick<CreateRequest, 'definition' | 'input' | 'prepared' | 'labels' | 'idempotencyKey' | 'repeatAgeMs'> {
  /** What its requestor can be asked. @default what it declared */
  abilities?: CreateRequest['abilities'];
  /** Where the requestor makes the id, by the first draft. */
  own?: { requestorTaskId: string; keepAliveMs: number } | undefined;
  /** The life that is wished for; null: for ever. @default the tool's, and less for callers nobody knows */
  wishedMs?: number | null | undefined;
  /** Its requestor waits for it, rather than for a handle. */
  attended: boolean;
  /** Its requestor is told of its progress under the token of the request. */
  followed: boolean;
  /** The same request of the same caller is the same task while that is open. */
  joins: boolean;
}

/** @throws what the engine throws */
export async function createTask(
  { own, abilities, wishedMs, followed, joins, ...request }: Creation,
  { principal, version, traceparent, ...caller }: Caller,
  ctx: ServerContext,
  { tasks, peer }: ServingParts,
): Promise<TaskCall> {
  // Anonymous callers must not find each other's tasks by calling with the same arguments.
  const known = !isAnonymous(principal);
  const { progressToken } = ctx.mcpReq._meta ?? {};
  const ttlMs = lifeOf(request.definition, known, wishedMs);
  const created = await tasks.engine.create({
    ...request,
    ...own,
    principal,
    abilities: abilities ?? caller.abilities,
    revision: own === undefined ? (version ?? v25.REVISION) : v16.REVISION,
    originRequestId: String(ctx.mcpReq.id),
    ...(ttlMs !== undefined && { ttlMs }),
    // Later revisions tell no progress of tasks.
    ...(followed && progressToken !== undefined && { progressToken: v25.keepToken(sessionIdOf(peer), progressToken) }),
    ...(traceparent !== undefined && { traceparent }),
    ...(joins && known && { joinOpen: true }),
  });
  // A key of ours does not make one task two: who calls it otherwise would not find it.
  if (own !== undefined && created.task.requestorTaskId !== own.requestorTaskId) throw new TaskIdTakenError();
  return { ...created, keyed: request.idempotencyKey !== undefined };
}

/** The life to ask the engine for, which grants what it can; `undefined`: the tool's. */
function lifeOf(definition: CreateRequest['definition'], known: boolean, wishedMs?: number | null): number | undefined {
  if (wishedMs === null) return Number.MAX_SAFE_INTEGER; // For ever, as far as there is such a thing.
  if (wishedMs !== undefined || known) return wishedMs;
  return Math.min(DEFAULTS.anonymousTtlMs, definition.ttlMs ?? Number.POSITIVE_INFINITY);
}
