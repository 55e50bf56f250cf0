// The processes on the database: who lives, what was done to whom, and when.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Client, clientOf } from './client.ts';
import { machineTime } from './ledger.ts';
import type { Part, Told } from './server-process.ts';
import { EXIT_WITHIN_MS } from './settings.ts';
import type { Wings } from './wings.ts';

const START_WITHIN_MS = 30_000;
/** We are busy too: an end that we did not cause is noticed a little later than it happened. */
const NOTICED_WITHIN_MS = 500;

export interface Blow {
  kind: 'killed' | 'drained' | 'stopped' | 'crashed';
  at: number;
  /** When a stopped process was woken. */
  until?: number;
}

/** One process from its start to its end. */
export interface Life {
  readonly name: string;
  readonly pid: number;
  readonly slots: number;
  readonly blows: Blow[];
  listeningAt?: number;
  endedAt?: number;
}

export interface FleetParts {
  wings: Wings;
  /** Told what nobody expects: an error that a server logged, an end that nobody caused. */
  onOddity: (what: string) => void;
}

/** A place in the fleet; one process after the other fills it. */
export class Member {
  readonly slots: number;
  readonly #name: string;
  readonly #parts: FleetParts;
  readonly #lives: Life[];
  #child: ChildProcess | undefined;
  #life: Life | undefined;
  #exited: Promise<NodeJS.Signals | number | null> = Promise.resolve(null);
  #client: Client | undefined;
  #starts = 0;

  constructor(name: string, slots: number, lives: Life[], parts: FleetParts) {
    this.#name = name;
    this.slots = slots;
    this.#lives = lives;
    this.#parts = parts;
  }

  /** To whom requests can go; undefined while it cannot listen. */
  get client(): Client | undefined {
    return this.#client;
  }

  get life(): Life | undefined {
    return this.#life;
  }

  /**
   * Resolves once it serves, or has ended before.
   * @param meanwhile what is done to it while it starts
   */
  async start(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    const { wings, onOddity } = this.#parts;
    const child = await wings.take();
    this.#starts += 1;
    const life: Life = { name: `${this.#name}.${this.#starts}`, pid: child.pid ?? 0, slots: this.slots, blows: [] };
    this.#lives.push(life);
    this.#child = child;
    this.#life = life;
    this.#exited = once(child, 'exit').then(([code, signal]) => {
      this.#ended(life, child, signal ?? code);
      return signal ?? code;
    });
    const listening = new Promise<void>((resolve) => {
      child.on('message', (told: Told) => {
        if ('logged' in told) onOddity(`${life.name} logged: ${told.logged}`);
        if (!('url' in told)) return;
        life.listeningAt = machineTime();
        if (this.#child === child) this.#client = clientOf(told.url);
        resolve();
      });
    });
    child.send({ life: life.name, slots: this.slots } satisfies Part);
    const late = setTimeout(() => onOddity(`${life.name} does not start`), START_WITHIN_MS);
    await Promise.all([Promise.race([listening, this.#exited]), meanwhile()]);
    clearTimeout(late);
  }

  async kill(): Promise<void> {
    this.#strike('killed', 'SIGKILL');
    await this.#exited;
  }

  /** SIGTERM, and SIGTERM again after `againMs` if that is given. Resolves when the process has ended. */
  async drain(againMs?: number): Promise<void> {
    const { name } = this.#strike('drained', 'SIGTERM') ?? {};
    if (name === undefined) return;
    const again =
      againMs === undefined ? undefined : setTimeout(() => void this.#strike('killed', 'SIGTERM'), againMs).unref();
    const late = setTimeout(() => {
      this.#parts.onOddity(`${name} did not end within ${EXIT_WITHIN_MS} ms of SIGTERM`);
      this.#strike('killed', 'SIGKILL');
    }, EXIT_WITHIN_MS);
    const how = await this.#exited;
    clearTimeout(again);
    clearTimeout(late);
    if (how !== 'SIGTERM' && how !== 'SIGKILL') this.#parts.onOddity(`${name} ended with ${how}, not by the signal`);
  }

  stop(): void {
    this.#strike('stopped', 'SIGSTOP');
  }

  wake(): void {
    const blow = this.#life?.blows.at(-1);
    if (this.#child === undefined || blow?.kind !== 'stopped') return;
    this.#child.kill('SIGCONT');
    blow.until = machineTime();
  }

  #ended(life: Life, child: ChildProcess, how: NodeJS.Signals | number | null): void {
    life.endedAt = machineTime();
    if (this.#child === child) {
      this.#child = undefined;
      this.#client = undefined;
    }
    const kinds = life.blows.map(({ kind }) => kind);
    if (kinds.includes('killed')) return;
    // A handler may have killed its process: that is some tools' way.
    if (how === 'SIGKILL') life.blows.push({ kind: 'crashed', at: life.endedAt - NOTICED_WITHIN_MS });
    else if (!kinds.includes('drained')) this.#parts.onOddity(`${life.name} ended by itself, with ${how}`);
  }

  #strike(kind: Blow['kind'], signal: NodeJS.Signals): Life | undefined {
    const child = this.#child;
    const life = this.#life;
    if (child === undefined || life === undefined) return undefined;
    life.blows.push({ kind, at: machineTime() });
    child.kill(signal);
    return life;
  }
}
