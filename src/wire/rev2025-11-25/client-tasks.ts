import { isJsonObject, type JsonObject, type RequestorAbilities } from '../../core/index.ts';
import { METHODS, REVISION } from './names.ts';

// The requestor as a receiver: questions of a server that become tasks of ours.

/** What a client says that it takes as tasks; `undefined`: nothing. @see 2025-11-25 tasks, "Client Capabilities" */
function clientTasks({ form, url = false, sampling = false }: RequestorAbilities): JsonObject | undefined {
  const elicitation = form || url;
  if (!elicitation && !sampling) return undefined;
  return {
    list: {},
    cancel: {},
    requests: {
      ...(sampling && { sampling: { createMessage: {} } }),
      ...(elicitation && { elicitation: { create: {} } }),
    },
  };
}

/** An `initialize` of this revision with the tasks that the client takes; every other message as it is. */
export function withTasksDeclared<Message>(message: Message, abilities: RequestorAbilities): Message {
  const tasks = clientTasks(abilities);
  if (tasks === undefined || !isJsonObject(message) || message.method !== 'initialize') return message;
  const { params } = message;
  if (!isJsonObject(params) || params.protocolVersion !== REVISION || !isJsonObject(params.capabilities))
    return message;
  return { ...message, params: { ...params, capabilities: { ...params.capabilities, tasks } } };
}

export type TaskRequest = { kind: 'create'; task: unknown } | { kind: 'get' | 'result' | 'list' | 'cancel' };

const ASKED: ReadonlyMap<unknown, TaskRequest> = new Map<unknown, TaskRequest>([
  [METHODS.get, { kind: 'get' }],
  [METHODS.result, { kind: 'result' }],
  [METHODS.list, { kind: 'list' }],
  [METHODS.cancel, { kind: 'cancel' }],
]);

/**
 * What a server's request wants of tasks; `undefined`: nothing that was declared. A question that was declared as no task is
 * answered as if it did not ask for one.
 * @see 2025-11-25 tasks, "Capability Negotiation"
 */
export function readTaskRequest(
  { method, params }: { method?: unknown; params?: unknown },
  { form, url = false, sampling = false }: RequestorAbilities,
): TaskRequest | undefined {
  const asks = (method === 'sampling/createMessage' && sampling) || (method === 'elicitation/create' && (form || url));
  if (!asks) return form || url || sampling ? ASKED.get(method) : undefined;
  return isJsonObject(params) && Object.hasOwn(params, 'task') ? { kind: 'create', task: params.task } : undefined;
}
