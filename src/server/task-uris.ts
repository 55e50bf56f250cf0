import type { TaskId } from '../core/index.ts';

/** A resource that whoever subscribes to it is told of: a task, or its log. */
export interface Subscribable {
  taskId: TaskId;
  of: 'task' | 'log';
}

/** `undefined`: nobody can subscribe to that. */
export function subscribable(uri: string): Subscribable | undefined {
  const [, taskId, log] = /^longcall:\/\/tasks\/([^/]+)(\/log)?$/.exec(uri) ?? [];
  return taskId === undefined ? undefined : { taskId, of: log === undefined ? 'task' : 'log' };
}
