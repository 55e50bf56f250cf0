// The side that asks: creates tasks, answers their questions, cancels some, and remembers what was acknowledged.
import { setTimeout } from 'node:timers/promises';
import type { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import { type Client, Refusal } from './client.ts';
import { machineTime } from './ledger.ts';
import type { AnswerPlan, Order } from './orders.ts';

/** How often a task that may ask something is looked at. */
const LOOK_EVERY_MS = 100;
/** How long a request that must arrive is tried again. */
const INSIST_MS = 40_000;

export interface SentAnswer {
  value: string;
  at: number;
}

/** Everything we know of a task that was acknowledged. */
export interface Followed {
  readonly order: Order;
  readonly taskId: string;
  readonly createdAt: number;
  readonly answers: Map<string, { sent: SentAnswer[]; acknowledgedAt: number | undefined }>;
  cancel?: { sentAt: number; acknowledgedAt?: number; acknowledgedAtWall?: number };
  /** As it was read once it was over. */
  ending?: Json;
  /** It was found stuck: told once, and not waited for again. */
  stuck?: true;
}

export interface RequestorParts {
  direct: Client;
  /** Those that listen right now. */
  listening: () => Client[];
  onOddity: (what: string) => void;
}

export class Requestor {
  readonly followed = new Map<string, Followed>();
  readonly #parts: RequestorParts;
  /** Requests under way that a round has to wait for. */
  readonly #busy = new Set<Promise<void>>();
  #words = 0;

  constructor(parts: RequestorParts) {
    this.#parts = parts;
  }

  /** Places the orders of a round, each in its moment, and does what each plans. Resolves when all of it was done. */
  async round(orders: readonly Order[], chance: Chance, signal: AbortSignal): Promise<void> {
    for (const task of this.open()) this.#start(this.#attend(task, chance.fork(), signal, chance.int(0, 1_500)));
    for (const order of orders) this.#start(this.#place(order, chance.fork(), signal));
    while (this.#busy.size > 0) await Promise.all(this.#busy);
  }

  open(): Followed[] {
    return [...this.followed.values()].filter(({ ending, stuck }) => ending === undefined && stuck === undefined);
  }

  /** How many answers were acknowledged. */
  get answered(): number {
    return [...this.followed.values()].reduce(
      (sum, { answers }) => sum + [...answers.values()].filter(({ acknowledgedAt }) => acknowledgedAt).length,
      0,
    );
  }

  #start(work: Promise<void>): void {
    const watched = work
      .catch((error: Error) => this.#parts.onOddity(`the requestor: ${error.message}`))
      .finally(() => this.#busy.delete(watched));
    this.#busy.add(watched);
  }

  async #place(order: Order, chance: Chance, signal: AbortSignal): Promise<void> {
    await setTimeout(order.atMs);
    const client = order.via === 'direct' ? this.#parts.direct : this.#someone(chance);
    let taskId: string;
    try {
      ({ taskId } = await client.call(order.tool, order.args));
    } catch (error) {
      if (error instanceof Refusal) this.#parts.onOddity(`a call was refused: ${error.message}`);
      return; // Not acknowledged: it may exist or not, and nobody can be held to it.
    }
    const task: Followed = { order, taskId, createdAt: machineTime(), answers: new Map() };
    this.followed.set(taskId, task);
    if (order.cancelAfterMs !== undefined) this.#start(this.#cancel(task, order.cancelAfterMs, chance.fork()));
    await this.#attend(task, chance, signal, undefined);
  }

  async #cancel(task: Followed, afterMs: number, chance: Chance): Promise<void> {
    await setTimeout(afterMs);
    task.cancel = { sentAt: machineTime() };
    await this.#insist(chance, (client) => client.cancel(task.taskId));
    task.cancel.acknowledgedAt = machineTime();
    task.cancel.acknowledgedAtWall = Date.now();
  }

  /**
   * Looks at a task that may ask, until it is over or the round is, and answers as planned.
   * @param lateMs for a task of an earlier round: when to answer what was held back then
   */
  async #attend(task: Followed, chance: Chance, signal: AbortSignal, lateMs: number | undefined): Promise<void> {
    const plans = Object.entries(task.order.answers);
    if (plans.length === 0) return;
    for (let looks = 0; !signal.aborted; looks += 1) {
      if (looks > 0) await setTimeout(LOOK_EVERY_MS);
      const seen = await this.#look(task.taskId, chance);
      if (seen === undefined) continue;
      if (seen['status'] !== 'working' && seen['status'] !== 'input_required') return;
      const open = Object.keys((seen['inputRequests'] ?? {}) as Json);
      for (const [key, plan] of plans) {
        const afterMs = plan.afterMs ?? lateMs;
        if (!open.includes(key) || task.answers.has(key) || afterMs === undefined) continue;
        task.answers.set(key, { sent: [], acknowledgedAt: undefined });
        this.#start(this.#answer(task, key, { ...plan, afterMs }, chance.fork()));
      }
      const left = plans.filter(([key]) => !task.answers.has(key));
      if (left.every(([key, { afterMs }]) => open.includes(key) && (afterMs ?? lateMs) === undefined)) return;
    }
  }

  async #answer(task: Followed, key: string, plan: AnswerPlan & { afterMs: number }, chance: Chance): Promise<void> {
    await setTimeout(plan.afterMs);
    if (plan.twice !== 'at once') await this.#send(task, key, chance);
    else await Promise.all([this.#send(task, key, chance.fork()), this.#send(task, key, chance)]);
    if (plan.twice !== 'later') return;
    await setTimeout(chance.int(0, 300));
    await this.#send(task, key, chance);
  }

  async #send(task: Followed, key: string, chance: Chance): Promise<void> {
    const given = task.answers.get(key);
    await this.#insist(chance, async (client) => {
      this.#words += 1;
      const value = `word-${this.#words}`;
      given?.sent.push({ value, at: machineTime() });
      await client.answer(task.taskId, key, { word: value });
    });
    if (given !== undefined) given.acknowledgedAt ??= machineTime();
  }

  /** Asks one after the other until somebody says yes. */
  async #insist(chance: Chance, ask: (client: Client) => Promise<void>): Promise<void> {
    const since = machineTime();
    for (;;) {
      try {
        return await ask(this.#someone(chance));
      } catch (error) {
        if (error instanceof Refusal || machineTime() - since > INSIST_MS) throw error;
        await setTimeout(chance.int(10, 60));
      }
    }
  }

  async #look(taskId: string, chance: Chance): Promise<Json | undefined> {
    try {
      return await this.#someone(chance).get(taskId);
    } catch (error) {
      // That it cannot be found is for the checks to say, once everybody is awake.
      if (error instanceof Refusal) this.#parts.onOddity(`a task was refused: ${error.message}`);
      return undefined;
    }
  }

  #someone(chance: Chance): Client {
    return chance.pick([this.#parts.direct, ...this.#parts.listening()]);
  }
}
