import type { ConnectedServer } from '../../client/index.ts';
import type { Link } from '../../client/link.ts';
import type { OnQuestion } from '../../client/remote.ts';
import { toolPages } from '../../client/tool-list.ts';
import {
  type Answer,
  type Clock,
  isJsonObject,
  type JsonObject,
  type Logger,
  type Principal,
  type Question,
  Recent,
} from '../../core/index.ts';
import type { FrontConnection } from '../../server/front/front.ts';
import { answerTo, type LogLevel, questionTo } from '../../wire/relayed.ts';
import type { SupervisedStdio } from '../upstreams/supervised-stdio.ts';

/** A request of a caller's that is on its way: by it he can be asked, and told what the upstream logs meanwhile. */
export interface OnItsWay {
  ask: Asker | undefined;
  /** Absent where he wants to hear nothing. */
  log: ((params: JsonObject) => void) | undefined;
}

/** Asks whoever waits for a call, or is connected. */
export type Asker = (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;

const LIST_TIMEOUT_MS = 60_000;
/** An upstream that asks as soon as it is connected is ahead of the client it is connected for. */
const FOR_SOMEBODY_MS = 10_000;
const TOOLS_CHANGED = 'notifications/tools/list_changed';
const LOGGED = 'notifications/message';
/** Of so many sessions it is remembered which messages they want to hear. */
const MAX_LEVELS = 1_000;

/**
 * One connection to an upstream, for one principal and for clients that can be asked the same: what one of them may see, or is
 * asked, never reaches another.
 */
export class Lane {
  readonly name: string;
  readonly principal: Principal;
  readonly server: ConnectedServer;
  readonly link: Link;
  readonly stdio: SupervisedStdio | undefined;
  readonly #logger: Logger;
  /** In the order in which they came. */
  readonly #onTheirWay = new Set<OnItsWay>();
  readonly #levels = new Recent<string, LogLevel>(MAX_LEVELS);
  #levelSet: LogLevel | undefined;
  readonly #connections = new Set<FrontConnection>();
  readonly #changed: (lane: Lane, method: string, params: JsonObject) => void;
  readonly #clock: Clock;
  #somebody: (() => void)[] = [];
  #listing: Promise<readonly JsonObject[]> | undefined;
  /** Streams of those who are not connected, and are told of resources. */
  readonly #listeners = new Set<string>();
  /** While somebody is connected or listens, what its process has in memory is of use. */
  #used: { release(): void } | undefined;
  /** When it was last of use, on the monotonic clock. */
  usedAt = 0;

  constructor(parts: {
    name: string;
    principal: Principal;
    server: ConnectedServer;
    clock: Clock;
    logger: Logger;
    /** Told of every notification that concerns no single request. */
    changed: (lane: Lane, method: string, params: JsonObject) => void;
    reconnected: (lane: Lane) => void;
    /** The process that is kept running for it. */
    stdio: SupervisedStdio | undefined;
  }) {
    const { link } = parts.server;
    if (link === undefined) throw new TypeError('a lane needs a connection of its own');
    this.name = parts.name;
    this.principal = parts.principal;
    this.server = parts.server;
    this.stdio = parts.stdio;
    this.link = link;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#changed = parts.changed;
    link.onNotification((method, params) => {
      if (method === TOOLS_CHANGED) this.#listing = undefined;
      const newest = method === LOGGED ? [...this.#onTheirWay].findLast(({ log }) => log !== undefined) : undefined;
      if (newest?.log === undefined) this.#changed(this, method, params);
      else newest.log(params); // It names no request: all of them here are one caller's.
    });
    link.onReconnect(() => {
      this.#listing = undefined;
      this.#levelSet = undefined;
      parts.reconnected(this);
      this.#changed(this, TOOLS_CHANGED, {});
    });
  }

  /** Somebody waits for it, is connected by it, or listens to it. */
  get busy(): boolean {
    return this.#onTheirWay.size > 0 || this.#connections.size > 0 || this.#listeners.size > 0;
  }

  get connections(): ReadonlySet<FrontConnection> {
    return this.#connections;
  }

  /** All tools as the upstream lists them, each as it came. */
  tools(): Promise<readonly JsonObject[]> {
    this.#listing ??= this.#list().catch((error: unknown) => {
      this.#listing = undefined;
      throw error;
    });
    return this.#listing;
  }

  async during<Result>(request: OnItsWay, work: () => Promise<Result>): Promise<Result> {
    this.#onTheirWay.add(request);
    this.#arrived();
    try {
      return await work();
    } finally {
      this.#onTheirWay.delete(request);
    }
  }

  /** Which messages of an upstream of 2026-07-28 a session wants to hear, which says so once; there each request has to. */
  levelOf(sessionId: string): LogLevel | undefined {
    return this.#levels.get(sessionId);
  }

  setLevelOf(sessionId: string, level: LogLevel): void {
    this.#levels.set(sessionId, level);
  }

  /** Before 2026-07-28, what an upstream logs is set once for all requests. */
  async wantLevel(level: LogLevel): Promise<void> {
    if (this.#levelSet === level || this.link.era === 'modern' || this.link.capabilities.logging === undefined) return;
    this.#levelSet = level;
    await this.link.request('logging/setLevel', { level });
  }

  join(connection: FrontConnection): void {
    this.#connections.add(connection);
    this.#used ??= this.stdio?.use();
    this.#arrived();
  }

  leave(connection: FrontConnection): void {
    this.#connections.delete(connection);
    this.#release();
  }

  listen(listener: string): void {
    this.#listeners.add(listener);
    this.#used ??= this.stdio?.use();
  }

  unlisten(listener: string): void {
    this.#listeners.delete(listener);
    this.#release();
  }

  #release(): void {
    if (this.#connections.size > 0 || this.#listeners.size > 0) return;
    this.#used?.release();
    this.#used = undefined;
  }

  /** Answers what the upstream asks while no task of ours waits for it: all who could be asked here are one caller. */
  readonly ask: OnQuestion = async ({ question, signal }) => {
    const asker = this.#asker() ?? (await this.#somebodyCame().then(() => this.#asker()));
    if (asker === undefined) {
      this.#logger.warn({ lane: this.name, kind: question.kind }, 'an upstream asks, and nobody is there to be asked');
      return { action: 'cancel' };
    }
    return askBy(asker, question, signal);
  };

  #asker(): Asker | undefined {
    const connected = [...this.#connections].flatMap(({ ask }) => ask ?? []);
    return [...this.#onTheirWay].findLast(({ ask }) => ask !== undefined)?.ask ?? connected.at(-1);
  }

  #arrived(): void {
    for (const came of this.#somebody.splice(0)) came();
  }

  #somebodyCame(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(FOR_SOMEBODY_MS, resolve);
      this.#somebody.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #list(): Promise<readonly JsonObject[]> {
    if (!isJsonObject(this.link.capabilities.tools)) return [];
    const found = new Map<string, JsonObject>();
    const ask = (params: JsonObject): Promise<JsonObject> =>
      this.link.request('tools/list', params, { timeoutMs: LIST_TIMEOUT_MS, tasks: true });
    for await (const one of toolPages(ask)) {
      if (isJsonObject(one) && typeof one.name === 'string' && !found.has(one.name)) found.set(one.name, one);
    }
    return [...found.values()];
  }
}

export async function askBy(asker: Asker, question: Question, signal: AbortSignal): Promise<Answer> {
  const { method, params } = questionTo(question);
  return answerTo(question, await asker(method, params, signal).then((result) => ({ result }), asError));
}

function asError(error: unknown): { error: JsonObject } {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return {
    error: {
      code: Number.isSafeInteger(code) ? (code as number) : -32_603,
      message: typeof message === 'string' ? message : 'the client did not answer',
    },
  };
}
