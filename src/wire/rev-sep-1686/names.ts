/** The revision this folder speaks: the first draft of tasks, SEP-1686, before any dated revision had them. */
export const REVISION = 'SEP-1686';

export const METHODS = {
  get: 'tasks/get',
  result: 'tasks/result',
  list: 'tasks/list',
  delete: 'tasks/delete',
} as const;

/** Makes a request one that creates a task: what its requestor calls the task, and how long to keep it. */
export const TASK_META_KEY = 'modelcontextprotocol.io/task';
/** Ties a message to a task, as `{ taskId }`. On every message about tasks, also where it is said already. */
export const RELATED_TASK_META_KEY = 'modelcontextprotocol.io/related-task';

export const CREATED_NOTIFICATION = 'notifications/tasks/created';
