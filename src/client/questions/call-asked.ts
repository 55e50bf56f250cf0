import type { Logger, Question } from '../../core/index.ts';
import type { CallRecord, Journal } from '../journal/journal.ts';
import type { ServerDesk } from '../server-desk.ts';
import { CallQuestions } from './call-questions.ts';

export interface CallAskedParts {
  journal: Journal;
  desk: ServerDesk;
  record: CallRecord;
  logger: Logger;
  /** There is an answer to send. */
  answered: () => void;
}

/** All that a call asks at the moment: what stands in its task, and what its server asks by requests. */
export class CallAsked {
  readonly #parts: CallAskedParts;
  readonly #requested = new Map<string, Question>();
  #inTask: CallQuestions | undefined;
  #before: ReadonlySet<string> = new Set();

  constructor(parts: CallAskedParts) {
    this.#parts = parts;
  }

  get open(): ReadonlyMap<string, Question> {
    return new Map([...(this.#inTask?.open ?? []), ...this.#requested]);
  }

  /** What stands in the task, once there is one. */
  get inTask(): CallQuestions | undefined {
    return this.#inTask;
  }

  /** Takes the open questions as the server told them last. `changed`: it uses a key for another question. */
  told(taskId: string, questions: ReadonlyMap<string, Question>): Promise<'fine' | 'changed'> {
    const { journal, desk, record, logger, answered } = this.#parts;
    const { callId, parent } = record;
    // What a call asks that a handler made is asked by the handler's task.
    const onQuestion = parent === undefined ? desk.onQuestion : undefined;
    this.#inTask ??= new CallQuestions({ journal, callId, taskId, onQuestion, logger, answered });
    return this.#inTask.told(questions);
  }

  requested(key: string, question: Question): void {
    this.#requested.set(key, question);
  }

  asks(key: string): boolean {
    return this.#requested.has(key);
  }

  settled(key: string): void {
    this.#requested.delete(key);
  }

  /** Whether something is asked that was not when this was asked before. */
  anew(): boolean {
    const keys = [...this.open.keys()];
    const anew = keys.some((key) => !this.#before.has(key));
    this.#before = new Set(keys);
    return anew;
  }

  stop(): void {
    this.#inTask?.stop();
  }
}
