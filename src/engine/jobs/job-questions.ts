import { type Answer, errorKind, fingerprint, NonRetryableError, type Question } from '../../core/index.ts';
import type { ChildSupport } from '../child-support.ts';
import type { JobState } from './job-state.ts';

export interface JobQuestionsParts {
  support: ChildSupport;
  log: (text: string, level: 'warning' | 'error') => void;
  /** What tells the job from others of the task. */
  key: string;
  /** Where the questions come from, as people are told; nothing: they are the tool's own. */
  origin: string | undefined;
  answer: (key: string, answer: Answer) => Promise<void>;
  state: JobState;
}

/** Of a question that was asked more than once. */
const ORDINAL = /-\d+$/;

type Asked = { answer?: Answer; handing?: boolean };

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
      if (asked === undefined) this.#ask(name, key, question).catch(this.#fault);
      else if (asked.answer !== undefined) this.#hand(asked, key, asked.answer).catch(this.#fault);
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
    if (support.asks(question.kind)) answer = await support.ask(name, named(question, this.#parts.origin));
    else log(`asks for what nobody here can be asked: ${question.kind}`, 'warning');
    if (answer.action === 'expired') {
      this.#asked.delete(name); // Taken back. A job that shows it again, as one does that is slowly consistent, asks anew.
      return;
    }
    asked.answer = answer;
    await this.#hand(asked, key, answer);
  }

  /** Once it was taken, the job may show the question for a while yet; it is not handed over again, unless that was forgotten. */
  async #hand(asked: Asked, key: string, answer: Answer): Promise<void> {
    const { state, log } = this.#parts;
    if (asked.handing === true || state.now.answered.includes(key)) return;
    asked.handing = true;
    try {
      let problem: unknown;
      await this.#parts.answer(key, answer).catch((error: unknown) => (problem = error));
      // Where it may yet be taken, it is handed over again with the next look that shows the question.
      const taken = problem === undefined || problem instanceof NonRetryableError;
      if (problem !== undefined) log(`did not take an answer (${errorKind(problem)})`, taken ? 'error' : 'warning');
      if (taken) await state.keep({ answered: [...state.now.answered, key] });
    } finally {
      asked.handing = false;
    }
  }

  /** Said where anybody still listens: most of the time the task is over. */
  readonly #fault = (error: unknown): void => this.#parts.log(`asked in vain (${errorKind(error)})`, 'warning');

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
