import { type Clock, type Logger, type RandomSource, shortId, type TaskId, type Timer } from '../core/index.ts';
import type { ClaimedTask, Dispatcher, TaskStore } from '../store/index.ts';
import type { Registry } from './definition.ts';
import { Run, type RunSettings } from './run.ts';

export interface WorkerSettings extends RunSettings {
  /** How many tasks run at once. 0: this process only answers. */
  slots: number;
  leaseMs: number;
  heartbeatMs: number;
}

/** Takes ready tasks, runs them within its slots, and keeps their leases alive. */
export class Worker {
  readonly id: string;
  readonly #store: TaskStore;
  readonly #dispatcher: Dispatcher;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #logger: Logger;
  readonly #settings: WorkerSettings;
  readonly #runs = new Map<TaskId, { run: Run; done: Promise<void> }>();
  #reserved = 0;
  #stopping = false;
  #taking = false;
  #again = false;
  #heartbeat: Timer | undefined;
  #guard: Timer | undefined;
  #alarm: Timer | undefined;

  constructor(
    id: string,
    parts: {
      store: TaskStore;
      dispatcher: Dispatcher;
      registry: Registry;
      clock: Clock;
      random: RandomSource;
      logger: Logger;
    },
    settings: WorkerSettings,
  ) {
    this.id = id;
    this.#store = parts.store;
    this.#dispatcher = parts.dispatcher;
    this.#registry = parts.registry;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#settings = settings;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** Holds a slot for a task that is about to be created; false when there is none. */
  reserve(): boolean {
    if (this.#free() <= 0) return false;
    this.#reserved += 1;
    return true;
  }

  /** Gives a reserved slot back, to the task that was created or to nobody. */
  redeem(claimed: ClaimedTask | undefined): void {
    this.#reserved -= 1;
    if (claimed !== undefined) this.#start(claimed);
    else this.wake();
  }

  /** There may be something to do. */
  wake(): void {
    this.#again = true;
    if (!this.#taking) void this.#take();
  }

  /** Tasks changed; without `changed`, any may have. */
  async notice(changed: ReadonlySet<TaskId> | undefined): Promise<void> {
    const mine = [...this.#runs.keys()].filter((taskId) => changed === undefined || changed.has(taskId));
    if (mine.length === 0) return;
    const pulses = new Map((await this.#store.pulses(mine)).map((pulse) => [pulse.taskId, pulse]));
    for (const taskId of mine) await this.#runs.get(taskId)?.run.notice(pulses.get(taskId));
  }

  /** Takes nothing more; gives running tasks `drainMs` to finish and hands the rest back. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    if (drainMs > 0) await Promise.race([this.#allDone(), this.#after(drainMs)]);
    for (const { run } of this.#runs.values()) run.release();
    await this.#allDone();
    for (const timer of [this.#heartbeat, this.#guard, this.#alarm]) timer?.cancel();
  }

  async #allDone(): Promise<void> {
    await Promise.all([...this.#runs.values()].map(({ done }) => done));
  }

  #after(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(delayMs, resolve));
  }

  #free(): number {
    return this.#stopping ? 0 : this.#settings.slots - this.#runs.size - this.#reserved;
  }

  async #take(): Promise<void> {
    this.#taking = true;
    try {
      while (this.#again && this.#free() > 0) {
        this.#again = false;
        const { taskIds, nextAt } = await this.#dispatcher.take(this.#free());
        this.#wakeAt(nextAt);
        const room = this.#free(); // Slots may have gone while the question was answered.
        if (taskIds.length === 0 || room <= 0) continue;
        this.#reserved += room;
        try {
          const { leaseMs } = this.#settings;
          const claimed = await this.#store.claim(taskIds.slice(0, room), { workerId: this.id, leaseMs });
          for (const task of claimed) this.#start(task);
        } finally {
          this.#reserved -= room;
        }
        this.#again = true; // Until there is nothing left.
      }
    } catch (error) {
      this.#logger.error({ error }, 'no work could be taken from the store; trying again at the next sweep');
    } finally {
      this.#taking = false;
    }
  }

  /** Sleeping tasks and delayed retries are taken at their time, not at the next sweep. */
  #wakeAt(nextAt: number | undefined): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (nextAt === undefined) return;
    this.#alarm = this.#clock.setTimer(Math.max(0, nextAt - this.#clock.now()), () => this.wake());
  }

  #start(claimed: ClaimedTask): void {
    const { taskId } = claimed.lease;
    const definition = this.#registry.find(claimed.task.method, claimed.task.name);
    if (definition === undefined) {
      void this.#handBack(claimed);
      return;
    }
    const run = new Run(claimed, definition, {
      store: this.#store,
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      settings: this.#settings,
    });
    const done = run.execute().finally(() => {
      this.#runs.delete(taskId);
      this.wake();
    });
    this.#runs.set(taskId, { run, done });
    this.#beat();
    this.#guardLeases();
  }

  /** A task of a tool this process does not have: another process may, and no attempt is spent. */
  async #handBack(claimed: ClaimedTask): Promise<void> {
    const { lease, task } = claimed;
    this.#logger.warn(
      { task: shortId(lease.taskId), tool: task.name },
      'no such tool here; another worker may have it',
    );
    try {
      const availableAt = this.#clock.now() + this.#settings.leaseMs;
      await this.#store.release(lease, { to: 'ready', availableAt }, 0);
    } catch (error) {
      this.#logger.error({ task: shortId(lease.taskId), error }, 'a task could not be handed back; its lease runs out');
    }
  }

  #beat(): void {
    this.#heartbeat ??= this.#clock.setTimer(this.#settings.heartbeatMs, () => {
      this.#heartbeat = undefined;
      if (this.#runs.size === 0) return;
      void this.#renew();
      this.#beat();
    });
  }

  async #renew(): Promise<void> {
    const runs = [...this.#runs.values()].map(({ run }) => run);
    const startedAt = this.#clock.monotonic();
    try {
      const leases = runs.map(({ claimed }) => claimed.lease);
      const lost = new Set(await this.#store.renew(leases, this.#settings.leaseMs));
      for (const run of runs) if (!lost.has(run.claimed.lease.taskId)) run.renewedAt = startedAt;
      if (lost.size > 0) await this.notice(lost);
    } catch (error) {
      this.#logger.error({ error }, 'leases could not be renewed');
    }
  }

  /**
   * A handler whose lease cannot be renewed stops before anybody else may begin. Measured on the monotonic clock: wall
   * time that jumps says nothing about how long ago the last renewal was.
   */
  #guardLeases(): void {
    const atWork = [...this.#runs.values()].flatMap(({ run }) => (run.ended ? [] : [run]));
    if (this.#guard !== undefined || atWork.length === 0) return;
    const { leaseMs } = this.#settings;
    const safeMs = leaseMs - leaseMs / 10;
    const oldest = Math.min(...atWork.map(({ renewedAt }) => renewedAt));
    this.#guard = this.#clock.setTimer(Math.max(0, oldest + safeMs - this.#clock.monotonic()), () => {
      this.#guard = undefined;
      for (const run of atWork) {
        if (this.#clock.monotonic() - run.renewedAt >= safeMs) run.leaseRanOut();
      }
      this.#guardLeases();
    });
  }
}
