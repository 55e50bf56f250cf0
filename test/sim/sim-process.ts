import { createTasks, type TaskContext, type Tasks } from '../../src/engine/index.ts';
import { type ClaimedTask, type Lease, type StoreBackend, sqliteStore, type TaskStore } from '../../src/store/index.ts';
import type { Chance } from './chance.ts';
import type { ConnectionOwner, Connections, Disk } from './connections.ts';
import type { EventLoop } from './event-loop.ts';
import type { Fact, HandlerRun, StoreMethod } from './facts.ts';
import type { BellFaults, FileOwner, Files } from './files.ts';
import { play } from './handler.ts';
import { type Program, TOOL_NAMES, TTL_MS, toolOf } from './programs.ts';

/** What a process finds around it. */
export interface Surroundings {
  loop: EventLoop;
  connections: Connections;
  files: Files;
  chance: Chance;
  /** How often a store call waits before it begins, and before its answer is heard. */
  holdOdds: () => number;
  bells: () => BellFaults;
  /** Wraps the store of every process, to plant a bug in it. */
  plantedStore: ((store: TaskStore, path: string) => TaskStore) | undefined;
  observe(fact: Fact): void;
  /** A line for the trace. */
  say(text: string): void;
  nextRunId(): number;
}

export interface ProcessSettings {
  slots: number;
  leaseMs: number;
  holdInputMs: number;
  sweepMs: number;
  drainMs: number;
}

/** A death that strikes at a store call to come. */
export interface Mine {
  calls: number;
  when: 'before the call' | 'after the call';
}

/** A process of its own, as far as engine and store can tell: another connection, another worker, its own death. */
export class SimProcess implements ConnectionOwner, FileOwner {
  readonly name: string;
  readonly connections: Connections;
  readonly files: Files;
  fate: 'alive' | 'frozen' | 'dead' = 'alive';
  disk: Disk = 'fine';
  /** It was told to shut down in order. */
  closing = false;
  mine: Mine | undefined;
  readonly settings: ProcessSettings;
  readonly tasks: Tasks;
  readonly #around: Surroundings;
  /** By the arguments that come with them: the very object a handler is given, which tells under which fence it runs. */
  readonly #leases = new WeakMap<object, Lease>();

  constructor(name: string, settings: ProcessSettings, around: Surroundings) {
    this.name = name;
    this.settings = settings;
    this.connections = around.connections;
    this.files = around.files;
    this.#around = around;
    this.tasks = createTasks({
      ...settings,
      store: this.#backend(),
      ttlMs: TTL_MS,
      heartbeatMs: Math.floor(settings.leaseMs / 3),
      stopGraceMs: 500,
      orphanGraceMs: 2_000,
      clock: around.loop.clockOf(this),
      random: around.chance.fork(),
      logger: { debug() {}, info() {}, warn() {}, error: (fields, message) => this.#log(fields, message) },
    });
    for (const tool of TOOL_NAMES) {
      this.tasks.registerTool(tool, { task: toolOf(tool) }, (args, task) => this.#handle(args as never, task));
    }
  }

  get isWorker(): boolean {
    return this.settings.slots > 0;
  }

  /** As SIGKILL. What was queued for this turn of its event loop may still have reached the disk. */
  async kill(how: 'commits get through' | 'nothing gets through'): Promise<void> {
    if (this.fate === 'dead') return;
    this.fate = 'dead';
    if (how === 'commits get through') await this.#around.loop.runImmediates(this);
    this.#buried();
  }

  /** As SIGKILL from within, at this very moment. */
  die(): void {
    if (this.fate === 'dead') return;
    this.fate = 'dead';
    this.#buried();
  }

  /** Shuts down in order, then exits. */
  close(): void {
    this.closing = true;
    const exited = (): void => {
      this.#around.observe({ kind: 'exited', process: this.name });
      this.die();
    };
    this.tasks.close().then(exited, (error: unknown) => {
      this.#around.say(`${this.name} could not close: ${String(error)}`);
      exited();
    });
  }

  #isDead(): boolean {
    return this.fate === 'dead';
  }

  #buried(): void {
    this.#around.loop.forget(this);
    this.connections.closeAll(this);
    this.files.closeAll(this);
    this.#around.observe({ kind: 'died', process: this.name });
  }

