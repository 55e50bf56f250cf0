/** Where the log of a task can be read, by its owner. @param taskId an id, or what stands for one in a template */
export function taskLogUri(taskId: string): string {
  return `longcall://tasks/${taskId}/log`;
}
