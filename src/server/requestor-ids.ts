import type { Principal, TaskId } from '../core/index.ts';
import * as v16 from '../wire/rev-sep-1686/index.ts';
import { sessionIdOf } from './caller.ts';
import type { ServingParts } from './parts.ts';

/** Our id of a task that a request names: by its requestor's id, where the first draft is spoken, or by ours. */
export async function taskNamed(
  taskId: string,
  principal: Principal,
  { tasks, peer, firstDraft }: ServingParts,
): Promise<TaskId> {
  if (!firstDraft || peer.era !== 'legacy') return taskId;
  const kept = v16.keepTaskId(taskId, sessionIdOf(peer), principal);
  const known = kept === undefined ? undefined : await tasks.engine.named(kept, principal);
  return known ?? taskId;
}
