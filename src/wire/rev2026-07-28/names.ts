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
