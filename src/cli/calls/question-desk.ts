import type { OnQuestion } from '../../client/index.ts';
import type { Answer, Question } from '../../core/index.ts';

/** A question that waits for its answer. */
export interface OpenQuestion {
  question: Question;
  signal: AbortSignal;
  answer: (answer: Answer) => void;
}

/**
 * Takes what servers ask and keeps it open until somebody answers. Connecting a server follows all its open calls: what the
 * others ask stays open, for whoever waits for them.
 */
export class QuestionDesk {
  readonly onQuestion: OnQuestion;
  readonly #open = new Map<OpenQuestion, string | undefined>();
  #callId: string | undefined;
  #hear: ((open: OpenQuestion) => void) | undefined;

  constructor() {
    this.onQuestion = ({ question, call, signal }) =>
      new Promise<Answer>((resolve) => {
        const open: OpenQuestion = { question, signal, answer: resolve };
        this.#open.set(open, call?.id);
        signal.addEventListener('abort', () => {
          this.#open.delete(open);
          resolve({ action: 'cancel' }); // Nobody hears it any more.
        });
        this.#tell(open, call?.id);
      });
  }

  /** From now on the questions of one call are told, those that are open already first. One that names no call is its. */
  serve(callId: string, hear: (open: OpenQuestion) => void): void {
    this.#callId = callId;
    this.#hear = hear;
    for (const [open, of] of this.#open) this.#tell(open, of);
  }

  #tell(open: OpenQuestion, of: string | undefined): void {
    if (of === undefined || of === this.#callId) this.#hear?.(open);
  }
}
