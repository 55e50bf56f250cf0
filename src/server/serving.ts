import type { Principal, RequestorAbilities } from '../core/index.ts';
import type { FallbackOptions, Tasks } from '../engine/index.ts';
import type { EncodeOptions } from '../wire/rev2025-11-25/index.ts';
import { Followers } from './followers.ts';
import { InFlight } from './in-flight.ts';
import { CallerLimits } from './limits.ts';
import type { PrincipalOf } from './principal.ts';
import { QuestionDesk } from './questions.ts';
import { Relay } from './relay.ts';
import { ToldProgress } from './told-progress.ts';

/** How tasks are served, whatever they are served on. */
export interface ServingOptions {
  /**
   * Whose tasks a request may touch. @default issuer and subject of the verified token; the local principal where there
   * is no authentication
   */
  principal?: PrincipalOf;
  /** Offer each task, its log and its result as `longcall://tasks/{id}` resources, to its owner. @default true */
  resources?: boolean;
  /**
   * Drain on the first SIGTERM or SIGINT, then exit; a second one exits at once. Only where this library owns the
   * listener or stdio. @default true
   */
  signals?: boolean;
  /** How clients that know no tasks are served. A tool's own `fallback` and `clients` come first. */
  fallback?: FallbackOptions;
  /** The same for single clients, by the name they give themselves. */
  clients?: Readonly<Record<string, FallbackOptions>>;
  /** Show clients without tasks the tools `task_wait`, `task_status`, … by which they go on. @default true */
  companions?: boolean;
  /**
   * How long a call may wait for its task before it is answered with a handle, in milliseconds: a task that is over by
   * then is answered with its result. For clients that declare the tasks extension. @default 0
   */
  inlineWithinMs?: number;
  /**
   * Keep, as the label `relatedTasks`, which of its tasks a client says a call has to do with. Of a draft of MCP, and advice:
   * nothing follows from it. @default false: such advice is ignored
   */
  relatedTasks?: boolean;
  /**
   * What 2025-11-25 calls a task whose tool answered with `isError`. The specification says `failed`; some clients throw
   * the payload of a failed task away. @default 'failed'
   */
  isErrorStatus?: 'failed' | 'completed';
  /**
   * Speak the first draft of tasks (SEP-1686) too, in sessions before 2025-11-25: there a client makes any request a task by
   * `_meta["modelcontextprotocol.io/task"]`, under an id of its own. @default false
   */
  firstDraft?: boolean;
}

/** Who listens to what, beside tasks, on 2026-07-28. */
export interface ListeningClient {
  principal: Principal;
  abilities: RequestorAbilities;
  /** Resources whose changes it is to be told of. */
  uris: readonly string[];
}

/** Told of each who listens; what it returns is called when it listens no more. */
type OnListen = (client: ListeningClient) => () => void;

/** Of servers in front of others. */
export interface InnerOptions extends ServingOptions {
  onListen?: OnListen | undefined;
  /** Who listens to a log, on 2026-07-28, is told this often at most that it has grown, in milliseconds. @default 1000 */
  logNewsMs?: number;
}

/** What all instances of one server share. */
export interface Serving {
  principalOf: PrincipalOf;
  resources: boolean;
  companions: boolean;
  limits: CallerLimits;
  wording: EncodeOptions;
  inlineWithinMs: number;
  relatedTasks: boolean;
  firstDraft: boolean;
  desk: QuestionDesk;
  followers: Followers;
  told: ToldProgress;
  inFlight: InFlight;
  relay: Relay;
  /** Where somebody else has to know who listens. */
  onListen: OnListen | undefined;
  logNewsMs: number | undefined;
  /** Where a transport serves one connection and no more: whether that has ended. */
  connection: { over: boolean };
}

/** @throws {TypeError} {RangeError} naming an option that cannot work. */
export function servingOf(tasks: Tasks, options: ServingOptions, principalOf: PrincipalOf): Serving {
  const { inlineWithinMs = 0, isErrorStatus = 'failed' } = options;
  if (!Number.isSafeInteger(inlineWithinMs) || inlineWithinMs < 0) {
    throw new RangeError(`inlineWithinMs must be a whole number of milliseconds of at least 0, got ${inlineWithinMs}`);
  }
  if (isErrorStatus !== 'failed' && isErrorStatus !== 'completed') {
    throw new TypeError(`isErrorStatus must be 'failed' or 'completed', got ${String(isErrorStatus)}`);
  }
  const wording = { isErrorStatus };
  const { desk, told } = ledgersOf(tasks);
  return {
    principalOf: options.principal ?? principalOf,
    resources: options.resources ?? true,
    companions: options.companions ?? true,
    limits: new CallerLimits(options.fallback, options.clients),
    wording,
    inlineWithinMs,
    relatedTasks: options.relatedTasks ?? false,
    firstDraft: options.firstDraft ?? false,
    desk,
    followers: new Followers(tasks, desk, told, wording),
    told,
    inFlight: new InFlight(),
    relay: new Relay(),
    onListen: (options as InnerOptions).onListen,
    logNewsMs: (options as InnerOptions).logNewsMs,
    connection: { over: false },
  };
}

const ledgers = new WeakMap<Tasks, Pick<Serving, 'desk' | 'told'>>();

/** Of several streams only one is asked and told, whichever servers of this process they are on. */
function ledgersOf(tasks: Tasks): Pick<Serving, 'desk' | 'told'> {
  const known = ledgers.get(tasks) ?? { desk: new QuestionDesk(tasks), told: new ToldProgress() };
  ledgers.set(tasks, known);
  return known;
}
