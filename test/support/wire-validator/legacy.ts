import { isObject, type Json, metaKey, objectAt, TASKS } from './json.ts';
import type { Problem } from './violation.ts';

interface LegacyRequest {
  method: string;
  version: string | undefined;
  params: Json;
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';
/** What they answer is about the task they name. */
const namingTheirTask = ['tasks/get', 'tasks/list', 'tasks/cancel'];

/** To a client of 2025-11-25 nothing may look like the later revision. */
export function legacyProblems(request: LegacyRequest, result: Json): Problem[] {
  const { method, params, version = '2025-11-25' } = request;
  const problems: Problem[] = [];
  const refuse = (path: string, reason: string) => problems.push({ path, reason });
  if ('resultType' in result) refuse('/resultType', 'must be absent: it is of 2026-07-28');
  for (const key of [metaKey.serverInfo, metaKey.subscriptionId]) {
    if (key in objectAt(result, '_meta')) refuse('/_meta', `must not hold ${key}, of 2026-07-28`);
  }
  const handle = isObject(result['task']) && !('content' in result);
  if (handle && !isObject(params['task'])) refuse('/task', 'must be no handle: the request did not ask for a task');
  if (version < '2025-11-25' && (handle || method.startsWith('tasks/'))) {
    refuse('', `must not be about tasks: ${version} has none`);
  }
  const related = objectAt(result, '_meta', RELATED_TASK)['taskId'];
  if (method === 'tasks/result' && related !== params['taskId']) {
    refuse(`/_meta/${RELATED_TASK.replace('/', '~1')}`, 'must name the task whose result this is');
  }
  if (namingTheirTask.includes(method) && related !== undefined) refuse('/_meta', 'must not name the task once more');
  if (method !== 'tasks/list' && namingTheirTask.includes(method) && result['taskId'] !== params['taskId']) {
    refuse('/taskId', 'must be the one asked for');
  }
  if (method === 'tasks/cancel' && result['status'] !== 'cancelled') refuse('/status', 'must be cancelled already');
  if (version < '2025-11-25' && method === 'initialize' && 'tasks' in objectAt(result, 'capabilities')) {
    refuse('/capabilities/tasks', `must be absent: ${version} has none`);
  }
  const tools = Array.isArray(result['tools']) ? result['tools'] : [];
  if (version < '2025-11-25' && tools.some((tool) => isObject(tool) && 'execution' in tool)) {
    refuse('/tools', `must say nothing about execution: ${version} has no such member`);
  }
  return problems;
}

/** Notifications and requests of a server's own. */
export function legacyNotificationProblems(method: string, params: Json, version = '2025-11-25'): Problem[] {
  const related = RELATED_TASK in objectAt(params, '_meta');
  if (version < '2025-11-25' && (related || method.startsWith('notifications/tasks'))) {
    return [{ path: '/params', reason: `must not be about tasks: ${version} has none` }];
  }
  if (method === 'notifications/tasks/status' && related) {
    return [{ path: '/params/_meta', reason: 'must not name the task once more' }];
  }
  return [];
}

/** A client that moved to 2026-07-28 may look after a task it made before: it says that it knows such tasks, and no others. */
export function isFromBefore({ method, params }: { method: string; params: Json }): boolean {
  const capabilities = objectAt(params, '_meta', metaKey.clientCapabilities);
  if (
    !(metaKey.protocolVersion in objectAt(params, '_meta')) ||
    isObject(objectAt(capabilities, 'extensions')[TASKS])
  ) {
    return false;
  }
  return ['tasks/get', 'tasks/cancel'].includes(method) && isObject(capabilities['tasks']);
}

/** The answer is in the words of 2025-11-25, but for what every result of 2026-07-28 has. */
export function fromBeforeProblems({ params }: { params: Json }, result: Json): Problem[] {
  const problems: Problem[] = [];
  if (result['resultType'] !== 'complete') problems.push({ path: '/resultType', reason: 'must be complete' });
  if (result['taskId'] !== params['taskId']) problems.push({ path: '/taskId', reason: 'must be the one asked for' });
  return problems;
}
