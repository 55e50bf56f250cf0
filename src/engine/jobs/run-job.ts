import {
  DEFAULTS,
  errorKind,
  fingerprint,
  type JobAdapter,
  type JobContext,
  type JobEnd,
  type JobSnapshot,
  type JsonValue,
  NonRetryableError,
  retryReadDelayMs,
} from '../../core/index.ts';
import { type ChildSupport, supportOf } from '../child-support.ts';
import type { TaskContext } from '../context.ts';
import { JobQuestions } from './job-questions.ts';
import { jobNetDelayMs, jobPollDelayMs } from './pace.ts';

export interface JobOptions {
  /** What the job is called in the task's records: the same for the same job on every run. @default the adapter's kind */
  name?: string;
  /** Where the job's questions come from, as people are told before they answer. @default nothing is said */
  origin?: string;
  /**
   * A job that was lost: `fail` ends with that; `rerun` starts it again, though it may have taken effect. @default 'fail'
   */
  onLost?: 'fail' | 'rerun';
  /** How often it is started at most, with `rerun`. @default 3 */
  maxAttempts?: number;
  /** Milliseconds from its first start after which the job is cancelled and the task fails. @default no limit */
  timeoutMs?: number;
  /** Its progress and messages are those of the task. @default true */
  tells?: boolean;
  /**
   * The job is all that the handler does, and its definition is resumed when a worker is lost: then a quick one whose ref follows from
   * its key is recorded nowhere but where it runs, and its end is the task's. Else both are recorded, for a handler that goes on.
   * @default false
   */
  whole?: boolean;
}

/** A job that is under way so long may see its task put away: from then on, what it is known by is on record in any case. */
const RECORD_AFTER_MS = DEFAULTS.holdInputMs;
/** After so many looks in a row that failed, pollers are told. */
const TELL_AFTER_FAILURES = 3;

/**
 * Has a job done for a task, once, however often its handler starts again, and follows it to its end: also while nobody runs the
 * handler, which is put away for long waits. The job ends with the task.
 * @throws when `timeoutMs` is over; what `start` throws for good.
 */
export async function runJob<Args, Ref extends JsonValue>(
  adapter: JobAdapter<Args, Ref>,
  args: Args,
  task: TaskContext,
  options: JobOptions = {},
): Promise<JobEnd> {
  const support = supportOf(task);
  if (support === undefined) throw new TypeError(`${adapter.kind}: a job needs a task; this tool is never one`);
  return new JobRun(adapter, args, task, support, options).end();
}

/** What is recorded of a start: first that it is about to happen, then what it is known by. */
type Started = { ref: JsonValue; at: number };

class JobRun<Args, Ref extends JsonValue> {
  readonly #adapter: JobAdapter<Args, Ref>;
  readonly #args: Args;
  readonly #task: TaskContext;
  readonly #support: ChildSupport;
  readonly #options: JobOptions;
  readonly #name: string;
  readonly #place: string;
  #number = 1;
  #context: JobContext;
  /** Since when the job is under way, by what is recorded, or by this run. */
  #since: number;
  #ref: Ref | undefined;
  #refRecorded = false;
  #saidTrouble = false;
  #changed: { promise: Promise<void>; rung: boolean } | undefined;

  constructor(
    adapter: JobAdapter<Args, Ref>,
    args: Args,
    task: TaskContext,
    support: ChildSupport,
    options: JobOptions,
  ) {
    this.#adapter = adapter;
    this.#args = args;
    this.#task = task;
    this.#support = support;
    this.#options = options;
    this.#name = options.name ?? adapter.kind;
    this.#place = support.place(this.#name);
    this.#since = support.now();
    this.#context = this.#contextOf(1);
  }

