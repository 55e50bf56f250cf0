import { isAnonymous, type Principal, type TaskRecord } from '../../core/index.ts';

/**
 * The id of a requestor as its task keeps it. Callers nobody can tell apart have one only in a session, whose id is as good
 * as a secret: else one could take, read and end the tasks of another, whose ids may be as simple as "1".
 * @param sessionId empty where there is no session
 * @returns `undefined`: this caller cannot have a task by an id of its own
 */
export function keepTaskId(taskId: string, sessionId: string, principal: Principal): string | undefined {
  if (!isAnonymous(principal)) return taskId;
  return sessionId === '' ? undefined : `${sessionId} ${taskId}`;
}

/** What a task is called on this revision: by its requestor's own id, where it has one. */
export function taskIdOf({ taskId, requestorTaskId, principal }: TaskRecord): string {
  if (requestorTaskId === undefined) return taskId;
  if (!isAnonymous(principal)) return requestorTaskId;
  return requestorTaskId.slice(requestorTaskId.indexOf(' ') + 1);
}
