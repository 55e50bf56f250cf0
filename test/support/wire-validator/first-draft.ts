// What the first draft of tasks (SEP-1686) adds to sessions before 2025-11-25, on a server that speaks it.
import { schemaProblems } from '../../spec/schemas.ts';
import { isObject, type Json, objectAt } from './json.ts';
import type { Definition } from './results.ts';
import type { Problem } from './violation.ts';

const TASK = 'modelcontextprotocol.io/task';
const RELATED = 'modelcontextprotocol.io/related-task';
const CREATED = 'notifications/tasks/created';

const draft = (name: string): Definition => ['g1-core-draft-2025-10-31', name];
const results: Record<string, Definition> = {
  'tasks/get': draft('GetTaskResult'),
  'tasks/result': draft('GetTaskPayloadResult'),
  'tasks/list': draft('ListTasksResult'),
  'tasks/delete': draft('DeleteTaskResult'),
};
/** Whose answer belongs to one task. */
const ofOneTask = ['tasks/get', 'tasks/result', 'tasks/delete'];
const statuses = ['submitted', 'working', 'input_required', 'completed', 'failed', 'cancelled', 'unknown'];

/** Whether a session of this version has tasks by the first draft alone. */
export function isBefore(version: string | undefined): boolean {
  return version === undefined || version < '2025-11-25';
}

export function definitionOf(method: string): Definition | undefined {
  return Object.hasOwn(results, method) ? results[method] : undefined;
}

/** The id that a request gave its task, if it asked for one. */
export function askedTaskId(params: Json): string | undefined {
  const { taskId } = objectAt(params, '_meta', TASK);
  return typeof taskId === 'string' ? taskId : undefined;
}

interface Created {
  /** Ids that requests which are open gave their tasks. */
  asked: ReadonlySet<string>;
  /** Those among them that were told to be there. */
  told: Set<string>;
}

export function firstDraftResultProblems(
  { method, params }: { method: string; params: Json },
  result: Json,
  told: Set<string>,
): Problem[] {
  const problems: Problem[] = [];
  const refuse = (path: string, reason: string) => problems.push({ path, reason });
  if (isObject(result['task']) && !('content' in result) && method === 'tools/call')
    refuse('/task', 'must be no handle: there is none before 2025-11-25');
  const related = objectAt(result, '_meta', RELATED)['taskId'];
  const mine = ofOneTask.includes(method) ? params['taskId'] : askedTaskId(params);
  // A request that could not become a task is answered as if nothing had been asked.
  const expected = ofOneTask.includes(method) || told.has(String(mine)) ? mine : undefined;
  if (related !== expected) refuse(`/_meta/${RELATED.replace('/', '~1')}`, `must be ${JSON.stringify(expected)}`);
  if ('io.modelcontextprotocol/related-task' in objectAt(result, '_meta')) {
    refuse('/_meta', 'must not hold the key of a later revision');
  }
  if (method === 'tasks/get' && result['taskId'] !== params['taskId']) refuse('/taskId', 'must be the one asked for');
  const tasks = method === 'tasks/get' ? [result] : method === 'tasks/list' ? (result['tasks'] as Json[]) : [];
  for (const task of tasks) {
    if (!statuses.includes(String(task['status']))) refuse('/status', 'must be one of the seven');
    if ((task['status'] === 'failed') !== 'error' in task)
      refuse('/error', 'must be there of a failed task, and only then');
    for (const later of ['ttl', 'ttlMs', 'createdAt', 'statusMessage', 'pollInterval']) {
      if (later in task) refuse(`/${later}`, 'must be absent: it is of a later revision');
    }
  }
  if (method === 'tasks/delete') told.delete(String(params['taskId'])); // Its id may be given again.
  const capability = objectAt(result, 'capabilities')['tasks'];
  if (method === 'initialize' && isObject(capability)) {
    const names = Object.values(capability).flatMap((kind) => (isObject(kind) ? Object.values(kind) : [kind]));
    if (names.some((supported) => typeof supported !== 'boolean')) {
      refuse('/capabilities/tasks', 'must hold booleans before 2025-11-25');
    }
  }
  return problems;
}

/** What a server may ask of a client that made a request of it a task. */
export function definitionOfRequest(method: string): Definition | undefined {
  const requests: Record<string, Definition> = {
    'tasks/get': draft('GetTaskRequest'),
    'tasks/result': draft('GetTaskPayloadRequest'),
    'tasks/delete': draft('DeleteTaskRequest'),
  };
  return Object.hasOwn(requests, method) ? requests[method] : undefined;
}

export function firstDraftNotificationProblems(method: string, message: Json, { asked, told }: Created): Problem[] {
  const related = objectAt(message, 'params', '_meta', RELATED)['taskId'];
  if (method !== CREATED) return [];
  const problems = schemaProblems('g1-core-draft-2025-10-31', 'TaskCreatedNotification', message);
  const refuse = (path: string, reason: string) => problems.push({ path, reason });
  if (typeof related !== 'string' || !asked.has(related))
    refuse('/params/_meta', 'must name a task that was asked for');
  else if (told.has(related)) refuse('', 'must come once');
  else told.add(related);
  if (Object.keys(objectAt(message, 'params')).some((name) => name !== '_meta'))
    refuse('/params', 'must be empty but for _meta');
  return problems;
}
