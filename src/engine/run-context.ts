import {
  type Answer,
  describeIssues,
  encodeJson,
  InputNotSupportedError,
  isJsonObject,
  isStandardSchema,
  type JsonObject,
  type JsonValue,
  LimitExceededError,
  NonRetryableError,
  type Principal,
  type Question,
  questionKey,
  type RandomSource,
  type StandardSchema,
  type TaskId,
} from '../core/index.ts';
import type { Applied, ClaimedTask, NewStep, TaskStore } from '../store/index.ts';
import { offerSupport } from './child-support.ts';
import type {
  AskContent,
  AskOptions,
  AskResult,
  AskUrlOptions,
  LogLevel,
  Root,
  SampledMessage,
  StepContext,
  TaskContext,
} from './context.ts';
import { toFormSchema } from './form-schema.ts';
import type { JobKeeper } from './jobs/keeper.ts';
import { type Records, replay } from './records.ts';
import type { Reporter } from './reporter.ts';

/** What the context needs of the run it belongs to. */
export interface RunControl {
  readonly signal: AbortSignal;
  readonly random: RandomSource;
  readonly jobs: JobKeeper;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** True once the run was put away or lost: it must not move another inch. */
  readonly over: boolean;
  /** A write was refused: whatever the reason, this run is over when it resolves. */
  lost(): Promise<void>;
  /** Resolves when the question has its answer; never, if the run is put away before. */
  answerTo(key: string, deadline: number | undefined): Promise<Answer>;
  /** Resolves at `until`; never, if the run is put away before. */
  sleepUntil(key: string, until: number): Promise<void>;
  /** Closes a question that nobody needs the answer to any more. */
  withdraw(key: string): Promise<void>;
  /** Ends a `sleepUntil` before its time, if it is still waited for here. */
  wake(key: string): void;
  /** Writes again and again while the store is unavailable and the run is not over. */
  persistently<Result>(write: () => Promise<Result>): Promise<Result>;
  /** Something was recorded; a test may want the run to end here. */
  recorded(): void;
  /** Work that must not be cut off by parking. */
  busy(delta: 1 | -1): void;
  /** The handler is not the one that made the records. */
  changed(how: string): Promise<void>;
}

/** What one task may keep. */
export interface RunLimits {
  maxResultBytes: number;
  maxStepsPerTask: number;
}

/**
 * Never settles: a run that was put away stops where it stands, as if the process had died there. A new promise each time:
 * one that lives on would keep everybody who waits for it.
 */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** The context of one run of a handler: records first, work second. */
export class RunContext implements TaskContext {
  readonly id: TaskId;
  readonly principal: Principal;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly prepared: JsonValue | undefined;
  readonly #claimed: ClaimedTask;
  readonly #records: Records;
  readonly #store: TaskStore;
  readonly #reporter: Reporter;
  readonly #control: RunControl;
  readonly #limits: RunLimits;
  readonly #ordinals = new Map<string, number>();
  /** What this run has kept, and may keep again. */
  readonly #kept = new Set<string>();

