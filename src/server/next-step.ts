import type { TaskId } from '../core/index.ts';
import { COMPANIONS } from '../wire/companions.ts';

/** What a client has to go on with a task: tools, and the task as a resource. */
export interface Means {
  companions: ReadonlySet<string>;
  /** Where it can read the result. */
  uri?: string;
  /** The task has logged something. @default false */
  hasLog?: boolean;
}

/** The sentence that says how to learn of a task's result, naming nothing that the client does not have. */
export function nextStep(taskId: TaskId, { companions, uri }: Means): string {
  const args = JSON.stringify({ taskId });
  if (companions.has(COMPANIONS.wait)) return `Next: call ${COMPANIONS.wait} with ${args} to wait for the result.`;
  if (companions.has(COMPANIONS.result)) return `Next: in a minute, call ${COMPANIONS.result} with ${args}.`;
  if (uri !== undefined) return `Next: in a minute, read the resource ${uri}/result.`;
  return 'This client has no means to fetch the result.';
}

/** How to read what the task has logged so far; nothing where there is no log, or no means to. */
export function logStep(taskId: TaskId, { companions, uri, hasLog = false }: Means): string[] {
  if (!hasLog) return [];
  if (companions.has(COMPANIONS.logs)) return [`Its log: call ${COMPANIONS.logs} with ${JSON.stringify({ taskId })}.`];
  return uri === undefined ? [] : [`Its log is the resource ${uri}/log.`];
}
