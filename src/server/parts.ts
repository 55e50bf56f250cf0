import type { Tasks } from '../engine/index.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { Offer } from '../wire/rev-sep-1686/index.ts';
import type { EncodeOptions, TasksCapability } from '../wire/rev2025-11-25/index.ts';
import type { Peer } from './caller.ts';
import type { Followers } from './followers.ts';
import type { InFlight } from './in-flight.ts';
import type { CallerLimits } from './limits.ts';
import type { PrincipalOf } from './principal.ts';
import type { QuestionDesk } from './questions.ts';
import type { Transport } from './sdk.ts';
import type { ToldProgress } from './told-progress.ts';

/** What everything that serves one instance (a request over HTTP, a connection over stdio) works with. */
export interface ServingParts {
  tasks: Tasks;
  outbox: Outbox;
  peer: Peer;
  principalOf: PrincipalOf;
  desk: QuestionDesk;
  followers: Followers;
  told: ToldProgress;
  limits: CallerLimits;
  inFlight: InFlight;
  /** Whether the one connection that is served, where it is one, has ended. */
  connection: { over: boolean };
  /** How 2025-11-25 is to be worded for this server's clients. */
  wording: EncodeOptions;
  /** The `tasks` capability of 2025-11-25 that this instance declares. */
  declared: TasksCapability | undefined;
  /** What the instance is connected to. */
  transport(): Transport;
  /** Questions asked on a connection whose messages all go one way (stdio); without it, each request has a stream. */
  asked: Set<string> | undefined;
  /** The tools for clients without tasks that this instance has; those of the server's own with such a name are not among them. */
  companions: ReadonlySet<string>;
  /** Under which name a tool is listed; undefined: under none. */
  shownAs(task: string): string | undefined;
  /** Tasks can be read as resources. */
  resources: boolean;
  /** A finished task is answered with its result, if it takes no longer than this, in milliseconds. */
  inlineWithinMs: number;
  /** Keep which tasks a call says it has to do with. */
  relatedTasks: boolean;
  /** The first draft of tasks (SEP-1686) is spoken in sessions that have none of their own. */
  firstDraft: boolean;
  /** What such sessions are told of the server's tasks. */
  offer: Offer | undefined;
  /** Whether the SDK takes this for the result of a tool. */
  isToolResult(value: unknown): boolean;
}
