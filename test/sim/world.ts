import { Chance } from './chance.ts';
import { checks, type View } from './checks/index.ts';
import type { Disk } from './connections.ts';
import { DatabaseFile, type Ground } from './database-file.ts';
import { EventLoop, type Happening, type HeldKind } from './event-loop.ts';
import type { Call, Fact } from './facts.ts';
import { type BellFaults, Files } from './files.ts';
import { Model, type TaskModel } from './model.ts';
import { type Mood, someMood } from './mood.ts';
import type { Plant } from './plants.ts';
import { SimProcess } from './sim-process.ts';
import { describe } from './trace.ts';
import { Walls } from './walls.ts';

export interface Violation {
  promise: string;
  sentence: string;
}

/** How handlers behave while time passes. */
export type Handlers = 'handlers go on' | 'handlers take long';

/** No run needs more happenings before something else is to happen; one that does goes in circles. */
const MAX_HAPPENINGS = 5_000;
const TICK_MS = 500;
const NO_FAULTS: BellFaults = { lost: 0, late: 0, twice: 0 };

/** A handler that may not run twice keeps its slot while it asks, and tasks that wait for the slot have to wait for it. */
const COUNT_WORKING = `select count(*) as count from tasks where status = 'working' and not (run_state = 'ready'
  and exists (select 1 from tasks where status = 'input_required' and run_state = 'leased'))`;

export class GoesInCircles extends Error {}

/** Everything a run consists of: one file, its processes, time, clients, and what has happened so far. */
export class World implements View {
  readonly chance: Chance;
  readonly mood: Mood;
  readonly loop = new EventLoop(Date.UTC(2026, 0, 1));
  readonly model = new Model();
  readonly calls: Call[] = [];
  readonly processes: SimProcess[] = [];
  readonly trace: string[] = [];
  readonly violations: Violation[] = [];
  /** Whether the run is in its last part, in which nothing goes wrong any more. */
  calm = false;
  /** Milliseconds by which wall time was set back, in sum. */
  setBackMs = 0;
  readonly #checks = checks();
  readonly #plant: Plant | undefined;
  readonly #file: DatabaseFile;
  readonly #files: Files;
  readonly #walls = new Walls(this.loop.now);
  #facts = 0;
  #runs = 0;
  #texts = 0;

  constructor(seed: number, run: number, ground: Ground, plant?: Plant) {
    this.chance = new Chance(seed, run);
    this.mood = someMood(this.chance);
    plant?.provoke?.(this.mood);
    this.#plant = plant;
    this.#file = new DatabaseFile(ground, `run${run}`, this.chance.fork(), plant);
    this.#files = new Files(this.loop, this.chance.fork(), () => this.#bells());
  }

  // What checkers may ask.

  get at(): number {
    return this.#facts;
  }

  get wall(): number {
    return this.loop.now;
  }

  get elapsed(): number {
    return this.loop.elapsed;
  }

  latestWallSince(at: number): number {
    return this.#walls.latestSince(at);
  }

  earliestWallSince(at: number): number {
    return this.#walls.earliestSince(at);
  }

  isAlive(process: string): boolean {
    return this.living.some(({ name }) => name === process);
  }

  rows<Row>(sql: string): Row[] {
    return this.#file.rows(sql);
  }

  // What is written down.

