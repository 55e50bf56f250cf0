import type { TaskId } from '../../core/index.ts';
import type { Schema } from './schema.ts';
import type { Place } from './vault.ts';

/** The columns of a task's row that hold what peers and handlers say. */
export const SEALED_TASK_COLUMNS = [
  'origin_request_id',
  'progress_token',
  'status_message',
  'progress',
  'cancel_reason',
  'traceparent',
  'labels',
] as const satisfies readonly (keyof Schema['tasks'])[];
export type SealedTaskColumn = (typeof SEALED_TASK_COLUMNS)[number];

/** Every place of a payload. Each is bound to its task; rows there can be several of, to their key. */
export const places = {
  ofTask: (task: TaskId, column: SealedTaskColumn): Place => ({ task, column }),
  body: (task: TaskId, kind: Schema['task_payloads']['kind']): Place => ({ task, column: kind }),
  attemptError: (task: TaskId, fence: number): Place => ({ task, column: 'attempt error', row: fence }),
  /** @param name what the row is looked up by */
  stepName: (task: TaskId, name: string): Place => ({ task, column: 'step name', row: name }),
  stepValue: (task: TaskId, key: string): Place => ({ task, column: 'step value', row: key }),
  stepError: (task: TaskId, key: string): Place => ({ task, column: 'step error', row: key }),
  /** @param name what the row is looked up by */
  question: (task: TaskId, name: string): Place => ({ task, column: 'question', row: name }),
  answer: (task: TaskId, key: string): Place => ({ task, column: 'answer', row: key }),
  action: (task: TaskId, key: string): Place => ({ task, column: 'action', row: key }),
  event: (task: TaskId, seq: number): Place => ({ task, column: 'event', row: seq }),
  log: (task: TaskId, start: number): Place => ({ task, column: 'log', row: start }),
  ofStore: (key: string): Place => ({ task: '', column: `the store's ${key}` }),
} as const;