  #log(fields: object, message: string): void {
    const { error } = fields as { error?: Error };
    this.#around.say(`${this.name} logs: ${message}${error === undefined ? '' : ` (${error.message})`}`);
  }

  #handle(program: Program, task: TaskContext) {
    const { loop, observe, nextRunId } = this.#around;
    const lease = this.#leases.get(program);
    if (lease === undefined) throw new Error('the simulation does not know under which lease a handler runs');
    const { fence } = lease;
    const run: HandlerRun = { id: nextRunId(), process: this.name, taskId: task.id, fence, attempt: task.attempt };
    observe({ kind: 'handler', run, what: 'started' });
    const pause = (label: string) => loop.hold(this, 'handler', `r${run.id} ${label}`);
    const played = play(program, task, {
      run,
      pause,
      hang: () => loop.hold(this, 'hang', `r${run.id} hangs`),
      crash: async () => {
        await pause('crash');
        this.die();
        return new Promise<never>(() => {});
      },
      note: (what, key, value) => observe({ kind: 'handler', run, what, key, ...(value !== undefined && { value }) }),
    });
    return played.finally(() => observe({ kind: 'handler', run, what: 'ended' }));
  }

  #backend(): StoreBackend {
    return {
      open: async (environment) => {
        const { connections, plantedStore } = this.#around;
        const { store, dispatcher } = await sqliteStore(connections.path).open(environment);
        const planted = plantedStore?.(store, connections.path) ?? store;
        return {
          store: this.#wrap(planted),
          dispatcher: {
            take: (limit) => this.#call('take', () => dispatcher.take(limit)),
            onBell: (listener) => dispatcher.onBell((changed) => this.#ring(() => listener(changed))),
          },
        };
      },
    };
  }

  /** Hints may come late and more than once; whoever is told must bear it. */
  #ring(hear: () => void): void {
    const { loop, chance, bells } = this.#around;
    const { late, twice } = bells();
    if (chance.odds(late)) void loop.hold(this, 'bell', 'is told of changes').then(hear);
    else hear();
    if (chance.odds(twice)) hear();
  }

  #wrap(store: TaskStore): TaskStore {
    return new Proxy(store, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== 'function') return value;
        const real = (...args: unknown[]) => Reflect.apply(value, target, args) as Promise<unknown>;
        if (name === 'close' || typeof name === 'symbol') return real;
        return (...args: unknown[]) => this.#call(name, () => this.#observed(name as StoreMethod, args, real));
      },
    });
  }

  /** Writes down what the store answers, also when nobody is left to hear it. */
  async #observed(method: StoreMethod, args: unknown[], real: (...args: unknown[]) => Promise<unknown>) {
    try {
      const result = await real(...args);
      this.#learn(method, result);
      this.#around.observe({ kind: 'store', process: this.name, method, args, result } as Fact);
      return result;
    } catch (error) {
      if (this.#isDead()) return new Promise<never>(() => {}); // Nothing was open any more.
      const failure = error as Error;
      this.#around.observe({ kind: 'store_failed', process: this.name, method, args, error: failure });
      throw error;
    }
  }

  #learn(method: StoreMethod, result: unknown): void {
    const claims = method === 'claim' ? result : method === 'create' ? [(result as { claimed?: unknown }).claimed] : [];
    for (const claimed of claims as (ClaimedTask | undefined)[]) {
      if (claimed !== undefined) this.#leases.set(claimed.input as object, claimed.lease);
    }
  }

  /** A call of this process to its store: it may take its time both ways, and the process may die on it. */
  async #call<Result>(name: string, real: () => Promise<Result>): Promise<Result> {
    const { loop, chance, holdOdds } = this.#around;
    const mined = this.mine !== undefined && --this.mine.calls <= 0 ? this.mine.when : undefined;
    if (mined === 'before the call') this.die();
    if (chance.odds(holdOdds())) await loop.hold(this, 'call', `calls ${name}`);
    if (this.#isDead()) return new Promise<never>(() => {});
    try {
      return await real();
    } finally {
      if (mined === 'after the call') this.die();
      if (chance.odds(holdOdds())) await loop.hold(this, 'call', `hears of ${name}`);
      if (this.#isDead()) await new Promise<never>(() => {});
    }
  }
}
