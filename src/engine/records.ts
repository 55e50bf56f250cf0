import { type Answer, NonRetryableError } from '../core/index.ts';
import type { Applied, History, RecordedStep } from '../store/index.ts';

/** What earlier runs of a handler left behind, and what this run has asked for of it. */
export class Records {
  readonly #steps: Map<string, RecordedStep>;
  readonly #questions: Map<string, { answer: Answer | undefined; deadline: number | undefined }>;
  readonly #unasked: Map<string, string>;
  #count: number;
  #any: boolean;
  #calls = 0;
  readonly #writes = new Set<Promise<unknown>>();

  constructor(history: History) {
    this.#steps = new Map(history.steps.map((step) => [step.key, step]));
    this.#questions = new Map(history.questions.map(({ key, answer, deadline }) => [key, { answer, deadline }]));
    this.#unasked = new Map(history.steps.map(({ key, name }) => [key, name]));
    this.#count = history.steps.length;
    this.#any = history.steps.length + history.questions.length > 0;
  }

  /** True once the store has something recorded: from then on the handler takes part in resuming. */
  get any(): boolean {
    return this.#any;
  }

  /** Steps recorded so far, those on their way included. */
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

  /** This run has recorded it. */
  made(step: RecordedStep): void {
    this.#steps.set(step.key, step);
  }

  question(key: string): { answer: Answer | undefined; deadline: number | undefined } | undefined {
    return this.#questions.get(key);
  }

  /** Keys of questions that wait for their answer. */
  get openQuestions(): string[] {
    return [...this.#questions].filter(([, { answer }]) => answer === undefined).map(([key]) => key);
  }

  /** Its answer is that there will be none. */
  withdrawn(key: string): void {
    this.#questions.set(key, { answer: { action: 'expired' }, deadline: undefined });
  }

  asked(key: string, deadline: number | undefined): void {
    this.#questions.set(key, { answer: undefined, deadline });
  }

  /** The place of the next step to be recorded. */
  nextSeq(): number {
    this.#count += 1;
    return this.#count - 1;
  }

  /** Sees a record on its way to the store, and remembers whether it arrived. */
  async writing(write: () => Promise<Applied>): Promise<Applied> {
    const writing = write();
    this.#writes.add(writing);
    try {
      const applied = await writing;
      if (applied === 'applied') this.#any = true;
      return applied;
    } finally {
      this.#writes.delete(writing);
    }
  }

  /** Resolves when nothing is on its way any more. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
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
