import {
  type Clock,
  LOCAL_PRINCIPAL,
  type Logger,
  type Principal,
  principalKey,
  type RandomSource,
  shortId,
  type TaskId,
  type Timer,
  workName,
} from '../core/index.ts';
import type { ClaimedTask, Dispatcher, Taken, TaskStore } from '../store/index.ts';
import type { Definition, Registry } from './definition.ts';
import type { JobKeeper } from './jobs/keeper.ts';
import { Pending } from './pending.ts';
import { persistently } from './persistently.ts';
import { Run, type RunSettings } from './run.ts';
import { type Slot, type SlotSettings, Slots } from './slots.ts';

export interface WorkerSettings extends RunSettings, SlotSettings {
  leaseMs: number;
  heartbeatMs: number;
}

/** A slot that waits for the task it was taken for. */
interface ReservedSlot extends Slot {
  definition: Definition;
  redeemed(): void;
}

/** What work that is held has: it runs already, whether there are slots or not. */
const NO_SLOT: Slot = { free() {} };

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
  readonly #jobs: JobKeeper;
  readonly #logged: (taskId: TaskId) => void;
  readonly #slots: Slots;
  readonly #runs = new Map<TaskId, Run>();
  readonly #promised = new Pending();
  #started = 0;
  #stopping = false;
  #taking = false;
  #takingDone: Promise<void> = Promise.resolve();
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
      jobs: JobKeeper;
      /** A task has logged something. */
      logged: (taskId: TaskId) => void;
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
    this.#jobs = parts.jobs;
    this.#logged = parts.logged;
    this.#slots = new Slots(settings);
  }

  /** How many runs of handlers this worker has started. */
  get started(): number {
    return this.#started;
  }

  /** Holds a slot for a task that is about to be created; undefined when it has to wait for one. */
  reserve(definition: Definition, principal: Principal, attended: boolean): ReservedSlot | undefined {
    if (this.#stopping) return undefined;
    const slot = isHeld(definition) ? NO_SLOT : this.#slots.take(slotUser(definition, principal), attended);
    if (slot === undefined) return undefined;
    const redeemed = this.#promised.begin();
    return {
      definition,
      free: () => {
        redeemed();
        slot.free();
      },
      redeemed,
    };
  }

  /** Runs the task that was created with a reserved slot, or gives the slot back where none was. */
  redeem(slot: ReservedSlot, claimed: ClaimedTask | undefined): void {
    if (claimed !== undefined) {
      this.#start(claimed, slot, slot.definition);
      slot.redeemed();
      return;
    }
    slot.free();
    this.wake();
  }

  /** There may be something to do. */
  wake(): void {
    this.#again = true;
    if (this.#taking) return;
    this.#taking = true;
    // Whoever waits for the commit that rang goes on first.
    this.#takingDone = new Promise(setImmediate).then(() => this.#take());
  }

  /** Tasks changed; without `changed`, any may have. */
  async notice(changed: ReadonlySet<TaskId> | undefined): Promise<void> {
    const mine = [...this.#runs.keys()].filter((taskId) => changed === undefined || changed.has(taskId));
    if (mine.length === 0) return;
    const pulses = new Map((await this.#store.pulses(mine)).map((pulse) => [pulse.taskId, pulse]));
    for (const taskId of mine) await this.#runs.get(taskId)?.notice(pulses.get(taskId));
  }

  /** Takes nothing more; gives running tasks `drainMs` to finish and hands the rest back. */
  async stop(drainMs: number): Promise<void> {
    this.#stopping = true;
    await this.#takingDone;
    await this.#promised.none(); // Tasks that are being created for a slot of ours.
    for (const run of this.#runs.values()) if (run.handsOver) run.release();
    if (drainMs > 0) await Promise.race([this.#allConcluded(), this.#after(drainMs)]);
    for (const run of this.#runs.values()) run.release();
    await this.#allConcluded();
    await this.#promised.none(); // And those among them that were handed back.
    for (const timer of [this.#heartbeat, this.#guard, this.#alarm]) timer?.cancel();
  }

  async #allConcluded(): Promise<void> {
    await Promise.all([...this.#runs.values()].map(({ concluded }) => concluded));
  }

  #after(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(delayMs, resolve));
  }

  async #take(): Promise<void> {
    try {
      while (this.#again && !this.#stopping && this.#slots.left > 0) {
        this.#again = false;
        const open = this.#registry.all.filter((one) => !this.#slots.full(workNameOf(one), one.concurrency));
        const { tasks, nextAt } = await this.#dispatcher.take({
          limit: this.#slots.left,
          names: open.map(workNameOf),
        });
        this.#wakeAt(nextAt);
        if (await this.#claim(tasks)) this.#again = true; // Until there is nothing left.
      }
    } catch (error) {
      this.#logger.error({ error }, 'no work could be taken from the store; trying again at the next sweep');
    } finally {
      this.#taking = false;
    }
  }

  /** Claims those that may run now; true if any did. */
  async #claim(tasks: Taken['tasks']): Promise<boolean> {
    const slots = new Map<TaskId, Slot>();
    for (const { taskId, name, principal } of tasks) {
      const definition = this.#registry.byWorkName(name);
      const slot = definition && this.#slots.take(slotUser(definition, principal), false);
      if (slot !== undefined) slots.set(taskId, slot);
    }
    if (slots.size === 0) return false;
    try {
      const { leaseMs } = this.#settings;
      const claimed = await this.#store.claim([...slots.keys()], { workerId: this.id, leaseMs });
      for (const task of claimed) {
        const { taskId } = task.lease;
        const definition = this.#registry.find(task.task.method, task.task.name);
        this.#start(task, slots.get(taskId) as Slot, definition);
        slots.delete(taskId);
      }
      return claimed.length > 0;
    } finally {
      for (const slot of slots.values()) slot.free();
    }
  }

  /** Sleeping tasks and delayed retries are taken at their time, not at the next sweep. */
  #wakeAt(nextAt: number | undefined): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (nextAt === undefined) return;
    this.#alarm = this.#clock.setTimer(Math.max(0, nextAt - this.#clock.now()), () => this.wake());
  }

  #start(claimed: ClaimedTask, slot: Slot, definition: Definition | undefined): void {
    const { taskId } = claimed.lease;
    // Held work cannot be handed back: it runs already, and ends with those that are stopped.
    if (definition === undefined || (this.#stopping && !isHeld(definition))) {
      slot.free();
      void this.#handBack(claimed);
      return;
    }
    const run = new Run(claimed, definition, {
      store: this.#store,
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      settings: this.#settings,
      jobs: this.#jobs,
      logged: this.#logged,
    });
    void run.execute().finally(() => {
      if (this.#runs.get(taskId) === run) this.#runs.delete(taskId); // A later run of the task may have begun here.
      slot.free();
      this.wake();
    });
    this.#started += 1;
    this.#runs.set(taskId, run);
    this.#beat();
    this.#guardLeases();
  }

  /** A task that came when this worker was about to stop, and no attempt is spent. */
  async #handBack({ lease }: ClaimedTask): Promise<void> {
    const done = this.#promised.begin();
    try {
      const fields = { task: shortId(lease.taskId) };
      const release = () => this.#store.release(lease, { to: 'ready' }, 0);
      await persistently(release, { clock: this.#clock, logger: this.#logger, fields });
    } catch (error) {
      this.#logger.error({ task: shortId(lease.taskId), error }, 'a task could not be handed back; its lease runs out');
    } finally {
      done();
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
    const runs = [...this.#runs.values()].filter(({ holdsLease }) => holdsLease);
    if (runs.length === 0) return;
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
    const atWork = [...this.#runs.values()].filter(({ ended }) => !ended);
    if (this.#guard !== undefined || atWork.length === 0) return;
    const { leaseMs } = this.#settings;
    const safeMs = leaseMs - leaseMs / 10;
    const oldest = Math.min(...atWork.map(({ renewedAt }) => renewedAt));
    this.#guard = this.#clock.setTimer(Math.max(0, oldest + safeMs - this.#clock.monotonic()), () => {
      void this.#stopOverdue(safeMs).finally(() => {
        this.#guard = undefined;
        this.#guardLeases();
      });
    });
  }

  /**
   * One last try to renew: a process that stood still finds both its heartbeat and this overdue, and may well have its
   * leases yet. What is not renewed by then stops.
   */
  async #stopOverdue(safeMs: number): Promise<void> {
    const overdue = (run: Run): boolean => this.#clock.monotonic() - run.renewedAt >= safeMs;
    if (![...this.#runs.values()].some((run) => !run.ended && overdue(run))) return;
    await Promise.race([this.#renew(), this.#after(this.#settings.leaseMs / 20)]);
    for (const run of this.#runs.values()) if (!run.ended && overdue(run)) run.leaseRanOut();
  }
}

function workNameOf({ method, name }: Definition): string {
  return workName(method, name);
}

function isHeld({ onWorkerLost }: Definition): boolean {
  return onWorkerLost === 'held';
}

/** One local user need not share with anybody; everybody else is told apart. */
function slotUser(definition: Definition, principal: Principal) {
  const local = principal.subject === LOCAL_PRINCIPAL.subject && principal.tenant === undefined;
  const { concurrency } = definition;
  return { name: workNameOf(definition), concurrency, principal: local ? undefined : principalKey(principal) };
}