  observe(fact: Fact): void {
    this.#facts += 1;
    const text = describe(fact, this.model);
    if (text !== undefined) this.say(text);
    for (const check of this.#checks) {
      for (const sentence of check.on(fact, this)) this.violate(check.promise, sentence);
    }
    this.model.on(fact, { at: this.#facts, wall: this.wall, elapsed: this.elapsed });
  }

  say(text: string): void {
    this.trace.push(`${this.#facts} +${Math.round(this.loop.elapsed)} ${text}`);
  }

  violate(promise: string, sentence: string): void {
    this.violations.push({ promise, sentence });
    this.say(`VIOLATION ${promise}: ${sentence}`);
  }

  /** A call of a client that is under way from now on. */
  call(fields: Omit<Call, 'id' | 'invokedAt' | 'troubled'>): Call {
    const call: Call = { ...fields, id: this.calls.length + 1, invokedAt: this.#facts, troubled: this.troubled };
    this.calls.push(call);
    this.observe({ kind: 'called', call });
    return call;
  }

  returned(call: Call, outcome: NonNullable<Call['outcome']>): void {
    call.outcome = outcome;
    this.observe({ kind: 'returned', call });
  }

  /** A text that nobody has used before. */
  newText(): string {
    this.#texts += 1;
    return `t${this.#texts}`;
  }

  // Processes.

  get living(): SimProcess[] {
    return this.processes.filter(({ fate }) => fate !== 'dead');
  }

  /** Those a client can reach. */
  get reachable(): SimProcess[] {
    return this.processes.filter(({ fate, closing }) => fate === 'alive' && !closing);
  }

  spawn(kind: 'worker' | 'server'): Promise<void> {
    const name = `${kind === 'worker' ? 'W' : 'S'}${this.processes.length + 1}`;
    const settings = { ...this.mood.settings, ...(kind === 'server' && { slots: 0 }) };
    const process = new SimProcess(name, settings, {
      loop: this.loop,
      connections: this.#file.connections,
      files: this.#files,
      chance: this.chance.fork(),
      holdOdds: () => (this.calm ? 0 : this.mood.holdOdds),
      bells: () => this.#bells(),
      plantedStore: this.#plant?.store,
      observe: (fact) => this.observe(fact),
      say: (text) => this.say(text),
      nextRunId: () => {
        this.#runs += 1;
        return this.#runs;
      },
    });
    this.processes.push(process);
    this.say(`${name} starts`);
    return this.as(process, () => {
      process.tasks.start().catch((error: unknown) => this.violate('P5', `${name} cannot start: ${String(error)}`));
    });
  }

  /** Runs code of a process that a client, an operator or the scheduler sets off. */
  as(process: SimProcess, action: () => void): Promise<void> {
    return this.loop.run(process, action);
  }

  // What happens.

  /** All that could happen next. */
  happenings(handlers: Handlers = 'handlers go on'): Happening[] {
    const not: HeldKind[] = handlers === 'handlers go on' ? [] : ['handler'];
    if (!this.calm) not.push('hang');
    return this.loop.happenings(not);
  }

  async happen({ owner, label, run }: Happening): Promise<void> {
    this.say(`${owner.name}: ${label}`);
    await this.loop.run(owner, run);
  }

  /** Lets everything happen that can. */
  async rest(handlers: Handlers = 'handlers go on'): Promise<void> {
    for (let count = 0; ; count += 1) {
      const happenings = this.happenings(handlers);
      if (happenings.length === 0) return;
      if (count > MAX_HAPPENINGS) throw new GoesInCircles('the run never comes to rest');
      await this.happen(this.chance.pick(happenings));
    }
  }

  /** Lets time pass as it does on a good day: nothing waits for long. */
  async pass(ms: number, handlers: Handlers = 'handlers go on'): Promise<void> {
    for (let passed = 0; passed < ms && this.violations.length === 0; passed += TICK_MS) {
      await this.rest(handlers);
      this.advance(TICK_MS);
    }
    await this.rest(handlers);
  }

  /** How much still has to happen without anybody's doing: tasks at work, calls under way, processes that shut down. */
  get unsettled(): number {
    const [{ count }] = this.rows<{ count: number }>(COUNT_WORKING) as [{ count: number }];
    const calls = this.calls.filter(
      ({ outcome, op, process }) => outcome === undefined && op !== 'wait' && this.isAlive(process),
    );
    return count + calls.length + this.living.filter(({ closing }) => closing).length;
  }

  get openTasks(): TaskModel[] {
    const open = this.rows<{ id: string }>("select id from tasks where run_state <> 'done'");
    return open.flatMap(({ id }) => this.model.find(id) ?? []);
  }

  advance(ms: number): void {
    this.loop.advance(ms);
    this.#timeMoved();
  }

  jump(ms: number): void {
    this.say(`wall time jumps by ${ms} ms`);
    if (ms < 0) this.setBackMs -= ms;
    this.loop.jump(ms);
    this.#timeMoved();
  }

  // What goes wrong below the processes.

  /** Whether some process may be unable to use the file. */
  get troubled(): boolean {
    return this.hogged || this.living.some(({ disk }) => disk !== 'fine');
  }

  get hogged(): boolean {
    return this.#file.hogged;
  }

  /** Another program takes the write lock. */
  hog(): void {
    this.say('the database is busy');
    this.#file.hog();
    this.#trouble();
  }

  unhog(): void {
    if (!this.hogged) return;
    this.say('the database is free');
    this.#file.unhog();
  }

  setDisk(process: SimProcess, disk: Disk): void {
    this.say(`the disk of ${process.name} is ${disk}`);
    process.disk = disk;
    this.#trouble();
  }

  mendDisks(): void {
    for (const process of this.living) if (process.disk !== 'fine') this.setDisk(process, 'fine');
  }

  /** Every process dies, and what was not flushed may be gone. */
  async cutPower(): Promise<void> {
    this.say('the power is cut');
    for (const process of this.living) await process.kill('nothing gets through');
    this.#file.cutPower();
    this.model.resync(this.rows('select id, run_state, fence, lease_until from tasks'));
    this.observe({ kind: 'power_cut' });
  }

  end(): void {
    for (const process of this.living) process.die();
    this.#file.remove();
  }

  #bells(): BellFaults {
    return this.calm ? NO_FAULTS : this.mood.bells;
  }

  #trouble(): void {
    for (const call of this.calls) if (call.outcome === undefined) call.troubled = true;
  }

  #timeMoved(): void {
    this.#walls.moved(this.#facts, this.wall);
    this.observe({ kind: 'time' });
  }
}
