import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  fingerprint,
  type JobAdapter,
  type JobContext,
  type JobEnd,
  type JobSnapshot,
  type JsonValue,
  LOCAL_PRINCIPAL,
  type Logger,
} from '../../core/index.ts';
import { createTasks, type Tasks, text } from '../../engine/index.ts';
import { sqliteStore } from '../../store/index.ts';
import { PassingTime } from './passing-time.ts';
import type { AdapterHarness, AdapterProcess, AdapterSystem } from './system.ts';

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A system of its own for one case, and time. */
export class AdapterBench {
  readonly time: PassingTime;
  readonly system: AdapterSystem;
  /** For files of the processes here. */
  readonly folder: string;
  readonly #cleanUps: (() => unknown)[] = [];

  private constructor(time: PassingTime, system: AdapterSystem) {
    this.time = time;
    this.system = system;
    this.folder = mkdtempSync(join(tmpdir(), 'longcall-'));
  }

  static async open(harness: AdapterHarness): Promise<AdapterBench> {
    const time = new PassingTime(harness);
    return new AdapterBench(time, await time.during('open', () => harness.open({ clock: time.clock })));
  }

  /** Done when the case is over, the last first. */
  atEnd(cleanUp: () => unknown): void {
    this.#cleanUps.unshift(cleanUp);
  }

  async close(): Promise<void> {
    try {
      for (const cleanUp of this.#cleanUps) await this.time.during('clean up', cleanUp);
      await this.time.during('close', () => this.system.close?.());
    } finally {
      rmSync(this.folder, { recursive: true, force: true });
    }
  }
}

/** An adapter without the engine: each step may have a process of its own. */
export class BareAdapter {
  readonly bench: AdapterBench;
  readonly #tasks: Tasks;
  readonly #parents = new Map<string, string>();
  readonly #renamed = new Map<string, JsonValue>();
  #process: AdapterProcess | undefined;
  #adapter!: JobAdapter<unknown, JsonValue>;

  private constructor(bench: AdapterBench) {
    this.bench = bench;
    const { clock } = bench.time;
    // Works on nothing: its tasks are there for adapters that look at whom a job is for.
    const idle = { slots: 0, attendedSlots: 0, drainMs: 0, stopGraceMs: 0 };
    this.#tasks = createTasks({ store: sqliteStore(':memory:'), clock, logger: silent, ...idle });
    this.#tasks.registerTool('job', {}, () => text('never'));
  }

