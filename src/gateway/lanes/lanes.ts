import { createHmac } from 'node:crypto';
import type { ConnectTarget, TaskClient } from '../../client/index.ts';
import {
  type Clock,
  canonicalJson,
  type JsonObject,
  type JsonValue,
  type Logger,
  type Principal,
  type RequestorAbilities,
  type Timer,
} from '../../core/index.ts';
import { asThrown } from '../../server/rpc-error.ts';
import type { UpstreamConfig } from '../config/types.ts';
import type { SupervisedStdio } from '../upstreams/supervised-stdio.ts';
import { upstreamKey } from '../upstreams/upstream-key.ts';
import { Lane } from './lane.ts';
import type { Reached } from './reach.ts';

/** Whom a lane is for. */
export interface LaneUser {
  principal: Principal;
  abilities: RequestorAbilities;
}

export interface LanesParts {
  client: TaskClient;
  clock: Clock;
  logger: Logger;
  /** Shared by the processes on one store, so that a lane has the same name in each, and after a restart. */
  secret: Uint8Array;
  reach: (config: UpstreamConfig, authorization: () => string | undefined) => Reached;
  changed: (lane: Lane, method: string, params: JsonObject) => void;
  /** A lane is there; also told when it was connected anew. */
  opened: (lane: Lane) => void;
  /** A lane is there no more. */
  ended: (lane: Lane) => void;
}

const IDLE_MS = 300_000;
/** To one upstream. */
const MAX_LANES = 64;

/** The lanes to one upstream, made when they are needed and ended when they are not. */
export class Lanes {
  readonly config: UpstreamConfig;
  readonly #parts: LanesParts;
  readonly #target: string;
  readonly #lanes = new Map<string, Promise<Lane>>();
  readonly #open = new Map<string, Lane>();
  readonly #processes = new Map<string, SupervisedStdio>();
  readonly #authorizations = new Map<string, string>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(config: UpstreamConfig, parts: LanesParts) {
    this.config = config;
    this.#parts = parts;
    this.#target = upstreamKey(config.target, parts.secret);
    this.#tick();
  }

  get open(): readonly Lane[] {
    return [...this.#open.values()];
  }

  /** @throws whatever reaching the upstream throws; the next call tries again */
  get(user: LaneUser): Promise<Lane> {
    const name = this.nameOf(user);
    const known = this.#lanes.get(name);
    if (known !== undefined) {
      this.#use(name);
      return known;
    }
    const made = this.#roomFor(name).then(() => this.#make(name, user));
    this.#lanes.set(name, made);
    made.catch(() => this.#failed(name)); // Told to whoever asked.
    return made;
  }

  /** Each lane may be a process: of many callers, those who were not here for longest make room. */
  async #roomFor(name: string): Promise<void> {
    if (this.#lanes.size < MAX_LANES) return;
    const idle = [...this.#open.values()].filter((lane) => !lane.busy && this.#parts.client.followed(lane.name) === 0);
    const [oldest] = idle.sort((one, other) => one.usedAt - other.usedAt);
    if (oldest === undefined) {
      this.#parts.logger.warn({ lane: name }, 'an upstream has too many connections that are all in use');
      const message = `${this.config.name}: too many callers have a connection of their own; try again later`;
      throw asThrown({ code: -32_603, message });
    }
    await this.#end(oldest.name);
  }

  /** Calls in the journal are kept under it, so it changes with everything that makes another upstream of it. */
  nameOf({ principal, abilities }: LaneUser): string {
    const { form, url = false, sampling = false, roots = false } = abilities;
    const key = { target: this.#target, principal, abilities: { form, url, sampling, roots } };
    const hmac = createHmac('sha256', this.#parts.secret).update(canonicalJson(key as unknown as JsonValue));
    return `${this.config.name}#${hmac.digest('base64url').slice(0, 22)}`;
  }

  /** What a caller showed us, for upstreams to which it is to be shown. In memory only. */
  showed(user: LaneUser, authorization: string): void {
    const { target } = this.config;
    if ('url' in target && target.forwardAuthorization) this.#authorizations.set(this.nameOf(user), authorization);
  }

  /** Passes on what a client says unasked, to the lane that is his. */
  tell({ principal, abilities }: LaneUser, method: string): void {
    const lane = this.#open.get(this.nameOf({ principal, abilities }));
    lane?.link.notify(method, {}).catch((error: unknown) => {
      this.#parts.logger.debug({ error, lane: lane.name }, 'an upstream could not be told of a change');
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await Promise.all([...this.#lanes.keys()].map((name) => this.#end(name)));
  }

  async #make(name: string, { principal, abilities }: LaneUser): Promise<Lane> {
    const { client, clock, logger, reach, changed, opened } = this.#parts;
    let there: (lane: Lane) => void = () => {};
    const made = new Promise<Lane>((resolve) => (there = resolve));
    const { target, stdio } = reach(this.config, () => this.#authorizations.get(name));
    if (stdio !== undefined) this.#processes.set(name, stdio);
    const server = await client.connect(name, {
      ...target,
      abilities,
      oneCaller: true,
      firstDraft: this.config.firstDraft ?? false,
      onQuestion: async (asked) => (await made).ask(asked),
    } as ConnectTarget);
    const lane = new Lane({ name, principal, server, clock, logger, changed, reconnected: opened, stdio });
    there(lane);
    if (this.#closed) await client.disconnect(name);
    this.#open.set(name, lane);
    opened(lane);
    this.#use(name);
    return lane;
  }

  #failed(name: string): void {
    const { logger } = this.#parts;
    this.#lanes.delete(name);
    const stdio = this.#processes.get(name);
    this.#processes.delete(name);
    stdio?.close().catch((error: unknown) => logger.warn({ error }, 'an upstream that failed could not be ended'));
  }

  #use(name: string): void {
    const lane = this.#open.get(name);
    if (lane !== undefined) lane.usedAt = this.#parts.clock.monotonic();
  }

  #tick(): void {
    const everyMs = Math.max(1_000, (this.config.idleAfterMs ?? IDLE_MS) / 4);
    this.#timer = this.#parts.clock.setTimer(everyMs, () => {
      void this.#endIdle().finally(() => {
        if (!this.#closed) this.#tick();
      });
    });
  }

  async #endIdle(): Promise<void> {
    const { clock, client, logger } = this.#parts;
    const idleMs = this.config.idleAfterMs ?? IDLE_MS;
    for (const [name, lane] of this.#open) {
      if (lane.busy || client.followed(name) > 0) lane.usedAt = clock.monotonic();
      else if (clock.monotonic() - lane.usedAt >= idleMs) {
        await this.#end(name).catch((error: unknown) => logger.warn({ error }, 'an idle upstream could not be left'));
      }
    }
  }

  async #end(name: string): Promise<void> {
    const lane = this.#open.get(name);
    if (lane !== undefined) this.#parts.ended(lane);
    this.#open.delete(name);
    this.#lanes.delete(name);
    await this.#parts.client.disconnect(name);
    await this.#processes.get(name)?.close();
    this.#processes.delete(name);
  }
}
