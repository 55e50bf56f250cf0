import type { TaskId } from './random.ts';

/** Where the log of a task can be read, by its owner. */
export function taskLogUri(taskId: TaskId): string {
  return `longcall://tasks/${taskId}/log`;
}
