import type { Transport } from '@modelcontextprotocol/client';
import { type ConnectionOptions, WireConnection } from './wire-validator/connection.ts';
import { type AnyFetch, wrapFetch } from './wire-validator/http.ts';
import type { WireRevision } from './wire-validator/results.ts';
import { tapTransport } from './wire-validator/stdio.ts';
import { TaskHistories } from './wire-validator/task-histories.ts';
import { type Violation, WireViolationError } from './wire-validator/violation.ts';

export { type Violation, WireViolationError };

export interface WireValidatorOptions {
  /**
   * What to make of `id: null` in an error: JSON-RPC asks for it where the request's id could not be read, the schemas of
   * both revisions allow only a string, an integer, or nothing. @default 'refuse'
   */
  nullErrorId?: 'refuse' | 'accept';
  /** Whether an `initialize` with an envelope of 2026-07-28 may be answered as a handshake. @default 'refuse' */
  envelopedHandshake?: 'refuse' | 'accept';
  /** The server speaks the first draft of tasks in sessions before 2025-11-25. @default false */
  firstDraft?: boolean;
}

/**
 * Holds every message a server of ours sends against the schema of its revision, and against what schemas can't say. One
 * validator per server: it remembers its tasks, so that answers have to agree with each other too.
 */
export interface WireValidator {
  /** Takes note of what a client sends. `revision` is for requests that do not say it: that of the header or session. */
  observeRequest(message: unknown, revision?: string): void;
  /** @throws {@link WireViolationError} when the server may not send this message here and now. */
  checkOutgoing(message: unknown): void;
  /** A connection with request ids of its own; the two methods above speak of one such. */
  connection(options?: { revision: WireRevision }): Pick<WireConnection, 'observeRequest' | 'checkOutgoing'>;
  /** Wraps `fetch`, or a server's own `fetch(request)`: checks every answer; a bad one rejects, or breaks its stream. */
  wrapFetch<F extends AnyFetch>(fetch: F): F;
  /** Changes a client's transport in place: checks all it receives; a bad answer fails its request. */
  tapTransport<T extends Transport>(transport: T): T;
  readonly violations: readonly Violation[];
  /** How many messages were checked: 0 says that the validator is not wired in. */
  readonly checked: number;
  /** @throws {@link WireViolationError} with all violations so far: for the end of a test, as a client may swallow them. */
  assertClean(): void;
}

export function createWireValidator({
  nullErrorId = 'refuse',
  firstDraft = false,
  envelopedHandshake = 'refuse',
}: WireValidatorOptions = {}): WireValidator {
  const violations: Violation[] = [];
  const histories = new TaskHistories();
  let checked = 0;
  const connect = (
    taskTokens = new Map<unknown, number>(),
    more: Pick<ConnectionOptions, 'session' | 'revision'> = {},
  ) =>
    new WireConnection({
      histories,
      taskTokens,
      ...more,
      nullErrorId,
      firstDraft,
      envelopedHandshake,
      count: () => {
        checked += 1;
      },
      report: (found) => violations.push(...found),
    });
  const only = connect();
  const tokensWithoutSession = new Map<unknown, number>();
  const sessions = new Map<string, WireConnection>();
  return {
    observeRequest: (message, revision) => only.observeRequest(message, revision),
    checkOutgoing: (message) => only.checkOutgoing(message),
    connection: (options) => connect(undefined, options),
    wrapFetch: (fetch) =>
      wrapFetch(fetch, {
        connection: (sessionId) => {
          if (sessionId === undefined) return connect(tokensWithoutSession);
          const known = sessions.get(sessionId) ?? connect(undefined, { session: true });
          sessions.set(sessionId, known);
          return known;
        },
      }),
    tapTransport: (transport) => tapTransport(transport, connect()),
    violations,
    get checked() {
      return checked;
    },
    assertClean() {
      if (violations.length > 0) throw new WireViolationError(violations);
    },
  };
}