  constructor(
    claimed: ClaimedTask,
    records: Records,
    store: TaskStore,
    reporter: Reporter,
    control: RunControl,
    limits: RunLimits,
  ) {
    this.#limits = limits;
    this.id = claimed.task.taskId;
    this.principal = claimed.task.principal;
    this.attempt = claimed.lease.attempt;
    this.signal = control.signal;
    this.prepared = claimed.prepared;
    this.#claimed = claimed;
    this.#records = records;
    this.#store = store;
    this.#reporter = reporter;
    this.#control = control;
    offerSupport(this, {
      traceparent: claimed.traceparent,
      abilities: claimed.abilities,
      revived: claimed.lease.fence > 1,
      random: control.random,
      jobs: control.jobs,
      now: () => control.now(),
      place: (name) => `${name}#${this.#ordinal(`job ${name}`)}`,
      recorded: (key) => {
        const recorded = this.#records.step(key);
        return recorded && (replay(recorded) as JsonValue);
      },
      record: (key, name, value) =>
        this.#call(async () => {
          const step = { key, name, ordinal: 1, body: encodeJson(value, name) };
          await this.#record(step);
          this.#records.made(step);
        }),
      keep: (key, name, value, { durable = false } = {}) => this.#keep(key, name, value, durable),
      written: () => reporter.flush(),
      working: (work) => this.#working(work),
      say: (message) => {
        if (!control.over) reporter.say(message);
      },
      pollEvery: (ms) => {
        if (!control.over) reporter.pollEvery(ms);
      },
      logLine: ({ text, level = 'info', at, stream }) => {
        if (!control.over) reporter.log(text, level, at, stream);
      },
      nap: (key, ms, early) => this.#nap(key, ms, early),
      ask: (name, question) => this.#once(name, question, undefined),
      open: () => this.#records.openQuestions,
      withdraw: (name) => this.#withdraw(name),
      asks: (kind) => claimed.abilities[kind] === true,
    });
  }

  async step<Value>(name: string, work: (context: StepContext) => Value | Promise<Value>): Promise<Value> {
    requireName('step', name);
    const ordinal = this.#ordinal(`step ${name}`);
    const key = `${name}#${ordinal}`;
    return this.#call(async () => {
      const recorded = this.#records.step(key);
      if (recorded !== undefined) return this.#still(replay(recorded) as Value);
      await this.#checkOrder(`step "${name}"`);
      this.#control.busy(1);
      try {
        const body = await this.#work(key, { key, name, ordinal }, work);
        return (body === null ? undefined : JSON.parse(body)) as Value; // As a later run will see it.
      } finally {
        this.#control.busy(-1);
      }
    });
  }

  ask(name: string, options: AskUrlOptions): Promise<AskResult<Record<string, never>>>;
  ask<Schema extends StandardSchema | JsonObject>(
    name: string,
    options: AskOptions<Schema>,
  ): Promise<AskResult<AskContent<Schema>>>;
  async ask<Schema extends StandardSchema | JsonObject>(
    name: string,
    options: AskOptions<Schema> | AskUrlOptions,
  ): Promise<AskResult<AskContent<Schema>>> {
    requireName('ask', name);
    if ('url' in options) {
      const { message, url, timeoutMs } = options;
      return this.#once(name, { kind: 'url', message, url: pageUrl(name, url) }, timeoutMs);
    }
    const schema = toFormSchema(options.schema, name);
    const { timeoutMs } = options;
    checkTimeout('ask', name, timeoutMs);
    return this.#call(async () => {
      let { message } = options;
      for (;;) {
        const answer = await this.#answerTo(name, { kind: 'form', message, schema }, timeoutMs);
        if (answer.action !== 'accept') return this.#still(answer);
        const parsed = await parseContent(options.schema, answer.content);
        if (parsed.ok) return this.#still({ action: 'accept', content: parsed.content });
        // The form let through what the author's schema does not: ask again, under the next key.
        message = `${options.message}\n(The last answer did not fit: ${parsed.problem})`;
      }
    });
  }

  async sample(name: string, params: JsonObject, options: { timeoutMs?: number } = {}) {
    requireName('sample', name);
    if (!isJsonObject(params) || !Array.isArray(params.messages)) {
      throw new TypeError(`sample "${name}": params must have messages, as in MCP's sampling/createMessage`);
    }
    const question: Question = { kind: 'sampling', params: JSON.parse(encodeJson(params, `sample "${name}"`)) };
    return this.#once<SampledMessage>(name, question, options.timeoutMs);
  }

  roots(options: { timeoutMs?: number } = {}): Promise<AskResult<{ roots: Root[] }>> {
    return this.#once<{ roots: Root[] }>('roots', { kind: 'roots' }, options.timeoutMs);
  }

  async sleep(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`sleep: ms must be a number of at least 0, got ${ms}`);
    const ordinal = this.#ordinal('sleep');
    const key = `sleep#${ordinal}`;
    return this.#call(async () => {
      const recorded = this.#records.step(key);
      let until = recorded === undefined ? undefined : (replay(recorded) as number);
      if (until === undefined) {
        await this.#checkOrder('sleep');
        until = this.#control.now() + Math.ceil(ms);
        await this.#record({ key, name: 'sleep', ordinal, body: JSON.stringify(until) });
      }
      if (until > this.#control.now()) await this.#control.sleepUntil(key, until);
      await this.#stillMine();
    });
  }

  async #withdraw(name: string): Promise<void> {
    this.#records.withdrawn(name);
    await this.#control.withdraw(name);
  }

  /** Not recorded: a run that starts again looks first whether there is still something to wait for. */
  #nap(key: string, ms: number, early: Promise<unknown>): Promise<void> {
    return this.#call(async () => {
      let over = false;
      const wake = (): void => {
        if (!over) this.#control.wake(key); // Else it is another nap that would be cut short.
      };
      early.then(wake, wake);
      try {
        await this.#control.sleepUntil(key, this.#control.now() + Math.ceil(ms));
      } finally {
        over = true;
      }
      await this.#stillMine();
    });
  }

  #keep(key: string, name: string, value: JsonValue, durable: boolean): Promise<void> {
    return this.#call(async () => {
      const record = { key, name, ordinal: 1, body: encodeJson(value, name), replaces: true, durable };
      this.#checkSizeOf(record);
      const isNew = !this.#kept.has(key) && this.#records.step(key) === undefined;
      this.#kept.add(key);
      const seq = isNew ? this.#records.nextSeq() : 0; // Where it stands already, it keeps its place.
      await this.#recorded(() => this.#store.recordStep(this.#claimed.lease, { ...record, seq }));
      await this.#stillMine();
    });
  }

  #working<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#call(async () => {
      this.#control.busy(1);
      try {
        return await this.#still(await work());
      } catch (error) {
        await this.#stillMine();
        throw error;
      } finally {
        this.#control.busy(-1);
      }
    });
  }

  progress(progress: number, total?: number, message?: string): void {
    if (!this.#control.over) this.#reporter.progress(progress, total, message);
  }

  log(text: string, level: LogLevel = 'info'): void {
    if (!this.#control.over) this.#reporter.log(text, level);
  }

  async #work<Value>(
    key: string,
    step: Omit<NewStep, 'seq' | 'body'>,
    work: (context: StepContext) => Value | Promise<Value>,
  ): Promise<string | null> {
    let value: Value;
    try {
      value = await work({ idempotencyKey: `${this.id}/${key}`, signal: this.signal });
    } catch (error) {
      await this.#stillMine();
      // For good: a later run gets the same error, not another try.
      if (error instanceof NonRetryableError) {
        await this.#record({ ...step, body: null, error: JSON.stringify({ message: error.message }) });
      }
      throw error;
    }
    await this.#stillMine();
    const body = value === undefined ? null : encodeJson(value, `step "${step.name}"`);
    await this.#record({ ...step, body });
    return body;
  }

  /** A question whose answer is taken as it comes. */
  #once<Content>(name: string, question: Question, timeoutMs: number | undefined): Promise<AskResult<Content>> {
    checkTimeout(question.kind === 'url' ? 'ask' : question.kind, name, timeoutMs);
    return this.#call(async () => this.#still((await this.#answerTo(name, question, timeoutMs)) as AskResult<Content>));
  }

  async #answerTo(name: string, question: Question, timeoutMs: number | undefined): Promise<Answer> {
    const key = questionKey(name, this.#ordinal(`ask ${name}`));
    const known = this.#records.question(key);
    if (known?.answer !== undefined) return known.answer;
    if (known !== undefined) return this.#control.answerTo(key, known.deadline);
    if (this.#claimed.abilities[question.kind] !== true)
      throw new InputNotSupportedError(name, ABILITIES[question.kind]);
    const deadline = timeoutMs === undefined ? undefined : this.#control.now() + Math.ceil(timeoutMs);
    this.#records.asked(key, deadline);
    await this.#recorded(() => this.#store.ask(this.#claimed.lease, key, question, deadline));
    this.#control.recorded();
    return this.#control.answerTo(key, deadline);
  }

  #ordinal(what: string): number {
    const ordinal = (this.#ordinals.get(what) ?? 0) + 1;
    this.#ordinals.set(what, ordinal);
    return ordinal;
  }

  /** One call of the handler into its context, from the moment the handler makes it. */
  async #call<Value>(work: () => Promise<Value>): Promise<Value> {
    const leave = this.#records.enter();
    try {
      await this.#stillMine();
      return await work();
    } finally {
      leave();
    }
  }

  /** Something new while records lie unused, and nothing else under way that might use them: another handler made them. */
  async #checkOrder(what: string): Promise<void> {
    if (!this.#records.alone) return;
    const { unasked } = this.#records;
    if (unasked.length > 0)
      await this.#control.changed(`it asked for ${what} where earlier runs had ${quoted(unasked)}`);
    await this.#stillMine();
  }

  /** Stops a handler whose task ended (it sees why) or went elsewhere (it sees nothing more). */
  async #stillMine(): Promise<void> {
    if (this.#control.over) await never();
    this.signal.throwIfAborted();
  }

  async #still<Value>(value: Value): Promise<Value> {
    await this.#stillMine();
    return value;
  }

  async #record(step: Omit<NewStep, 'seq'>): Promise<void> {
    this.#checkLimits(step);
    const record = { ...step, seq: this.#records.nextSeq() };
    await this.#recorded(() => this.#store.recordStep(this.#claimed.lease, record));
    this.#control.recorded();
    await this.#stillMine();
  }

  #checkSizeOf({ name, body }: Pick<NewStep, 'name' | 'body'>): void {
    checkSize(`step "${name}"`, body, this.#limits.maxResultBytes);
  }

  #checkLimits(step: Omit<NewStep, 'seq'>): void {
    const { maxStepsPerTask } = this.#limits;
    const { name } = step;
    this.#checkSizeOf(step);
    if (this.#records.count < maxStepsPerTask) return;
    throw new LimitExceededError(`step "${name}": a task may record at most ${maxStepsPerTask} steps; do more in each`);
  }

  /** Writes a record, and stops the handler where the lease is gone. */
  async #recorded(write: () => Promise<Applied>): Promise<void> {
    if ((await this.#records.writing(() => this.#control.persistently(write))) !== 'lost') return;
    await this.#control.lost();
    await this.#stillMine();
  }
}

