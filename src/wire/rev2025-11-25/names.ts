/** The revision this folder speaks. */
export const REVISION = '2025-11-25';

export const METHODS = {
  get: 'tasks/get',
  result: 'tasks/result',
  list: 'tasks/list',
  cancel: 'tasks/cancel',
} as const;

export const STATUS_NOTIFICATION = 'notifications/tasks/status';

/** Ties a message to a task, as `{ taskId }`, where nothing else in the message says which. */
export const RELATED_TASK_META_KEY = 'io.modelcontextprotocol/related-task';
/** On a handle: what a host may hand to its model at once, in place of the result. Provisional. */
export const IMMEDIATE_RESPONSE_META_KEY = 'io.modelcontextprotocol/model-immediate-response';

/** Keys of other revisions, which mean nothing to a peer of this one, or something else than they say. */
export const FOREIGN_META_KEYS = [
  'modelcontextprotocol.io/related-task',
  'io.modelcontextprotocol/serverInfo',
  'io.modelcontextprotocol/subscriptionId',
] as const;
