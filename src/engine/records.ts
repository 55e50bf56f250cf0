import { type Answer, NonRetryableError } from '../core/index.ts';
import type { History, RecordedStep } from '../store/index.ts';

/** What earlier runs of a handler left behind, and what this run has asked for of it. */
export class Records {
  readonly #steps: Map<string, RecordedStep>;
  readonly #questions: Map<string, { answer: Answer | undefined; deadline: number | undefined }>;
  readonly #unasked: Map<string, string>;
  #count: number;
  #calls = 0;

  constructor(history: History) {
    this.#steps = new Map(history.steps.map((step) => [step.key, step]));
    this.#questions = new Map(history.questions.map(({ key, answer, deadline }) => [key, { answer, deadline }]));
    this.#unasked = new Map(history.steps.map(({ key, name }) => [key, name]));
    this.#count = history.steps.length;
  }

  /** True once anything is recorded: from then on the handler takes part in resuming. */
  get any(): boolean {
    return this.#count > 0 || this.#questions.size > 0;
  }

  /** Steps recorded so far. */
  get count(): number {
    return this.#count;
  }

  /** Names of recorded steps that this run has not asked for. */
  get unasked(): string[] {
    return [...new Set(this.#unasked.values())];
  }

  step(key: string): RecordedStep | undefined {
    this.#unasked.delete(key);
    return this.#steps.get(key);
  }

  question(key: string): { answer: Answer | undefined; deadline: number | undefined } | undefined {
    return this.#questions.get(key);
  }

  asked(key: string, deadline: number | undefined): void {
    this.#questions.set(key, { answer: undefined, deadline });
  }

  /** The place of the next step to be recorded. */
  nextSeq(): number {
    this.#count += 1;
    return this.#count - 1;
  }

  /** Counts calls that are under way; the result ends the count. */
  enter(): () => void {
    this.#calls += 1;
    return () => {
      this.#calls -= 1;
    };
  }

  /** Whether nothing else of the handler is under way: then the order of calls means something. */
  get alone(): boolean {
    return this.#calls === 1;
  }
}

/** The value a recorded step returned, or the error it threw for good. */
export function replay(step: RecordedStep): unknown {
  if (step.error !== undefined) {
    const { message } = JSON.parse(step.error) as { message: string };
    throw new NonRetryableError(message);
  }
  return step.body === null ? undefined : JSON.parse(step.body);
}
