// What a single result of 2026-07-28 has to look like beyond its schema. Pure; paths start at the result.
import { schemaProblems } from '../../spec/schemas.ts';
import { isObject, type Json, metaKey, objectAt, TASKS } from './json.ts';
import type { Problem } from './violation.ts';

const statuses = ['working', 'input_required', 'completed', 'failed', 'cancelled'];
/** The member that carries what a status is about; it belongs to that status alone. */
const payloads: Record<string, string> = { inputRequests: 'input_required', result: 'completed', error: 'failed' };
const inputMethods = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

/** Members every task object shares: handle, get and push. */
function taskProblems(task: Json): Problem[] {
  const problems: Problem[] = [];
  const refuse = (path: string, reason: string) => problems.push({ path, reason });
  if (typeof task['taskId'] !== 'string' || task['taskId'] === '') refuse('/taskId', 'must be a string with content');
  if (!statuses.includes(String(task['status']))) refuse('/status', `must be one of ${statuses.join(', ')}`);
  for (const name of ['createdAt', 'lastUpdatedAt']) {
    if (!isUtcTimestamp(task[name])) refuse(`/${name}`, 'must be an ISO 8601 timestamp in UTC');
  }
  if (Date.parse(String(task['lastUpdatedAt'])) < Date.parse(String(task['createdAt']))) {
    refuse('/lastUpdatedAt', 'must not be before createdAt');
  }
  if (task['ttlMs'] !== null && !isPositiveInteger(task['ttlMs']))
    refuse('/ttlMs', 'must be null or an integer above 0');
  if (task['pollIntervalMs'] !== undefined && !isPositiveInteger(task['pollIntervalMs'])) {
    refuse('/pollIntervalMs', 'must be an integer above 0');
  }
  for (const name of ['ttl', 'pollInterval']) {
    if (name in task) refuse(`/${name}`, `must be absent: 2026-07-28 says ${name}Ms`);
  }
  if ('task' in task) refuse('/task', 'must be absent: the task is flat');
  if ('requestState' in task) refuse('/requestState', 'must be absent: no task shape has it');
  return [...problems, ...relatedTaskProblems(task)];
}

/** `CreateTaskResult`: a receipt and no more, even if the task has ended meanwhile. */
export function handleProblems(handle: Json): Problem[] {
  const surplus = ['result', 'error', 'inputRequests', 'content', 'structuredContent', 'isError'];
  return [
    ...taskProblems(handle),
    ...surplus
      .filter((name) => name in handle)
      .map((name) => ({ path: `/${name}`, reason: 'must be absent from a handle' })),
  ];
}

/** What `tasks/get` returns and `notifications/tasks` carries. */
export function detailedTaskProblems(task: Json): Problem[] {
  const problems = taskProblems(task);
  for (const [name, status] of Object.entries(payloads)) {
    if (name in task && task['status'] !== status) {
      problems.push({ path: `/${name}`, reason: `must be absent while the status is ${String(task['status'])}` });
    }
  }
  if (task['status'] === 'completed') {
    problems.push(...at('/result', inlinedResultProblems(task['result'])));
  }
  if (task['status'] === 'failed' && objectAt(task, 'error')['message'] === '') {
    problems.push({ path: '/error/message', reason: 'must say what happened' });
  }
  if (task['status'] === 'input_required') {
    const requests = objectAt(task, 'inputRequests');
    if (Object.keys(requests).length === 0) {
      problems.push({ path: '/inputRequests', reason: 'must hold what the task waits for' });
    }
    problems.push(...at('/inputRequests', inputRequestProblems(requests)));
  }
  return problems;
}

/** Requests that travel in results have no life of their own. */
function inputRequestProblems(requests: Json): Problem[] {
  return Object.entries(requests).flatMap(([key, request]) => {
    const path = `/${key}`;
    if (!isObject(request)) return [{ path, reason: 'must be a request' }];
    const problems: Problem[] = [];
    if (!inputMethods.includes(String(request['method']))) {
      problems.push({ path: `${path}/method`, reason: `must be one of ${inputMethods.join(', ')}` });
    }
    for (const name of ['id', 'jsonrpc']) {
      if (name in request)
        problems.push({ path: `${path}/${name}`, reason: 'must be absent: it is no JSON-RPC request' });
    }
    return problems;
  });
}

/** `InputRequiredResult`: it has to ask for something, or give something to come back with. */
export function inputRequiredProblems(result: Json): Problem[] {
  if (!('inputRequests' in result) && !('requestState' in result)) {
    return [{ path: '', reason: 'must have inputRequests or requestState' }];
  }
  return [
    ...at('/inputRequests', inputRequestProblems(objectAt(result, 'inputRequests'))),
    ...(['taskId', 'status']
      .filter((name) => name in result)
      .map((name) => ({
        path: `/${name}`,
        reason: 'must be absent: there is no task yet',
      })) satisfies Problem[]),
  ];
}

/** The answer to `tasks/update` and `tasks/cancel`. */
export function acknowledgementProblems(result: Json): Problem[] {
  return Object.keys(result)
    .filter((name) => name !== 'resultType' && name !== '_meta')
    .map((name) => ({ path: `/${name}`, reason: 'must be absent: an acknowledgement is empty' }));
}

export function discoverProblems(result: Json): Problem[] {
  const capabilities = objectAt(result, 'capabilities');
  const problems: Problem[] = [];
  if ('tasks' in capabilities)
    problems.push({ path: '/capabilities/tasks', reason: 'must be absent: it is of 2025-11-25' });
  const extension = objectAt(capabilities, 'extensions')[TASKS];
  if (extension !== undefined && JSON.stringify(extension) !== '{}') {
    problems.push({ path: `/capabilities/extensions/${TASKS.replace('/', '~1')}`, reason: 'must be an empty object' });
  }
  return problems;
}

export function toolListProblems(result: Json): Problem[] {
  const tools = Array.isArray(result['tools']) ? result['tools'] : [];
  return tools.flatMap((tool: unknown, index) => [
    ...(isObject(tool) && 'execution' in tool
      ? [{ path: `/tools/${index}/execution`, reason: 'must be absent: it is of 2025-11-25' }]
      : []),
    ...('taskHint' in objectAt(tool, 'annotations')
      ? [{ path: `/tools/${index}/annotations/taskHint`, reason: 'must be absent: it is of the first draft' }]
      : []),
  ]);
}

/** The original result inside a completed task is what the call itself would have returned. */
function inlinedResultProblems(result: unknown): Problem[] {
  if (!isObject(result)) return [{ path: '', reason: 'must be the result of the call' }];
  const problems = relatedTaskProblems(result);
  if (result['resultType'] !== 'complete') {
    problems.push({ path: '/resultType', reason: 'must be "complete", inside a task too' });
  }
  return [...problems, ...schemaProblems('core-2026-07-28', 'CallToolResult', result)];
}

function relatedTaskProblems(holder: Json): Problem[] {
  const meta = objectAt(holder, '_meta');
  return metaKey.relatedTask
    .filter((key) => key in meta)
    .map((key) => ({ path: `/_meta/${key.replace('/', '~1')}`, reason: 'must be absent: 2026-07-28 has no such key' }));
}

export function at(prefix: string, problems: readonly Problem[]): Problem[] {
  return problems.map(({ path, reason }) => ({ path: prefix + path, reason }));
}

function isPositiveInteger(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function isUtcTimestamp(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)) return false;
  const parsed = new Date(value);
  // A date such as February 30 is parsed, but as another day.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 19) === value.slice(0, 19);
}
