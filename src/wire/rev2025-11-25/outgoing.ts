import { isJsonObject, type Principal } from '../../core/index.ts';
import { offeredTo } from './capabilities.ts';
import { RELATED_TASK_META_KEY, REVISION } from './names.ts';

const STATUS_NOTIFICATION = 'notifications/tasks/status';
const ELICITATION = 'elicitation/create';

/**
 * The message without any trace of tasks, for a session of a version that has none: neither in what the server says of
 * itself nor in what it says of its tools.
 * @param version of the session, as far as it is known; an answer to `initialize` names its own
 * @returns `undefined` for a message that must not leave at all
 */
export function forVersion(message: unknown, version: string | undefined): unknown {
  if (!isJsonObject(message)) return message;
  const { result, method } = message;
  if (!isJsonObject(result)) {
    if (version === REVISION) return message;
    if (method === STATUS_NOTIFICATION) return undefined;
    return method === ELICITATION ? { ...message, params: plainQuestion(message.params) } : message;
  }
  const { protocolVersion, capabilities, tools } = result;
  if (typeof protocolVersion === 'string' && isJsonObject(capabilities)) {
    if (protocolVersion === REVISION) return message;
    const { tasks: _tasks, ...rest } = capabilities;
    return { ...message, result: { ...result, capabilities: rest } };
  }
  if (!Array.isArray(tools) || version === REVISION) return message;
  const plain = tools.map((tool) => {
    if (!isJsonObject(tool)) return tool;
    const { execution: _execution, ...rest } = tool;
    return rest;
  });
  return { ...message, result: { ...result, tools: plain } };
}

/** The answer to an `initialize`, saying of tasks only what is offered to this caller. */
export function withTasksOffered(message: unknown, principal: Principal | undefined): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return message;
  const { result } = message;
  if (!isJsonObject(result.capabilities) || !isJsonObject(result.capabilities.tasks)) return message;
  const tasks = offeredTo(principal, result.capabilities.tasks);
  return { ...message, result: { ...result, capabilities: { ...result.capabilities, tasks } } };
}

/** Before 2025-11-25 a question had one mode, without a name, and belonged to no task. */
function plainQuestion(params: unknown): unknown {
  if (!isJsonObject(params)) return params;
  const { mode: _mode, _meta, ...rest } = params;
  const { [RELATED_TASK_META_KEY]: _task, ...meta } = isJsonObject(_meta) ? _meta : {};
  return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}
