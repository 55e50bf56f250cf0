import { type Answer, canonicalJson, type JsonValue, type Logger, type Question } from '../../core/index.ts';
import { CallAnswerInvalidError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import type { OnQuestion } from '../remote.ts';
import { misfit } from './misfit.ts';

export interface CallQuestionsParts {
  journal: Journal;
  callId: string;
  taskId: string;
  /** Undefined: nobody here can answer; the call waits, and shows what for. */
  onQuestion: OnQuestion | undefined;
  logger: Logger;
  /** There is an answer to send. */
  answered: () => void;
}

/**
 * What a task asks for. Every key is asked once; its answer is on disk before it is sent, so that after a crash it is sent
 * again and nobody is asked again.
 * @see 2026-07-28 tasks extension, "Task Update"
 */
export class CallQuestions {
  readonly #parts: CallQuestionsParts;
  readonly #asking = new Map<string, AbortController>();
  /** The words under every key seen: one key is one question for ever. */
  readonly #words = new Map<string, string>();
  /** Taken by the server: not sent again, whether it shows them a moment longer or not. */
  readonly #settled = new Set<string>();
  #open: ReadonlyMap<string, Question> = new Map();

  constructor(parts: CallQuestionsParts) {
    this.#parts = parts;
  }

  get open(): ReadonlyMap<string, Question> {
    return this.#open;
  }

  /** Takes the open questions as the server told them last. `changed`: it uses a key for another question. */
  async told(questions: ReadonlyMap<string, Question>): Promise<'fine' | 'changed'> {
    for (const [key, question] of questions) {
      const words = canonicalJson(question as unknown as JsonValue);
      if ((this.#words.get(key) ?? words) !== words) return 'changed';
      this.#words.set(key, words);
    }
    this.#open = new Map([...questions].filter(([key]) => !this.#settled.has(key)));
    for (const [key, asking] of this.#asking) {
      if (!questions.has(key)) asking.abort(new Error('the question was taken back, or answered elsewhere'));
    }
    if (questions.size === 0) return 'fine';
    const answers = await this.#parts.journal.answers(this.#parts.callId);
    for (const [key, question] of questions) if (!answers.has(key)) this.#ask(key, question);
    return 'fine';
  }

  /** Answers on disk to questions that are open and not settled: none to any other. */
  async toSend(): Promise<Map<string, Answer>> {
    if (this.#open.size === 0) return new Map();
    const answers = await this.#parts.journal.answers(this.#parts.callId);
    return new Map([...answers].filter(([key]) => this.#open.has(key) && !this.#settled.has(key)));
  }

  /** The server refused the answers: they are as if never given, and others may be. */
  async refused(keys: Iterable<string>): Promise<void> {
    for (const key of keys) await this.#parts.journal.retractAnswer(this.#parts.callId, key);
  }

  /** The server took the answers. */
  settle(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#settled.add(key);
      this.#asking.get(key)?.abort(new Error('the question was answered'));
    }
    this.#open = new Map([...this.#open].filter(([key]) => !this.#settled.has(key)));
  }

  /** Nobody waits for answers any more: dialogs are to be closed. */
  stop(): void {
    for (const asking of this.#asking.values()) asking.abort(new Error('the call is over, or not followed any more'));
  }

  #ask(key: string, question: Question): void {
    const { onQuestion, journal, callId, taskId, logger, answered } = this.#parts;
    if (onQuestion === undefined || this.#asking.has(key) || this.#settled.has(key)) return;
    const asking = new AbortController();
    this.#asking.set(key, asking);
    const ask = async (): Promise<void> => {
      const answer = await onQuestion({ taskId, question, signal: asking.signal });
      if (asking.signal.aborted) return;
      const problem = misfit(question, answer);
      if (problem !== undefined) throw new CallAnswerInvalidError(callId, key, problem);
      await journal.answer(callId, key, answer);
      answered();
    };
    ask().catch((error: unknown) => {
      // Not asked again by this process: what failed once would fail at every poll.
      if (!asking.signal.aborted)
        logger.error({ kind: question.kind, error }, 'a question of a task could not be answered');
    });
  }
}
