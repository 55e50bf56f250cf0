import type { Answer, Clock, JobAdapter, JsonValue, Question } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** An adapter as one process has it. */
export interface AdapterProcess<Args = unknown, Ref extends JsonValue = JsonValue> {
  adapter: JobAdapter<Args, Ref>;
  /** The process is gone: nothing of it reaches the system any more. Jobs go on. @default nothing is to be done */
  end?(): Awaitable<void>;
}

/** Requests that a system answers with trouble, without doing what they ask for. */
export interface Burst {
  on: 'start' | 'poll';
  status: 429 | 500;
  /** How many, in a row. */
  times: number;
  /** Said with each of them. */
  retryAfterMs?: number;
}

/** A question that a job asks in these cases. */
export type AskedForm = Question & { kind: 'form' };

/**
 * The system behind an adapter, beside the processes that use it: it outlives what a case kills. Jobs are called by names that the
 * cases give them, which are in their arguments.
 *
 * A lever resolves once it is pulled; that the adapter shows it may take longer. Where a lever is absent, the cases that need it
 * do not apply.
 */
export interface AdapterSystem<Args = unknown, Ref extends JsonValue = JsonValue> {
  /** A process begins to use it: an adapter that shares nothing in memory with those before. */
  enter(process: { tasks: Tasks; clock: Clock }): Awaitable<AdapterProcess<Args, Ref>>;
  /** Arguments to start the job of this name with: those of a call. The job works until a lever ends it. */
  args(job: string): Args;
  /** One of a job that never was, as this system gives them. */
  unknownRef: Ref;
  /** Whether two refs are of one job. @default they are equal */
  sameJob?(one: Ref, other: Ref): boolean;
  /** How many jobs were really started under this name, whatever became of them. */
  started(job: string): Awaitable<number>;
  /** The job ends well, with `text` somewhere in its result. */
  finish(job: string, text: string): Awaitable<void>;
  /** The job ends with an error that has `text` somewhere in it. */
  fail?(job: string, text: string): Awaitable<void>;
  /** Somebody else cancels the job where it runs. */
  cancel?(job: string): Awaitable<void>;
  /** The job and all that is known of it are gone. */
  vanish?(job: string): Awaitable<void>;
  /** Whether the job was asked or made to stop. */
  stopped?(job: string): Awaitable<boolean>;
  /** The job writes these lines to its log. */
  log?(job: string, lines: readonly string[]): Awaitable<void>;
  /** The job asks this, beside what it asked before, and waits. */
  ask?(job: string, form: AskedForm): Awaitable<void>;
  /**
   * A question whose answer was on its way when a process died is asked anew, since nothing tells it from another with the same words.
   * @default false
   */
  asksAnew?: boolean;
  /** What the job has been answered, each question once. */
  answers?(job: string): Awaitable<readonly Answer[]>;
  /** The next start is done, and its answer is lost on the way. */
  dropStartAnswer?(): Awaitable<void>;
  /** The next start does not arrive, which can be told from one whose answer is lost. */
  refuseStart?(): Awaitable<void>;
  /** The next requests are answered so. `at`: when they came, and those of that kind after them, by the clock's `monotonic`. */
  burst?(burst: Burst): Awaitable<{ readonly at: readonly number[] }>;
  /** Jobs that are started from now on are not shown yet, though they run, until the returned function is called. */
  hideStarted?(): Awaitable<() => Awaitable<void>>;
  /** A request as the system sends it about a job; a `forged` one comes from somebody else and says that the job is over. */
  webhook?(job: string, from: 'system' | 'forger'): Awaitable<Request>;
  /** Nothing of it is needed any more. */
  close?(): Awaitable<void>;
}

/** How to have a system and its adapter, anew for each case. */
export interface AdapterHarness<Args = unknown, Ref extends JsonValue = JsonValue> {
  /**
   * `manual`: time is the clock's, which the cases move. `real`: also the engine waits really, for adapters whose time is the
   * machine's and cannot be injected; that takes minutes instead of seconds. @default 'manual'
   */
  time?: 'manual' | 'real';
  /** What a case waits for comes within so many real milliseconds, or the case fails. @default 20_000 */
  patienceMs?: number;
  open(options: { clock: Clock }): Awaitable<AdapterSystem<Args, Ref>>;
}
