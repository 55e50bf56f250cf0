import { subscribeTo } from '../../client/link.ts';
import { RemoteUnreachableError } from '../../client/remote-errors.ts';
import type { Clock, Logger } from '../../core/index.ts';
import type { Lane } from '../lanes/lane.ts';

/** Who wants to hear of which resources, over one lane; the upstream is asked once for each. */
interface Wanted {
  sessions: Map<string, Set<string>>;
  /** Of an upstream of 2026-07-28: the stream by which it tells. */
  stream: AbortController | undefined;
  /** Until it is asked again where the stream ended. */
  pauseMs: number;
}

const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Subscriptions to resources of an upstream. In memory, as the sessions are in which they were made. */
export class Subscriptions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lanes = new Map<Lane, Wanted>();

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  async subscribe(lane: Lane, uri: string, sessionId: string): Promise<void> {
    const wanted = this.#of(lane);
    const sessions = wanted.sessions.get(uri) ?? new Set();
    const first = sessions.size === 0;
    if (first && lane.link.era === 'legacy')
      await lane.link.request('resources/subscribe', { uri }, { timeoutMs: TIMEOUT_MS });
    wanted.sessions.set(uri, sessions.add(sessionId));
    if (first && lane.link.era === 'modern') this.#listen(lane, wanted);
  }

  async unsubscribe(lane: Lane, uri: string, sessionId: string): Promise<void> {
    const wanted = this.#of(lane);
    const sessions = wanted.sessions.get(uri);
    if (sessions?.delete(sessionId) !== true || sessions.size > 0) return;
    wanted.sessions.delete(uri);
    if (lane.link.era === 'legacy')
      await lane.link.request('resources/unsubscribe', { uri }, { timeoutMs: TIMEOUT_MS });
    else this.#listen(lane, wanted);
  }

  /**
   * The lane is there, or was connected anew: what was asked of an earlier connection is asked again. From 2026-07-28 on an upstream
   * tells of changes only where it is asked to.
   */
  begin(lane: Lane): void {
    const wanted = this.#of(lane);
    if (lane.link.era === 'modern') {
      this.#listen(lane, wanted);
      return;
    }
    for (const uri of wanted.sessions.keys()) {
      lane.link.request('resources/subscribe', { uri }).catch((error: unknown) => {
        this.#logger.warn({ error, lane: lane.name }, 'a resource could not be subscribed to again');
      });
    }
  }

  /** The lane is there no more. */
  end(lane: Lane): void {
    this.#lanes.get(lane)?.stream?.abort();
    this.#lanes.delete(lane);
  }

  /** Whether a session is to hear of a resource. */
  wants(lane: Lane, uri: unknown, sessionId: string): boolean {
    return this.#lanes.get(lane)?.sessions.get(String(uri))?.has(sessionId) === true;
  }

  /** The session is over. */
  left(lane: Lane, sessionId: string): void {
    for (const sessions of this.#lanes.get(lane)?.sessions.values() ?? []) sessions.delete(sessionId);
  }

  close(): void {
    for (const { stream } of this.#lanes.values()) stream?.abort();
    this.#lanes.clear();
  }

  #of(lane: Lane): Wanted {
    const wanted = this.#lanes.get(lane) ?? { sessions: new Map(), stream: undefined, pauseMs: FIRST_PAUSE_MS };
    this.#lanes.set(lane, wanted);
    return wanted;
  }

  #listen(lane: Lane, wanted: Wanted): void {
    wanted.stream?.abort();
    const stream = new AbortController();
    wanted.stream = stream;
    const uris = [...wanted.sessions.keys()];
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const filter = { ...lists, ...(uris.length > 0 && { resourceSubscriptions: uris }) };
    const again = (): void => {
      if (stream.signal.aborted) return;
      wanted.pauseMs = Math.min(LONGEST_PAUSE_MS, wanted.pauseMs * 2);
      this.#clock.setTimer(wanted.pauseMs, () => {
        if (!stream.signal.aborted) this.#listen(lane, wanted);
      });
    };
    subscribeTo(lane.link, filter, stream.signal).then(again, (error: unknown) => {
      if (stream.signal.aborted) return;
      // What is refused once is refused again.
      if (error instanceof RemoteUnreachableError) again();
      else this.#logger.info({ error, lane: lane.name }, 'an upstream tells of no changes');
    });
  }
}
