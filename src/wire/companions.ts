import { type Answer, isJsonObject, type JsonObject } from '../core/index.ts';
import { isTaskId, type PeerTask } from './peer-task.ts';

// Tasks told in results of tools, for clients that know of no others.

/** Tools for clients that know no tasks: how they wait for, look at, answer and end what they started. */
export const COMPANIONS = {
  wait: 'task_wait',
  status: 'task_status',
  result: 'task_result',
  logs: 'task_logs',
  answer: 'task_answer',
  cancel: 'task_cancel',
  list: 'task_list',
  delete: 'task_delete',
} as const;

/** How the answer of each of them begins where there is no such task. */
export const UNKNOWN_TASK = 'No task of yours has the id';

/** Whether a server has the tools by which a program can follow a task. */
export function hasCompanions(names: ReadonlySet<string>): boolean {
  return names.has(COMPANIONS.result) && names.has(COMPANIONS.cancel);
}

/** The task that goes on though its call was answered; `undefined`: the result is the tool's own. */
export function decodeDetached({ structuredContent, isError }: JsonObject, asked?: string): PeerTask | undefined {
  if (!isJsonObject(structuredContent) || isError === true) return undefined;
  const { taskId, status, pollAfterMs } = structuredContent;
  if (!isTaskId(taskId) || (asked !== undefined && taskId !== asked)) return undefined;
  if ((status !== 'working' && status !== 'input_required') || typeof pollAfterMs !== 'number') return undefined;
  return { taskId, status, pollIntervalMs: pollAfterMs, questions: new Map() };
}

export function saysUnknown({ isError, content }: JsonObject): boolean {
  const first = Array.isArray(content) ? content[0] : undefined;
  return (
    isError === true && isJsonObject(first) && typeof first.text === 'string' && first.text.startsWith(UNKNOWN_TASK)
  );
}

/** Arguments of {@link COMPANIONS.answer}. */
export function encodeAnswer(taskId: string, key: string, answer: Answer): JsonObject {
  if (answer.action === 'accept') return { taskId, key, action: 'accept', content: answer.content };
  return { taskId, key, action: answer.action === 'decline' ? 'decline' : 'cancel' };
}
