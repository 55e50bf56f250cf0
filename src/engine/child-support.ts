import type { Answer, JobLogLine, JsonValue, Question, RandomSource, RequestorAbilities } from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { JobKeeper } from './jobs/keeper.ts';

/**
 * What the context of a task offers to whoever has jobs done on its behalf, beside what handlers see.
 * @internal
 */
export interface ChildSupport {
  /** Of the request that made the task. @see W3C Trace Context */
  readonly traceparent: string | undefined;
  readonly abilities: RequestorAbilities;
  /** The task was at work before: something may have been begun that no record tells of. */
  readonly revived: boolean;
  readonly random: RandomSource;
  /** Ends jobs with their tasks. */
  readonly jobs: JobKeeper;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** The place of this use of a name among those of the run: the same on every run. */
  place(name: string): string;
  /** What earlier runs recorded under a key. */
  recorded(key: string): JsonValue | undefined;
  /** Resolves once it is on disk. A key has one record. */
  record(key: string, name: string, value: JsonValue): Promise<void>;
  /** How far something is, in the place of what was kept under the key before: lazily, unless `durable`. */
  keep(key: string, name: string, value: JsonValue, options?: { durable?: boolean }): Promise<void>;
  /** Resolves when what was logged and said so far is written, or could not be. */
  written(): Promise<void>;
  /** Something that must not be cut off by putting the handler away; where the run is over by then, it never settles. */
  working<Value>(work: () => Promise<Value>): Promise<Value>;
  /** What pollers are told instead of the progress; coalesced, never throws. */
  say(message: string): void;
  /** How long pollers are to wait between looks, in milliseconds. */
  pollEvery(ms: number): void;
  /** A line for the task's log, also one that was written earlier; never throws. */
  logLine(line: JobLogLine): void;
  /**
   * Waits `ms`, or until `early` settles, if that is still in this process. A long nap puts the handler away: it starts again over
   * its records, or is woken before by `engine.wake`. Nothing is recorded.
   * @param key one for each thing that is waited for
   */
  nap(key: string, ms: number, early: Promise<unknown>): Promise<void>;
  /**
   * Asks the requestor's side, recorded like any question of the task.
   * @param name a key as it is: letters, digits and `_`, at most 56
   * @throws {InputNotSupportedError} where that cannot be asked so
   */
  ask(name: string, question: Question): Promise<Answer>;
  /** Names of questions that were asked and have no answer yet, also by earlier runs. */
  open(): string[];
  /** The question needs no answer any more: who waits for one gets `expired`. */
  withdraw(name: string): Promise<void>;
  /** Whether the requestor's side can be asked so. */
  asks(kind: Question['kind']): boolean;
}

const supports = new WeakMap<TaskContext, ChildSupport>();

export function offerSupport(task: TaskContext, support: ChildSupport): void {
  supports.set(task, support);
}

/** `undefined`: what runs is no task, and lives only as long as its request. */
export function supportOf(task: TaskContext): ChildSupport | undefined {
  return supports.get(task);
}
