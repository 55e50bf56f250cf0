import { type Answer, errorKind, fingerprint, NonRetryableError, type Question } from '../../core/index.ts';
import type { ChildSupport } from '../child-support.ts';

export interface JobQuestionsParts {
  support: ChildSupport;
  log: (text: string, level: 'warning' | 'error') => void;
  /** What tells the job from others of the task. */
  key: string;
  /** Where the questions come from, as people are told; nothing: they are the tool's own. */
  origin: string | undefined;
  answer: (key: string, answer: Answer) => Promise<void>;
}

/** Of a question that was asked more than once. */
const ORDINAL = /-\d+$/;

type Asked = { answer?: Answer; handing?: boolean; handed?: boolean };

/** What a job asks, asked by its task: recorded with it, and the answer handed over until the job has it. */
export class JobQuestions {
  readonly #parts: JobQuestionsParts;
  /** All names of the job's questions begin so, in this run and in others. */
  readonly #prefix: string;
  readonly #asked = new Map<string, Asked>();

  constructor(parts: JobQuestionsParts) {
    this.#parts = parts;
    this.#prefix = `job_${fingerprint(parts.key, 'hex', 20)}_`;
  }

  /** Takes the open questions as they are now: asks new ones, takes back those that are gone. */
  async told(questions: Readonly<Record<string, Question>>): Promise<void> {
    const open = new Map(Object.entries(questions).map(([key, question]) => [this.#nameOf(key), { key, question }]));
    await this.#withdrawAllBut(open);
    for (const [name, { key, question }] of open) {
      const asked = this.#asked.get(name);
      if (asked === undefined) void this.#ask(name, key, question);
      else if (asked.answer !== undefined) void this.#hand(asked, key, asked.answer);
    }
  }

  /** The job is over: nothing that it asked matters any more. */
  over(): Promise<void> {
    return this.#withdrawAllBut(new Map());
  }

  async #ask(name: string, key: string, question: Question): Promise<void> {
    const { support, log } = this.#parts;
    const asked: Asked = {};
    this.#asked.set(name, asked);
    let answer: Answer = { action: 'cancel' };
    try {
      if (support.asks(question.kind)) answer = await support.ask(name, named(question, this.#parts.origin));
      else log(`asks for what nobody here can be asked: ${question.kind}`, 'warning');
    } catch (error) {
      this.#asked.delete(name); // The task is over; or it is asked again after the next look.
      if (error instanceof NonRetryableError) log(`asked what cannot be asked: ${error.message}`, 'error');
      return;
    }
    if (answer.action === 'expired') {
      this.#asked.delete(name); // Taken back. A job that shows it again, as one does that is slowly consistent, asks anew.
      return;
    }
    asked.answer = answer;
    await this.#hand(asked, key, answer);
  }

  /** Once it was taken, the job may show the question for a while yet; it is not handed over again by this run. */
  async #hand(asked: Asked, key: string, answer: Answer): Promise<void> {
    if (asked.handing === true || asked.handed === true) return;
    asked.handing = true;
    try {
      await this.#parts.answer(key, answer);
      asked.handed = true;
    } catch (error) {
      // Where it may yet be taken, it is handed over again with the next look that shows the question.
      asked.handed = error instanceof NonRetryableError;
      this.#parts.log(`did not take an answer (${errorKind(error)})`, asked.handed ? 'error' : 'warning');
    } finally {
      asked.handing = false;
    }
  }

  async #withdrawAllBut(open: ReadonlyMap<string, unknown>): Promise<void> {
    const { support } = this.#parts;
    for (const name of support.open()) {
      if (name.startsWith(this.#prefix) && !open.has(name.replace(ORDINAL, ''))) await support.withdraw(name);
    }
  }

  #nameOf(key: string): string {
    return this.#prefix + fingerprint(key, 'hex', 20);
  }
}

/** People see whose question it is. A page's address and a model's message are theirs to judge, and stay as they are. */
function named(question: Question, origin: string | undefined): Question {
  if (origin === undefined || (question.kind !== 'form' && question.kind !== 'url')) return question;
  return { ...question, message: `${origin} asks: ${question.message}` };
}
