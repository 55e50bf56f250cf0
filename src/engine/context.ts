import type { JsonObject, JsonValue, OutputOf, Principal, StandardSchema, TaskId } from '../core/index.ts';

/** What a step's function is given. */
export interface StepContext {
  /** The same on every run of this step of this task: pass it to whatever the step changes, so that a step that is
   * interrupted and run again does not change it twice. */
  idempotencyKey: string;
  /** Aborted when the task is cancelled, times out, or is taken from this process. */
  signal: AbortSignal;
}

/** The answer to a question. `content` has passed the question's schema. */
export type AskResult<Content> =
  | { action: 'accept'; content: Content }
  | { action: 'decline' }
  | { action: 'cancel' }
  /** Nobody answered within `timeoutMs`. */
  | { action: 'expired' };

export interface AskUrlOptions {
  /** What the person reads before they decide to open the page. */
  message: string;
  /** An `https:` page (`http:` on this machine): to sign in, to pay, to approve. What happens there stays there. */
  url: string;
  /** How long to wait for an answer, in milliseconds. @default as long as the task lives */
  timeoutMs?: number;
}

/** What a model said, as MCP's sampling has it. */
export interface SampledMessage {
  role: 'user' | 'assistant';
  content: JsonObject | JsonValue[];
  model: string;
  stopReason?: string;
}

export interface Root {
  uri: string;
  name?: string;
}

export interface AskOptions<Schema extends StandardSchema | JsonObject> {
  /** What the person reads above the form. */
  message: string;
  /** A flat object of strings, numbers, booleans and choices: all that hosts can draw as a form. */
  schema: Schema;
  /** How long to wait for an answer, in milliseconds. @default as long as the task lives */
  timeoutMs?: number;
}

export type AskContent<Schema> = Schema extends StandardSchema ? OutputOf<Schema> : JsonObject;

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';

/** A handler's side of the task it works on. */
export interface TaskContext {
  readonly id: TaskId;
  readonly principal: Principal;
  /** 1 for the first run; grows when a worker was lost, never by waiting. */
  readonly attempt: number;
  /**
   * Aborted when the task is cancelled ({@link TaskCancelledError}), runs out of time ({@link TaskTimedOutError}), or
   * goes on elsewhere or later ({@link TaskInterruptedError}: stop, but do not undo).
   */
  readonly signal: AbortSignal;
  /** What the tool's `prepare` hook handed over. */
  readonly prepared: JsonValue | undefined;
  /**
   * Runs `work` once in the life of the task and records what it returned: a run after a crash gets the record. A step
   * that was interrupted runs again. Steps are told apart by name, and by order where one name is used repeatedly.
   * @throws {TypeError} when the value is not JSON; whatever `work` throws is thrown on. A {@link NonRetryableError} is
   * recorded too: later runs get it again instead of another try.
   */
  step<Value>(name: string, work: (context: StepContext) => Value | Promise<Value>): Promise<Value>;
  /**
   * Asks the requestor's side and waits, also across restarts and for days: question and answer are recorded, and a
   * run that starts again gets the recorded answer.
   * @throws {InputNotSupportedError} when the requestor cannot show a form.
   * @throws {TypeError} when the schema is not a flat object of primitives.
   */
  ask<Schema extends StandardSchema | JsonObject>(
    name: string,
    options: AskOptions<Schema>,
  ): Promise<AskResult<AskContent<Schema>>>;
  /**
   * Sends a person to a page and waits until they say that they are done with it, or will not go. Recorded like any question.
   * @throws {InputNotSupportedError} when the requestor cannot open pages; {TypeError} when `url` is no such page.
   */
  ask(name: string, options: AskUrlOptions): Promise<AskResult<Record<string, never>>>;
  /**
   * Has the requestor's model answer a message (`params` of MCP's `sampling/createMessage`). Recorded like any question.
   * @throws {InputNotSupportedError} when the requestor offers no model.
   */
  sample(name: string, params: JsonObject, options?: { timeoutMs?: number }): Promise<AskResult<SampledMessage>>;
  /**
   * The folders the requestor works in. Recorded like any question, so a handler that starts again sees the same.
   * @throws {InputNotSupportedError} when the requestor says nothing about folders.
   */
  roots(options?: { timeoutMs?: number }): Promise<AskResult<{ roots: Root[] }>>;
  /**
   * Waits, also across restarts: a long wait costs nothing, the handler is put away and run again over its records.
   * @param ms milliseconds from the first time this sleep is reached
   */
  sleep(ms: number): Promise<void>;
  /** How far the work is; coalesced, never throws. `total` and `message` are optional. */
  progress(progress: number, total?: number, message?: string): void;
  /** A line for the task's log, readable while it runs; written in batches, never throws. */
  log(text: string, level?: LogLevel): void;
}
