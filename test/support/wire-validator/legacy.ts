import { isObject, type Json, metaKey, objectAt } from './json.ts';
import type { Problem } from './violation.ts';

/** To a client of 2025-11-25 nothing may look like the later revision. */
export function legacyProblems(
  request: { method: string; version: string | undefined; params: Json },
  result: Json,
): Problem[] {
  const problems: Problem[] = [];
  if ('resultType' in result) problems.push({ path: '/resultType', reason: 'must be absent: it is of 2026-07-28' });
  for (const key of [metaKey.serverInfo, metaKey.subscriptionId]) {
    if (key in objectAt(result, '_meta'))
      problems.push({ path: '/_meta', reason: `must not hold ${key}, of 2026-07-28` });
  }
  const handle = isObject(result['task']) && !('content' in result);
  if (handle && !isObject(request.params['task'])) {
    problems.push({ path: '/task', reason: 'must be no handle: the request did not ask for a task' });
  }
  if ((request.version ?? '2025-11-25') < '2025-11-25' && (handle || request.method.startsWith('tasks/'))) {
    problems.push({ path: '', reason: `must not be about tasks: ${request.version} has none` });
  }
  return problems;
}
