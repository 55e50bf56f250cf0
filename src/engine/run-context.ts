import {
  type Answer,
  describeIssues,
  encodeJson,
  InputNotSupportedError,
  isStandardSchema,
  type JsonObject,
  type JsonValue,
  type Question,
  questionKey,
  type StandardSchema,
} from '../core/index.ts';
import type { Applied, ClaimedTask, History, TaskStore } from '../store/index.ts';
import type { AskContent, AskOptions, AskResult, LogLevel, StepContext, TaskContext } from './context.ts';
import { toFormSchema } from './form-schema.ts';
import type { Reporter } from './reporter.ts';

/** What the context needs of the run it belongs to. */
export interface RunControl {
  readonly signal: AbortSignal;
  /** A write was refused: whatever the reason, this run is over when it resolves. */
  lost(): Promise<void>;
  /** Resolves when the question has its answer; never, if the run is put away before. */
  answerTo(key: string): Promise<Answer>;
  /** True while the run may go on; a run that was parked or lost must not move another inch. */
  readonly over: boolean;
  /** Work that must not be cut off by parking. */
  busy(delta: 1 | -1): void;
}

/** Never settles: a run that was put away stops where it stands, as if the process had died there. */
const NEVER = new Promise<never>(() => {});

/** The context of one run of a handler: records first, work second. */
export class RunContext implements TaskContext {
  readonly id;
  readonly principal;
  readonly attempt;
  readonly signal: AbortSignal;
  readonly prepared: JsonValue | undefined;
  readonly #claimed: ClaimedTask;
  readonly #store: TaskStore;
  readonly #reporter: Reporter;
  readonly #control: RunControl;
  readonly #steps: Map<string, string | null>;
  readonly #asked: Map<string, Answer | undefined>;
  readonly #ordinals = new Map<string, number>();

  constructor(claimed: ClaimedTask, history: History, store: TaskStore, reporter: Reporter, control: RunControl) {
    this.id = claimed.task.taskId;
    this.principal = claimed.task.principal;
    this.attempt = claimed.lease.attempt;
    this.signal = control.signal;
    this.prepared = claimed.prepared;
    this.#claimed = claimed;
    this.#store = store;
    this.#reporter = reporter;
    this.#control = control;
    this.#steps = new Map(history.steps.map(({ key, body }) => [key, body]));
    this.#asked = new Map(history.questions.map(({ key, answer }) => [key, answer]));
  }

  async step<Value>(name: string, work: (context: StepContext) => Value | Promise<Value>): Promise<Value> {
    if (typeof name !== 'string' || name === '') throw new TypeError('step: name must be a non-empty string');
    const ordinal = this.#ordinal(`step ${name}`);
    const key = `${name}#${ordinal}`;
    const recorded = this.#steps.get(key);
    if (recorded !== undefined) return this.#guard(decodeStep(recorded) as Value);
    await this.#stillMine();
    this.#control.busy(1);
    try {
      const value = await work({ idempotencyKey: `${this.id}/${key}`, signal: this.signal });
      await this.#stillMine();
      const body = value === undefined ? null : encodeJson(value, `step "${name}"`);
      await this.#applied(this.#store.recordStep(this.#claimed.lease, { key, name, ordinal, body }));
      return decodeStep(body) as Value; // As a later run will see it.
    } finally {
      this.#control.busy(-1);
    }
  }

  async ask<Schema extends StandardSchema | JsonObject>(
    name: string,
    options: AskOptions<Schema>,
  ): Promise<AskResult<AskContent<Schema>>> {
    if (typeof name !== 'string' || name === '') throw new TypeError('ask: name must be a non-empty string');
    const schema = toFormSchema(options.schema, name);
    let { message } = options;
    for (;;) {
      const answer = await this.#answerTo(name, { kind: 'form', message, schema });
      if (answer.action !== 'accept') return this.#guard(answer);
      const parsed = await parseContent(options.schema, answer.content);
      if (parsed.ok) return this.#guard({ action: 'accept', content: parsed.content });
      // The form let through what the author's schema does not: ask again, under the next key.
      message = `${options.message}\n(The last answer did not fit: ${parsed.problem})`;
    }
  }

  async #answerTo(name: string, question: Question): Promise<Answer> {
    const key = questionKey(name, this.#ordinal(`ask ${name}`));
    const recorded = this.#asked.get(key);
    if (recorded !== undefined) return recorded;
    if (!this.#claimed.abilities.form) throw new InputNotSupportedError(name);
    await this.#stillMine();
    if (!this.#asked.has(key)) await this.#applied(this.#store.ask(this.#claimed.lease, key, question));
    return this.#control.answerTo(key);
  }

  progress(progress: number, total?: number, message?: string): void {
    if (!this.#control.over) this.#reporter.progress(progress, total, message);
  }

  log(text: string, level: LogLevel = 'info'): void {
    if (!this.#control.over) this.#reporter.log(text, level);
  }

  #ordinal(what: string): number {
    const ordinal = (this.#ordinals.get(what) ?? 0) + 1;
    this.#ordinals.set(what, ordinal);
    return ordinal;
  }

  /** Stops a handler whose task ended (it sees why) or went elsewhere (it sees nothing more). */
  async #stillMine(): Promise<void> {
    if (this.#control.over) await NEVER;
    this.signal.throwIfAborted();
  }

  async #guard<Value>(value: Value): Promise<Value> {
    await this.#stillMine();
    return value;
  }

  async #applied(write: Promise<Applied>): Promise<void> {
    if ((await write) !== 'lost') return;
    await this.#control.lost();
    await this.#stillMine();
  }
}

function decodeStep(body: string | null): unknown {
  return body === null ? undefined : JSON.parse(body);
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