  async end(): Promise<JobEnd> {
    const { whole = false } = this.#options;
    const known = this.#support.recorded(this.#key('end')) as JobEnd | undefined;
    const end = known ?? (await this.#lastEnd());
    this.#support.jobs.over(this.#keeperKey());
    if (whole) return end;
    if (known === undefined) {
      await this.#support.record(this.#key('end'), `end of ${this.#name}`, end as unknown as JsonValue);
    }
    this.#support.jobs.forget(this.#keeperKey());
    // From here on, the task's own records hold it.
    if (this.#ref !== undefined) {
      const ref = this.#ref;
      await this.#support
        .working(async () => this.#adapter.release?.(ref, this.#context))
        .catch((error: unknown) => {
          if (this.#task.signal.aborted) throw error;
          this.#task.log(`the end of ${this.#name} could not be acknowledged (${errorKind(error)})`, 'debug');
        });
    }
    return end;
  }

  /** The end of the last start: of the first one, unless that was lost and may be repeated. */
  async #lastEnd(): Promise<JobEnd> {
    const { onLost = 'fail', maxAttempts = 3 } = this.#options;
    const support = this.#support;
    for (let next = 2; support.recorded(this.#key(`start ${next}`)) !== undefined; next += 1) this.#number = next;
    this.#context = this.#contextOf(this.#number);
    for (;;) {
      const end = await this.#oneEnd();
      if (end.state !== 'lost' || onLost === 'fail' || this.#number >= maxAttempts) return end;
      const lost = `${this.#name} was lost and is started again (${this.#number + 1} of ${maxAttempts}): ${end.message}`;
      this.#task.log(lost, 'warning');
      support.jobs.forget(this.#keeperKey());
      this.#number += 1;
      this.#context = this.#contextOf(this.#number);
      this.#ref = undefined;
      this.#refRecorded = false;
      this.#changed = undefined;
      await support.record(this.#key(`start ${this.#number}`), `start ${this.#number} of ${this.#name}`, null);
    }
  }

  async #oneEnd(): Promise<JobEnd> {
    const begun = await this.#begin();
    if ('end' in begun) return begun.end;
    return this.#follow(begun.ref, begun.snapshot);
  }

  /** The job is known, and what it is known by is on record where it has to be. */
  async #begin(): Promise<{ ref: Ref; snapshot?: JobSnapshot | undefined } | { end: JobEnd }> {
    const { caps, find } = this.#adapter;
    const support = this.#support;
    const started = support.recorded(this.#key('ref')) as Started | undefined;
    if (started !== undefined) {
      this.#since = started.at;
      this.#refRecorded = true;
      this.#know(started.ref as Ref);
      return { ref: started.ref as Ref };
    }
    const derived = this.#adapter.refOf?.(this.#context);
    const announced = derived !== undefined || caps.idempotentStart;
    const intended = support.recorded(this.#key('intent')) !== undefined;
    // With a ref of its own making, a run before this one may have started it without a record.
    let uncertain = intended || (announced && support.revived);
    if (!announced && !intended) await support.record(this.#key('intent'), `start of ${this.#name}`, null);
    for (let failures = 0; ; failures += 1) {
      try {
        if (uncertain && find !== undefined) {
          const found = await support.working(async () => this.#adapter.find?.(this.#args, this.#context));
          if (found !== undefined) return await this.#begun(found, undefined);
          uncertain = false;
        }
        if (uncertain && !caps.idempotentStart) return { end: this.#lostBetween() };
        const { ref, snapshot } = await support.working(() => this.#start());
        return await this.#begun(ref, snapshot);
      } catch (error) {
        if (this.#task.signal.aborted || isForGood(error)) throw error;
        const { mayHaveStarted = true, retryAfterMs } = error as { mayHaveStarted?: boolean; retryAfterMs?: unknown };
        uncertain ||= mayHaveStarted;
        const delayMs = retryReadDelayMs(failures + 1, retryAfterMs, support.random);
        this.#tellTrouble(failures + 1, delayMs, error);
        await this.#nap(delayMs);
      }
    }
  }

  /** Known to who ends jobs before anything else can happen: the task may be over by now. */
  async #start(): Promise<{ ref: Ref; snapshot?: JobSnapshot }> {
    const derived = this.#adapter.refOf?.(this.#context);
    if (derived !== undefined) this.#know(derived);
    const started = await this.#adapter.start(this.#args, this.#context);
    if (derived === undefined) this.#know(started.ref);
    return started;
  }

  async #begun(ref: Ref, snapshot: JobSnapshot | undefined) {
    this.#know(ref);
    if (this.#adapter.refOf === undefined || this.#options.whole !== true) await this.#recordRef(ref);
    return { ref, snapshot };
  }

  async #recordRef(ref: Ref): Promise<void> {
    if (this.#refRecorded) return;
    this.#refRecorded = true;
    const started = { ref, at: this.#since } satisfies Started;
    await this.#support.record(this.#key('ref'), this.#name, started);
  }

  #know(ref: Ref): void {
    if (this.#ref !== undefined) return;
    this.#ref = ref;
    const { caps, cancel, release } = this.#adapter;
    const context = { ...this.#context, signal: new AbortController().signal }; // The task is over then.
    this.#support.jobs.keep(this.#keeperKey(), this.#task.id, {
      ...(caps.endsWithTask !== true &&
        caps.cancel !== 'none' &&
        cancel !== undefined && { cancel: async () => this.#adapter.cancel?.(ref, context) }),
      ...(release !== undefined && { release: async () => this.#adapter.release?.(ref, context) }),
    });
  }

  #lostBetween(): JobEnd {
    return { state: 'lost', message: 'whether it was started is not known, and it cannot be looked for' };
  }

  async #follow(ref: Ref, first: JobSnapshot | undefined): Promise<JobEnd> {
    const support = this.#support;
    const questions = new JobQuestions({
      support,
      log: (text, level) => this.#task.log(`${this.#options.origin ?? this.#name} ${text}`, level),
      key: this.#keeperKey(),
      origin: this.#options.origin,
      answer: (key, answer) => support.working(async () => this.#adapter.answer?.(ref, key, answer, this.#context)),
    });
    let snapshot = first;
    let failures = 0;
    let retryMs = 0;
    for (;;) {
      if (snapshot === undefined) {
        this.#listen(ref); // Before the look, or news falls in between.
        try {
          snapshot = await support.working(() => this.#adapter.poll(ref, this.#context));
          failures = 0;
          this.#recovered(snapshot);
        } catch (error) {
          if (this.#task.signal.aborted) throw error;
          failures += 1;
          retryMs = retryReadDelayMs(failures, (error as { retryAfterMs?: unknown }).retryAfterMs, support.random);
          this.#tellTrouble(failures, retryMs, error);
        }
      }
      if (snapshot !== undefined && isEnd(snapshot)) {
        await questions.over();
        return snapshot;
      }
      if (snapshot !== undefined) {
        this.#tell(snapshot);
        const asked = snapshot.state === 'input' ? snapshot.questions : {};
        if (asked !== undefined) await questions.told(asked);
      }
      if (failures > 0) await this.#nap(retryMs);
      else await this.#wait(ref, snapshot?.nextPollMs);
      snapshot = undefined;
    }
  }

  async #wait(ref: Ref, hintMs: unknown): Promise<void> {
    const { random } = this.#support;
    const ageMs = this.#support.now() - this.#since;
    const delayMs = this.#adapter.caps.push ? jobNetDelayMs(ageMs) : jobPollDelayMs(ageMs, hintMs, random);
    // It takes its time: from now on the run may be put away, and who comes next is to know that it was started.
    if (delayMs > RECORD_AFTER_MS || ageMs >= RECORD_AFTER_MS) await this.#recordRef(ref);
    await this.#nap(delayMs, this.#changed?.promise);
  }

  /** One listener for all waits, until it has rung. */
  #listen(ref: Ref): void {
    if (this.#adapter.changed === undefined || this.#changed?.rung === false) return;
    const changed = { rung: false, promise: this.#adapter.changed(ref, this.#context) };
    const rung = (): void => {
      changed.rung = true;
    };
    changed.promise = changed.promise.then(rung, rung);
    this.#changed = changed;
  }

  async #nap(ms: number, early: Promise<unknown> = new Promise(() => {})): Promise<void> {
    const support = this.#support;
    const { timeoutMs } = this.#options;
    const leftMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : this.#since + timeoutMs - support.now();
    if (timeoutMs !== undefined && leftMs <= 0) throw timedOut(this.#name, timeoutMs);
    await support.nap(`job ${this.#place}`, Math.min(ms, leftMs), early);
    if (timeoutMs !== undefined && support.now() >= this.#since + timeoutMs) throw timedOut(this.#name, timeoutMs);
  }

  #tell(snapshot: JobSnapshot & { state: 'working' | 'input' }): void {
    if (this.#options.tells === false) return;
    const { message, progress } = snapshot;
    if (progress !== undefined) {
      const said = progress.message ?? message;
      this.#task.progress(progress.progress, progress.total, said);
    } else if (message !== undefined) this.#support.say(message);
  }

  #tellTrouble(failures: number, delayMs: number, error: unknown): void {
    if (failures === 1)
      this.#task.log(`${this.#name} could not be asked (${errorKind(error)}); trying again`, 'warning');
    if (this.#options.tells === false || (failures < TELL_AFTER_FAILURES && delayMs <= RECORD_AFTER_MS)) return;
    this.#saidTrouble = true;
    this.#support.say(`${this.#options.origin ?? this.#name} cannot be reached; trying again`);
  }

  #recovered(snapshot: JobSnapshot): void {
    if (!this.#saidTrouble) return;
    this.#saidTrouble = false;
    const { message = 'working' } = snapshot as { message?: string };
    this.#support.say(message);
  }

  #contextOf(startNumber: number): JobContext {
    const { id, principal, signal } = this.#task;
    const { abilities, traceparent } = this.#support;
    return {
      taskId: id,
      principal,
      abilities,
      startNumber,
      idempotencyKey: fingerprint(`job ${id}/${this.#place}/${startNumber}`, 'base64url', 24),
      signal,
      traceparent,
      now: () => this.#support.now(),
      log: (text, level) => this.#task.log(text, level),
    };
  }

  #key(what: string): string {
    const start = this.#number === 1 || what.startsWith('start') || what === 'end' ? '' : ` ${this.#number}`;
    return `job ${this.#place}${start} ${what}`;
  }

  #keeperKey(): string {
    return this.#context.idempotencyKey;
  }
}

function isEnd(snapshot: JobSnapshot): snapshot is JobEnd {
  return snapshot.state === 'done' || snapshot.state === 'cancelled' || snapshot.state === 'lost';
}

function timedOut(name: string, timeoutMs: number): Error {
  return new Error(`timed out: ${name} took longer than the tool's limit (timeoutMs) of ${timeoutMs} ms`);
}

/** Nothing was started and nothing ever will be. */
function isForGood(error: unknown): boolean {
  return error instanceof NonRetryableError || Number.isSafeInteger((error as { code?: unknown } | null)?.code);
}
