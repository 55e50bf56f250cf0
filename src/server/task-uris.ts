import type { TaskId } from '../core/index.ts';

/** A resource that whoever subscribes to it is told of: a task, or its log. */
export interface Subscribable {
  taskId: TaskId;
  of: 'task' | 'log';
}

/** `undefined`: nobody can subscribe to that. */
export function subscribable(uri: string): Subscribable | undefined {
  const [, taskId, log] = /^longcall:\/\/tasks\/([^/]+)(\/log)?$/.exec(uri) ?? [];
  return taskId === undefined ? undefined : { taskId: idInUri(taskId), of: log === undefined ? 'task' : 'log' };
}

/** An id as it stands in a URI: those that requestors make up may have any letter in them. */
export function idInUri(text: string): TaskId {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // No task is called so.
  }
}
