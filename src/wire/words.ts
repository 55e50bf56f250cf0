import type { JsonObject, TaskProgress, TaskRecord } from '../core/index.ts';
import * as v16 from './rev-sep-1686/index.ts';
import * as v25 from './rev2025-11-25/index.ts';

/** A notification, or a request that still needs an id. */
interface Outgoing {
  method: string;
  params: JsonObject;
}

/** How a session is told of a task without having asked. */
export interface Words {
  /** @param asTask the client may make it a task of its own, of that same id */
  question(task: TaskRecord, id: string, asked: v25.Asked, asTask: boolean): Outgoing;
  progress(task: TaskRecord, token: string | number, progress: TaskProgress): Outgoing;
  /** `undefined` where there is no such notification. */
  status(task: TaskRecord, now: number, options: v25.EncodeOptions): Outgoing | undefined;
}

const later: Words = {
  question: ({ taskId }, id, asked) => v25.encodeQuestion(taskId, id, asked),
  progress: ({ taskId }, token, progress) => v25.encodeProgressNotification(taskId, token, progress),
  status: (task, now, options) => v25.encodeStatusNotification(task, now, options),
};

/** Long enough to come back for an answer that could not be fetched at once. */
const KEPT_MS = 3_600_000;

const firstDraft: Words = {
  question: (task, id, asked, asTask) =>
    v16.encodeQuestion(v16.taskIdOf(task), id, asked, asTask ? { taskId: id, keepAliveMs: KEPT_MS } : undefined),
  progress: (task, token, progress) => v16.encodeProgress(v16.taskIdOf(task), token, progress),
  status: () => undefined,
};

/** The words for a task that its requestor knows by the first draft, in the sessions in which that can be; else the later ones. */
export function wordsFor({ revision }: TaskRecord, version: string | undefined): Words {
  return revision === v16.REVISION && version !== v25.REVISION ? firstDraft : later;
}
