/** The revision this folder speaks. */
export const REVISION = '2026-07-28';
/** The extension's label in capabilities. Its value is always an empty object. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
/** Progress for clients that want more than the status message; ours, so any client may ignore it. */
export const PROGRESS_META_KEY = 'longcall/progress';

/** Keys of other generations that tie a message to a task. They have no place in an inlined result. */
export const RELATED_TASK_META_KEYS = [
  'io.modelcontextprotocol/related-task',
  'modelcontextprotocol.io/related-task',
] as const;

export const METHODS = { get: 'tasks/get', update: 'tasks/update', cancel: 'tasks/cancel' } as const;
const methods: ReadonlySet<string> = new Set(Object.values(METHODS));

/** Whether a request of this name is about a task that is there already. */
export function isTaskMethod(method: string | null | undefined): boolean {
  return typeof method === 'string' && methods.has(method);
}

/** Asks to be told of changes, of tasks among others. */
export const LISTEN_METHOD = 'subscriptions/listen';

export const CLIENT_CAPABILITIES_META_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const CLIENT_INFO_META_KEY = 'io.modelcontextprotocol/clientInfo';
export const TRACEPARENT_META_KEY = 'traceparent';
export const SERVER_INFO_META_KEY = 'io.modelcontextprotocol/serverInfo';
/** Names the listen request on everything that is sent for it. */
export const SUBSCRIPTION_META_KEY = 'io.modelcontextprotocol/subscriptionId';
