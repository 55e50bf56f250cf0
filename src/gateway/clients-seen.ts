import type { Clock } from '../core/index.ts';
import type { FrontAsker } from '../server/front/front.ts';
import { declaredCapabilities } from '../wire/rev2026-07-28/index.ts';

/** A client that was here, and how it is served. */
export interface ClientSeen {
  name: string;
  version: string | undefined;
  /** The protocol version it speaks. */
  protocol: string;
  /** It knows tasks: by the extension, or by those of 2025-11-25. */
  tasks: 'extension' | 'session' | 'none';
  /** What it can be asked. */
  asks: string[];
  /** Milliseconds since the Unix epoch. */
  lastSeenAt: number;
}

/** Of so many clients it is remembered how they were served. */
const MAX_CLIENTS = 100;

/** Which clients were here, for whoever wonders how they are served. */
export class ClientsSeen {
  readonly #clock: Clock;
  readonly #seen = new Map<string, ClientSeen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get seen(): ClientSeen[] {
    return [...this.#seen.values()];
  }

  saw({ caller, era, knowsTasks }: FrontAsker): void {
    const { client, version = '', abilities, clientCapabilities } = caller;
    const extension = era === 'modern' && declaredCapabilities(clientCapabilities).tasks;
    const seen: ClientSeen = {
      name: client?.name ?? '(unnamed)',
      version: client?.version,
      protocol: version,
      tasks: extension ? 'extension' : knowsTasks ? 'session' : 'none',
      asks: Object.entries(abilities).flatMap(([kind, can]) => (can === true ? [kind] : [])),
      lastSeenAt: this.#clock.now(),
    };
    const key = JSON.stringify([seen.name, seen.version, seen.protocol, seen.tasks]);
    this.#seen.delete(key);
    this.#seen.set(key, seen);
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MAX_CLIENTS && oldest !== undefined) this.#seen.delete(oldest);
  }
}