  static async on(bench: AdapterBench): Promise<BareAdapter> {
    const bare = new BareAdapter(bench);
    bench.atEnd(() => bare.leave());
    await bench.time.during('start', () => bare.#tasks.start());
    await bare.restart();
    return bare;
  }

  /** Nobody uses the system any more. */
  async leave(): Promise<void> {
    const last = this.#process;
    this.#process = undefined;
    await last?.end?.();
    await this.#tasks.close();
  }

  /** As the process has it that lives now. */
  get adapter(): JobAdapter<unknown, JsonValue> {
    return this.#adapter;
  }

  /** The process dies, and another one begins. */
  async restart(): Promise<JobAdapter<unknown, JsonValue>> {
    const { system, time } = this.bench;
    const last = this.#process;
    this.#process = undefined;
    await time.during('the end of a process', () => last?.end?.());
    this.#process = await time.during('enter', () => system.enter({ tasks: this.#tasks, clock: time.clock }));
    this.#adapter = this.#process.adapter;
    return this.#adapter;
  }

  /** Another process beside this one. */
  async beside(): Promise<JobAdapter<unknown, JsonValue>> {
    const { system, time } = this.bench;
    const other = await time.during('enter', () => system.enter({ tasks: this.#tasks, clock: time.clock }));
    this.bench.atEnd(() => other.end?.());
    return other.adapter;
  }

  /** Whose job it is: a task of its own for each name. */
  async context(job: string, startNumber = 1): Promise<JobContext> {
    const taskId = this.#parents.get(job) ?? (await this.#parent(job));
    const { clock } = this.bench.time;
    return {
      taskId,
      principal: LOCAL_PRINCIPAL,
      abilities: { form: true },
      startNumber,
      idempotencyKey: fingerprint(`job ${taskId}/${startNumber}`, 'base64url', 24),
      signal: new AbortController().signal,
      traceparent: undefined,
      prepared: undefined,
      now: () => clock.now(),
      log: () => {},
    };
  }

  /** Calls the adapter of the process that lives now. */
  async call<Value>(
    job: string,
    what: string,
    work: (adapter: JobAdapter<unknown, JsonValue>, context: JobContext) => Value | Promise<Value>,
  ): Promise<Value> {
    const context = await this.context(job);
    return this.bench.time.during(what, () => work(this.#adapter, context));
  }

  /** Starts a job. What it is known by comes back as a record of it would. */
  async start(job: string): Promise<JsonValue> {
    const { system } = this.bench;
    const args = system.args(job);
    const { ref } = await this.call(job, 'start', (adapter, context) => adapter.start(args, context));
    return asRecorded(ref);
  }

  /** Starts a job and waits until the system has it. */
  async begin(job: string): Promise<JsonValue> {
    const { system, time } = this.bench;
    const ref = await this.start(job);
    await time.until(`${job} was started`, async () => (await system.started(job)) > 0);
    return ref;
  }

  /** What a job is known by now, that was started as `ref`. */
  known(ref: JsonValue): JsonValue {
    return this.#renamed.get(JSON.stringify(ref)) ?? ref;
  }

  async poll(job: string, ref: JsonValue): Promise<JobSnapshot> {
    const snapshot = await this.call(job, 'poll', (adapter, context) => adapter.poll(this.known(ref), context));
    if ('ref' in snapshot && snapshot.ref !== undefined) {
      this.#renamed.set(JSON.stringify(ref), asRecorded(snapshot.ref));
    }
    return snapshot;
  }

  /** Polls until it stands as wanted. */
  async stands<Seen extends JobSnapshot>(
    job: string,
    ref: JsonValue,
    what: string,
    wanted: (snapshot: JobSnapshot) => Seen | false | undefined,
  ): Promise<Seen> {
    let seen: unknown = '';
    const look = async (): Promise<Seen | false | undefined> => {
      const snapshot = await this.poll(job, ref);
      seen = snapshot;
      return wanted(snapshot);
    };
    return this.bench.time.until(`${job} ${what}`, look, () => seen);
  }

  ends(job: string, ref: JsonValue): Promise<JobEnd> {
    return this.stands(job, ref, 'ends', (snapshot) => isEnd(snapshot) && snapshot);
  }

  /** Whether the job goes on, as far as it shows. */
  async works(job: string, ref: JsonValue): Promise<void> {
    await this.stands(job, ref, 'works', (snapshot) => {
      if (isEnd(snapshot)) assert.fail(`${job} works, but its snapshot says ${JSON.stringify(snapshot)}`);
      return snapshot;
    });
  }

  async #parent(job: string): Promise<string> {
    const definition = this.#tasks.tool('job')?.definition;
    assert.ok(definition);
    const { engine } = this.#tasks;
    const whose = { principal: LOCAL_PRINCIPAL, revision: 'test', abilities: { form: true } };
    const { task } = await this.bench.time.during('create', () => engine.create({ definition, input: {}, ...whose }));
    this.#parents.set(job, task.taskId);
    return task.taskId;
  }
}

export function isEnd(snapshot: JobSnapshot): snapshot is JobEnd {
  return snapshot.state !== 'working' && snapshot.state !== 'input';
}

/** As it comes back from a store. */
export function asRecorded<Value extends JsonValue>(value: Value): Value {
  const recorded = JSON.parse(JSON.stringify(value)) as Value;
  assert.deepEqual(recorded, value, 'what a job is known by has to be JSON, and the same once it was recorded');
  return recorded;
}

/** Somewhere in it. */
export function says(value: unknown, text: string): boolean {
  return JSON.stringify(value).includes(text);
}
