import type { Answer, Question } from '../../core/index.ts';
import type { ChildSupport } from '../../engine/child-support.ts';
import type { TaskContext } from '../../engine/index.ts';
import type { ConnectedServer } from '../connected-server.ts';
import { CallNotFoundError, ClientClosedError } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';

export interface ChildQuestionsParts {
  task: TaskContext;
  support: ChildSupport;
  server: ConnectedServer;
  callId: string;
  /** Where the questions come from, as people are told. */
  origin: string;
}

/** What a child asks, asked by its parent: recorded with it, and answered once. */
export class ChildQuestions {
  readonly #parts: ChildQuestionsParts;
  /** All names of the child's questions begin so, in this run and in others. */
  readonly #prefix: string;
  readonly #asked = new Set<string>();

  constructor(parts: ChildQuestionsParts) {
    this.#parts = parts;
    this.#prefix = `child_${fingerprint(parts.callId, 'hex', 20)}_`;
  }

  /** Takes the open questions as they are now: asks new ones, takes back those that are gone. */
  async told(questions: Readonly<Record<string, Question>>): Promise<void> {
    const open = new Map(Object.entries(questions).map(([key, question]) => [this.#nameOf(key), { key, question }]));
    await this.#withdrawAllBut(open);
    for (const [name, { key, question }] of open) {
      if (this.#asked.has(name)) continue;
      this.#asked.add(name);
      this.#ask(name, key, question).catch((error: unknown) => this.#fault(error));
    }
  }

  /** The child is over: nothing that it asked matters any more. */
  over(): Promise<void> {
    return this.#withdrawAllBut(new Map());
  }

  async #ask(name: string, key: string, question: Question): Promise<void> {
    const { support, task, origin } = this.#parts;
    if (!support.asks(question.kind)) {
      task.log(`${origin} asks for what nobody here can be asked: ${question.kind}`, 'warning');
      return this.#answer(key, { action: 'cancel' });
    }
    const answer = await support.ask(name, named(question, origin));
    if (answer.action !== 'expired') await this.#answer(key, answer);
  }

  async #answer(key: string, answer: Answer): Promise<void> {
    const { server, callId } = this.#parts;
    await (await server.handle(callId)).answer(key, answer);
  }

  async #withdrawAllBut(open: ReadonlyMap<string, unknown>): Promise<void> {
    const { support } = this.#parts;
    for (const name of support.open()) {
      if (name.startsWith(this.#prefix) && !open.has(name)) await support.withdraw(name);
    }
  }

  #fault(error: unknown): void {
    const { task, origin } = this.#parts;
    if (task.signal.aborted || error instanceof CallNotFoundError || error instanceof ClientClosedError) return;
    const message = error instanceof Error ? error.message : String(error);
    task.log(`what ${origin} asked could not be passed on: ${message}`, 'error');
  }

  #nameOf(key: string): string {
    return this.#prefix + fingerprint(key, 'hex', 20);
  }
}

/** People see whose question it is. A page's address and a model's message are theirs to judge, and stay as they are. */
function named(question: Question, origin: string): Question {
  if (question.kind !== 'form' && question.kind !== 'url') return question;
  return { ...question, message: `${origin} asks: ${question.message}` };
}
