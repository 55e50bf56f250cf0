// One round: a fleet, orders, mayhem; then everybody lives again, all comes to rest, and the evidence is looked at.
import { setTimeout } from 'node:timers/promises';
import type { Tasks } from 'longcall';
import { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import { check } from './checks.ts';
import { type Client, Refusal } from './client.ts';
import { type Evidence, evidenceOf, type Violation } from './evidence.ts';
import { type FleetParts, type Life, Member } from './fleet.ts';
import { machineTime, readNotes } from './ledger.ts';
import { torment } from './mayhem.ts';
import { ordersFor } from './orders.ts';
import { type Followed, Requestor } from './requestor.ts';
import { type Takeover, takeovers } from './takeovers.ts';

const MAYHEM_MS = 2_500;
const ORDERS = [24, 48] as const;
/** How long all may take to come to rest once everybody lives. */
const REST_WITHIN_MS = 40_000;
const LOOK_EVERY_MS = 50;

export interface RoundReport {
  /** Tasks that were acknowledged in this round, and that came to their end in it. */
  created: number;
  ended: number;
  /** Tasks that wait for an answer that was not given. */
  waiting: number;
  blows: number;
  /** Runs that a blow ended or cut off. */
  cutOff: number;
  takeovers: Takeover[];
  violations: Violation[];
  ms: number;
}

export class Chaos {
  readonly lives: Life[] = [];
  readonly #tasks: Tasks;
  readonly #direct: Client;
  readonly #requestor: Requestor;
  readonly #notes: string;
  readonly #parts: FleetParts;
  #members: Member[] = [];
  /** Tasks that were found working when nothing moved any more: told once, and not waited for again. */
  #stuck = 0;

  /** @param tasks a front of our own, which only answers, and `direct` the way to it */
  constructor(tasks: Tasks, direct: Client, notes: string, parts: FleetParts) {
    this.#tasks = tasks;
    this.#direct = direct;
    this.#notes = notes;
    this.#parts = parts;
    const listening = (): Client[] => this.#members.flatMap(({ client }) => (client === undefined ? [] : [client]));
    this.#requestor = new Requestor({ direct, listening, onOddity: parts.onOddity });
  }

  /** Answers that were acknowledged so far. */
  get answered(): number {
    return this.#requestor.answered;
  }

  async round(number: number, seed: number): Promise<RoundReport> {
    const since = machineTime();
    const chance = new Chance(seed, number);
    if (number === 1 || chance.odds(0.35)) await this.#muster(number, chance);
    const before = this.#requestor.followed.size;
    const orders = ordersFor(chance, chance.int(...ORDERS), MAYHEM_MS - 500, chance.odds(0.15));
    const longStop = chance.odds(0.15) ? chance.int(0, this.#members.length - 1) : -1;
    const placed = this.#requestor.round(orders, chance.fork(), AbortSignal.timeout(MAYHEM_MS + REST_WITHIN_MS));
    // Somebody has to be there to take over, at least now and then.
    const spared = this.#members.length > 1 && chance.odds(0.6) ? chance.pick(this.#members) : undefined;
    const victims = this.#members.filter((member) => member !== spared);
    await Promise.all(victims.map((member, n) => torment(member, chance.fork(), MAYHEM_MS, n === longStop)));
    await this.#reviveUntil(placed);
    const open = this.#requestor.open();
    const violations = await this.#rest(open);
    const evidence: Evidence[] = [];
    for (const task of open) {
      const { seen, found } = await this.#read(task);
      violations.push(...found);
      if (seen === undefined) continue;
      const looked = await this.#evidence(task, seen);
      evidence.push(looked);
      violations.push(...check(looked));
      if (seen['status'] !== 'working' && seen['status'] !== 'input_required') task.ending = seen;
    }
    const blows = this.lives.flatMap((life) => life.blows).filter(({ at }) => at >= since);
    const recent = evidence.map(({ runs }) => runs.filter(({ overAt }) => overAt === undefined || overAt >= since));
    return {
      created: this.#requestor.followed.size - before,
      ended: open.filter(({ ending }) => ending !== undefined).length,
      waiting: this.#requestor.open().length,
      blows: blows.length,
      cutOff: recent.flat().filter(({ life, overAt }) => life.blows.some(({ at }) => at === overAt)).length,
      takeovers: takeovers(recent, this.lives),
      violations,
      ms: machineTime() - since,
    };
  }

  /** What was said about a task at its end is what is said now. */
  async endingsStand(): Promise<Violation[]> {
    const violations: Violation[] = [];
    for (const task of this.#requestor.followed.values()) {
      if (task.ending === undefined) continue;
      const now = await this.#direct.get(task.taskId).catch((error: Error) => ({ error: error.message }));
      if (!same(now, task.ending)) violations.push(changed(task, task.ending, now));
    }
    return violations;
  }

  /** What there is to read about a task by whoever wants to understand a violation. */
  async story(taskId: string): Promise<string> {
    const timeline = await this.#tasks.inspect.timeline(taskId as never);
    const notes = readNotes(this.#notes, taskId);
    const lives = this.lives.filter(({ name }) => notes.some(({ life }) => life === name));
    return [this.#requestor.followed.get(taskId), ...timeline, ...notes, ...lives]
      .map((line) => JSON.stringify(line, (_, value: unknown) => (value instanceof Map ? [...value] : value)))
      .join('\n');
  }

  /** Another fleet: one to three workers, sometimes with a front that only answers. */
  async #muster(number: number, chance: Chance): Promise<void> {
    await Promise.all(this.#members.map((member) => member.drain()));
    const slots = chance.pick([4, 16, 64]);
    const workers = Array.from({ length: chance.int(1, 3) }, (_, n) =>
      this.#member(`${number}.worker-${n + 1}`, slots),
    );
    const fronts = chance.odds(0.4) ? [this.#member(`${number}.front`, 0)] : [];
    this.#members = [...workers, ...fronts];
    await Promise.all(this.#members.map((member) => member.start()));
  }

  #member(name: string, slots: number): Member {
    return new Member(name, slots, this.lives, this.#parts);
  }

  async #reviveUntil(done: Promise<void>): Promise<void> {
    let over = false;
    const watched = done.finally(() => {
      over = true;
    });
    while (!over) {
      await this.#reviveAll();
      await Promise.race([watched, setTimeout(LOOK_EVERY_MS)]);
    }
    await watched;
  }

  /** Poison may have ended one more. */
  async #reviveAll(): Promise<void> {
    for (const member of this.#members) if (member.life?.endedAt !== undefined) await member.start();
  }

  /** Waits until every task is over or waits for what is held back; what does not get there is stuck. */
  async #rest(open: readonly Followed[]): Promise<Violation[]> {
    const until = machineTime() + REST_WITHIN_MS;
    let restless = [...open];
    let working = 0;
    for (;;) {
      await this.#reviveAll();
      const still: Followed[] = [];
      for (const task of restless) if (!(await this.#atRest(task))) still.push(task);
      restless = still;
      const { byStatus } = await this.#tasks.inspect.counts();
      working = byStatus.working;
      if (restless.length === 0 && working <= this.#stuck) return [];
      if (machineTime() > until) break;
      await setTimeout(LOOK_EVERY_MS);
    }
    for (const task of restless) task.stuck = true;
    this.#stuck = working;
    const page = await this.#tasks.inspect.list({ status: 'working', limit: 1_000 });
    const ids = new Set([...restless.map(({ taskId }) => taskId), ...page.tasks.map(({ taskId }) => taskId)]);
    return [...ids].map((taskId) => ({ kind: 'stuck', taskId, sentence: `not at rest within ${REST_WITHIN_MS} ms` }));
  }

  async #atRest({ taskId, answers }: Followed): Promise<boolean> {
    const seen = await this.#direct.get(taskId).catch((error: Error) => {
      if (error instanceof Refusal) return { status: 'lost' } as Json; // For the checks to say.
      throw error;
    });
    if (seen['status'] === 'working') return false;
    if (seen['status'] !== 'input_required') return true;
    const open = Object.keys(seen['inputRequests'] as Json);
    if (open.some((key) => answers.has(key))) return false;
    const heard = readNotes(this.#notes, taskId).filter(({ what }) => what === 'heard');
    return [...answers.keys()].every((key) => heard.some((entry) => entry.key === key));
  }

  /** Reads the task here and in every process: all have to say the same. */
  async #read(task: Followed): Promise<{ seen?: Json; found: Violation[] }> {
    const { taskId } = task;
    try {
      const seen = await this.#direct.get(taskId);
      const found: Violation[] = [];
      for (const { client } of this.#members) {
        const again = await client?.get(taskId);
        if (again !== undefined && !same(seen, again)) found.push(changed(task, seen, again));
      }
      return { seen, found };
    } catch (error) {
      return { found: [{ kind: 'lost', taskId, sentence: `cannot be read: ${(error as Error).message}` }] };
    }
  }

  async #evidence(task: Followed, seen: Json): Promise<Evidence> {
    const past = await this.#tasks.inspect.attempts(task.taskId as never);
    return evidenceOf(task, seen, readNotes(this.#notes, task.taskId), this.lives, past);
  }
}

function changed({ taskId }: Followed, was: Json, is: Json): Violation {
  return { kind: 'lost', taskId, sentence: `was ${JSON.stringify(was)} and is ${JSON.stringify(is)}` };
}

/** The same but for the hint when to ask again, which grows with age. */
function same(one: Json, other: Json): boolean {
  const [a, b] = [one, other].map(({ pollIntervalMs: _, ...rest }) => JSON.stringify(rest));
  return a === b;
}