/** What a client has to declare to be asked so. */
const ABILITIES = {
  form: 'form elicitation',
  url: 'URL elicitation',
  sampling: 'sampling',
  roots: 'roots',
} as const satisfies Record<Question['kind'], string>;

function checkTimeout(what: string, name: string, timeoutMs: number | undefined): void {
  if (timeoutMs === undefined || timeoutMs > 0) return;
  throw new RangeError(`${what} "${name}": timeoutMs must be above 0, got ${timeoutMs}`);
}

/** Hosts open what they are given: nothing but pages, and no page that anybody on the way could replace. */
function pageUrl(name: string, url: string): string {
  const page = URL.canParse(url) ? new URL(url) : undefined;
  const local = page?.hostname === 'localhost' || page?.hostname === '127.0.0.1' || page?.hostname === '[::1]';
  if (page?.protocol === 'https:' || (page?.protocol === 'http:' && local)) return page.href;
  throw new TypeError(`ask "${name}": url must be an https: page, or an http: page of this machine`);
}

function checkSize(what: string, body: string | null, maxBytes: number): void {
  const bytes = body === null ? 0 : Buffer.byteLength(body);
  if (bytes <= maxBytes) return;
  throw new LimitExceededError(
    `${what} returned ${bytes} bytes; at most ${maxBytes} are recorded; keep it elsewhere and return a reference`,
  );
}

export function quoted(names: readonly string[]): string {
  const shown = names.slice(0, 3).map((name) => `"${name}"`);
  return names.length > 3 ? `${shown.join(', ')} and ${names.length - 3} more` : shown.join(', ');
}

function requireName(what: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
}

async function parseContent<Schema extends StandardSchema | JsonObject>(
  schema: Schema,
  content: JsonObject,
): Promise<{ ok: true; content: AskContent<Schema> } | { ok: false; problem: string }> {
  if (!isStandardSchema(schema)) return { ok: true, content: content as AskContent<Schema> };
  const parsed = await schema['~standard'].validate(content);
  if (parsed.issues !== undefined) return { ok: false, problem: describeIssues(parsed.issues) };
  return { ok: true, content: parsed.value as AskContent<Schema> };
}
