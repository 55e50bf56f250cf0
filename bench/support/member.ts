import type { TasksOptions } from 'longcall';
import { type Child, startChild } from './children.ts';

/** What a process of a deployment is to be; `servers/member.ts` reads it. */
export interface Role extends Partial<Omit<TasksOptions, 'store' | 'logger' | 'clock' | 'random'>> {
  /** Whether it serves HTTP as well. */
  serves?: boolean;
  /** How long its tools' results are kept. */
  keepResultMs?: number;
}

export type Order =
  /** Creates tasks of a tool, so many at a time as given, and reports when the last of them was durable. */
  | { do: 'create'; tool: string; count: number; inFlight: number }
  /** CPU time used so far. */
  | { do: 'cpu' }
  /** Collects what is garbage and tells what is left. Needs `--expose-gc`. */
  | { do: 'memory' }
  /** Cancels every open task. */
  | { do: 'cancel' }
  | { do: 'runs' };

export interface Replies {
  create: { at: number };
  /** Milliseconds of a core, user and system. */
  cpu: { ms: number };
  /** Megabytes. */
  memory: { rss: number; heap: number };
  /** And when it was asked to. */
  cancel: { cancelled: number; at: number };
  /** Runs of handlers that this process has started, and those that are not over yet. */
  runs: { started: number; going: number };
}

export type Message =
  | { serving: string }
  | { started: string; attempt: number; at: number }
  | { stopped: string; at: number }
  | { reply: number; value: unknown }
  | { reply: number; error: string };

/** The start of a handler, by the clock all processes share. */
export interface Start {
  taskId: string;
  attempt: number;
  at: number;
}

/** A handler learns that it is to stop, by the same clock. */
export interface Stop {
  taskId: string;
  at: number;
}

/** What a process tells of its own accord, taken one after the other. */
class News<Item> {
  readonly #items: Item[] = [];
  #onItem = (): void => {};

  add(item: Item): void {
    this.#items.push(item);
    this.#onItem();
  }

  /** The next that was not taken yet. @throws {Error} saying `problem`, when there is none within `withinMs`. */
  async next(withinMs: number, problem: string): Promise<Item> {
    const found = this.#items.shift();
    if (found !== undefined) return found;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${problem} within ${withinMs} ms`)), withinMs);
      this.#onItem = () => {
        clearTimeout(late);
        resolve();
      };
    });
    this.#onItem = () => {};
    return this.#items.shift() as Item;
  }
}

/** A process with tools on a store, whatever its role; see `servers/member.ts`. */
export class Member {
  /** Where it serves; empty where it does not. */
  url = '';
  readonly #child: Child;
  readonly #replies = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  readonly #starts = new News<Start>();
  readonly #stops = new News<Stop>();
  #orders = 0;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async start(folder: string, role: Role, flags: string[] = []): Promise<Member> {
    const child = startChild('member', [folder, JSON.stringify(role)], flags);
    const member = new Member(child);
    const ready = new Promise<void>((resolve) => {
      child.process.on('message', (message: Message) => {
        if ('serving' in message) {
          member.url = message.serving;
          resolve();
        } else member.#told(message);
      });
    });
    const failed = child.gone.then((status) => Promise.reject(new Error(`a member ended with ${status} at its start`)));
    await Promise.race([ready, failed]);
    void child.gone.then(() => member.#ended());
    return member;
  }

  /** @throws {Error} when it fails, or the process ends first. */
  order<What extends Order>(order: What): Promise<Replies[What['do']]> {
    this.#orders += 1;
    const id = this.#orders;
    return new Promise((resolve, reject) => {
      this.#replies.set(id, { resolve, reject });
      this.#child.process.send({ ...order, id }, (error) => error !== null && reject(error));
    });
  }

  /** The next start of a handler that was not taken yet. @throws {Error} when there is none within `withinMs`. */
  nextStart(withinMs: number): Promise<Start> {
    return this.#starts.next(withinMs, 'no handler started');
  }

  /** The next time a handler of `hang` learned that it is to stop. @throws {Error} when there is none within `withinMs`. */
  nextStop(withinMs: number): Promise<Stop> {
    return this.#stops.next(withinMs, 'no handler was told to stop');
  }

  async kill(): Promise<void> {
    this.#child.process.kill('SIGKILL');
    await this.#child.gone;
  }

  async stop(): Promise<void> {
    if (this.#child.process.connected) this.#child.process.disconnect();
    await this.#child.gone;
  }

  #told(message: Exclude<Message, { serving: string }>): void {
    if ('started' in message) {
      this.#starts.add({ taskId: message.started, attempt: message.attempt, at: message.at });
      return;
    }
    if ('stopped' in message) {
      this.#stops.add({ taskId: message.stopped, at: message.at });
      return;
    }
    const waiting = this.#replies.get(message.reply);
    this.#replies.delete(message.reply);
    if ('error' in message) waiting?.reject(new Error(message.error));
    else waiting?.resolve(message.value as never);
  }

  #ended(): void {
    for (const { reject } of this.#replies.values()) reject(new Error('the process ended before it answered'));
    this.#replies.clear();
  }
}
