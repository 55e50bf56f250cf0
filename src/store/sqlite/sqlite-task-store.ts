import { resolve } from 'node:path';
import type Database from 'better-sqlite3';
import {
  type Answer,
  type Clock,
  DEFAULTS,
  type JsonValue,
  type Logger,
  type NewTask,
  type Principal,
  type Question,
  type RandomSource,
  type StoreFailedError,
  StoreSealedError,
  shortId,
  type TaskId,
  type TerminalState,
} from '../../core/index.ts';
import type { RekeyOptions } from '../operator-store.ts';
import * as commands from '../sql/commands/index.ts';
import { SqlOperations } from '../sql/operations.ts';
import { type Statements, statementsWith } from '../sql/statements.ts';
import { sweep } from '../sql/sweep.ts';
import { Vault } from '../sql/vault.ts';
import type {
  Applied,
  ClaimOptions,
  CreateOptions,
  Dispatcher,
  Lease,
  LogEntry,
  LostLease,
  NewStep,
  Release,
  StoreEnvironment,
  TaskReport,
  TaskStore,
} from '../store.ts';
import { ScanDispatcher } from './dispatcher.ts';
import { GroupCommit } from './group-commit.ts';
import { Upkeep } from './upkeep.ts';
import { WorkerLocks } from './worker-lock.ts';
import { MAX_WAL_BYTES, WriteAheadLog } from './write-ahead-log.ts';

/** How long the store's secret is. */
const SECRET_BYTES = 32;

/** A store on a database that is open and up to date. */
export function openOn(
  db: Database.Database,
  path: string,
  { clock, random, logger }: StoreEnvironment,
  { vault = Vault.plain, maxWalBytes = MAX_WAL_BYTES }: { vault?: Vault; maxWalBytes?: number } = {},
): { store: TaskStore; dispatcher: Dispatcher } {
  const file = path === ':memory:' ? undefined : resolve(path);
  let dispatcher: ScanDispatcher | undefined;
  const log = file === undefined ? undefined : new WriteAheadLog({ db, file, maxBytes: maxWalBytes, clock, logger });
  const upkeep = new Upkeep(db, log, logger);
  const commits = new GroupCommit(db, {
    clock,
    random,
    ring: (changed) => dispatcher?.ring(changed),
    committed: () => upkeep.committed(),
  });
  const statements = statementsWith(vault);
  const bellPath = file && `${file}.bell`;
  dispatcher = new ScanDispatcher({ db, commits, statements, clock, logger, bellPath });
  const locks = file === undefined ? undefined : new WorkerLocks(`${file}.workers`);
  const store = new SqliteTaskStore({ db, commits, statements, dispatcher, locks, upkeep, clock, random, logger });
  return { store, dispatcher };
}

interface SqliteTaskStoreParts {
  db: Database.Database;
  commits: GroupCommit;
  statements: Statements;
  dispatcher: ScanDispatcher;
  locks: WorkerLocks | undefined;
  upkeep: Upkeep;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

class SqliteTaskStore extends SqlOperations implements TaskStore {
  readonly #db: Database.Database;
  readonly #commits: GroupCommit;
  readonly #q: Statements;
  readonly #dispatcher: ScanDispatcher;
  readonly #locks: WorkerLocks | undefined;
  readonly #upkeep: Upkeep;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #logger: Logger;
  /** Keys whose absence the operator was told of. */
  readonly #missed = new Set<string>();

  constructor({ db, commits, statements, dispatcher, locks, upkeep, clock, random, logger }: SqliteTaskStoreParts) {
    super(commits, statements, clock);
    this.#db = db;
    this.#commits = commits;
    this.#q = statements;
    this.#dispatcher = dispatcher;
    this.#locks = locks;
    this.#upkeep = upkeep;
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
  }

  create(task: NewTask, options: CreateOptions = {}) {
    return this.#commits.write(() => commands.create(this.#q, task, options, this.#clock.now()), {
      flush: true,
      changed: ({ outcome }) => (outcome === 'created' ? [task.taskId] : []),
    });
  }

  findByRequestorId(requestorTaskId: string, principal: Principal) {
    return this.#commits.read(() => commands.findByRequestorId(this.#q, requestorTaskId, principal));
  }

  get(taskId: TaskId, principal: Principal) {
    return this.#commits.read(() => commands.readRecord(this.#q, taskId, principal, this.#clock.now()));
  }

  claim(taskIds: readonly TaskId[], options: ClaimOptions) {
    const unclaimed: commands.Unclaimed = { ended: [], shut: [] };
    const command = () => {
      Object.assign(unclaimed, { ended: [], shut: [] }); // A group that fails starts over.
      return commands.claim(this.#q, taskIds, options, this.#clock.now(), unclaimed);
    };
    // Flushed, as a handler that may not run twice must not start a second time after a power cut.
    const claimed = this.#commits.write(command, { flush: true, changed: () => unclaimed.ended });
    // Beside the answer, not before it: what shares a commit is heard of in the order in which it was done.
    void claimed.then(
      () => unclaimed.shut.forEach(({ taskId, error }) => void this.#tellOf(taskId, error)),
      () => {}, // Told to whoever claims.
    );
    return claimed;
  }

  renew(leases: readonly Lease[], leaseMs: number) {
    return this.#commits.write(() => commands.renew(this.#q, leases, leaseMs, this.#clock.now()), { flush: false });
  }

  history(taskId: TaskId) {
    return this.#commits.read(() => commands.history(this.#q, taskId));
  }

  pulses(taskIds: readonly TaskId[]) {
    return this.#commits.read(() => commands.pulses(this.#q, taskIds));
  }

  finish(lease: Lease, outcome: TerminalState) {
    return this.#apply(lease, () => commands.finish(this.#q, lease, outcome, this.#clock.now()), { flush: true });
  }

  release(lease: Lease, how: Release, activeMs: number) {
    const command = () => commands.release(this.#q, lease, how, activeMs, this.#clock.now());
    return this.#apply(lease, command, { flush: true });
  }

  note(lease: Lease, type: string, body: JsonValue) {
    const command = () => commands.note(this.#q, lease, type, body, this.#clock.now());
    return this.#commits.write(command, { flush: false });
  }

  wake(taskId: TaskId) {
    return this.#commits.write(() => commands.wake(this.#q, taskId, this.#clock.now()), {
      flush: false, // Lost, it is woken at its time.
      changed: (woken) => (woken ? [taskId] : []),
    });
  }

  recordStep(lease: Lease, step: NewStep) {
    const command = () => commands.recordStep(this.#q, lease, step, this.#clock.now());
    return this.#commits.write(command, { flush: step.replaces !== true || step.durable === true });
  }

  ask(lease: Lease, key: string, question: Question, deadline?: number) {
    const command = () => commands.ask(this.#q, lease, key, question, deadline, this.#clock.now());
    return this.#apply(lease, command, { flush: true });
  }

  expireQuestion(lease: Lease, key: string) {
    return this.#apply(lease, () => commands.expireQuestion(this.#q, lease, key, this.#clock.now()), { flush: true });
  }

  withdrawQuestion(lease: Lease, key: string) {
    const command = () => commands.withdrawQuestion(this.#q, lease, key, this.#clock.now());
    return this.#apply(lease, command, { flush: true });
  }

  pastAttempts(taskId: TaskId) {
    return this.#commits.read(() => commands.pastAttempts(this.#q, taskId));
  }

  report(lease: Lease, news: TaskReport) {
    return this.#apply(lease, () => commands.report(this.#q, lease, news, this.#clock.now()), { flush: false });
  }

  appendLog(lease: Lease, entries: readonly LogEntry[], maxBytes: number = DEFAULTS.maxLogBytesPerTask) {
    return this.#commits.write(() => commands.appendLog(this.#q, lease, entries, maxBytes), { flush: false });
  }

  readLog(taskId: TaskId, cursor: number, limitBytes: number) {
    return this.#commits.read(() => commands.readLog(this.#q, taskId, cursor, limitBytes));
  }

  openQuestions(taskId: TaskId, principal: Principal) {
    return this.#commits.read(() => commands.openQuestions(this.#q, taskId, principal, this.#clock.now()));
  }

  answer(taskId: TaskId, principal: Principal, answers: ReadonlyMap<string, Answer>) {
    return this.#commits.write(() => commands.answer(this.#q, taskId, principal, answers, this.#clock.now()), {
      flush: true,
      changed: (accepted) => (accepted !== undefined && accepted.length > 0 ? [taskId] : []),
    });
  }

  cancel(taskId: TaskId, principal: Principal, reason?: string) {
    return this.#commits.write(() => commands.cancel(this.#q, taskId, principal, reason, this.#clock.now()), {
      flush: true,
      changed: (outcome) => (outcome === 'cancelled' ? [taskId] : []),
    });
  }

  cancelOrphan(taskId: TaskId, principal: Principal, reason: string) {
    const command = () => commands.cancelOrphan(this.#q, taskId, principal, reason, this.#clock.now());
    return this.#commits.write(command, {
      flush: true,
      changed: (outcome) => (outcome === 'cancelled' ? [taskId] : []),
    });
  }

  async enlist(workerId: string) {
    const id = this.#locks?.hold(workerId) ?? workerId;
    return { workerId: id, resign: () => this.#locks?.release(id) };
  }

  async lostLeases(limit: number) {
    if (this.#q.vault.isLocked) return []; // Nothing could be decided about them here.
    const now = this.#clock.now();
    const owners = await this.#commits.read(() => commands.leaseOwners(this.#q));
    const workers = new Map(owners.map((owner) => [owner, this.#locks?.probe(owner) ?? 'unknown']));
    return this.#commits.read(() => commands.lostLeases(this.#q, workers, limit, now));
  }

  recover(lost: LostLease, decision: { action: 'run_again' } | { action: 'fail'; outcome: TerminalState }) {
    return this.#apply(lost, () => commands.recover(this.#q, lost, decision, this.#clock.now()), { flush: true });
  }

  async sweep(limit: number, expired: TerminalState, graceMs: number) {
    const swept = await sweep(this.#commits, this.#q, this.#clock, { limit, expired, graceMs });
    await this.#upkeep.round();
    return swept;
  }

  /** One word for each missing key: there may be thousands of tasks. */
  #tellOf(taskId: TaskId, error: StoreSealedError | StoreFailedError): void {
    const fields = { task: shortId(taskId), error };
    if (!(error instanceof StoreSealedError)) {
      this.#logger.error(fields, 'what was kept of a task cannot be decrypted, and the task has failed');
      return;
    }
    if (this.#missed.has(error.keyId ?? '')) return;
    this.#missed.add(error.keyId ?? '');
    this.#logger.error(fields, 'a task cannot be decrypted here and is left to other processes');
  }

  override async rekey(options: RekeyOptions = {}) {
    const rekeyed = await super.rekey(options);
    if (options.vacuum === true) await this.#upkeep.vacuum();
    return rekeyed;
  }

  async storage() {
    return this.#upkeep.size();
  }

  async secret(): Promise<Uint8Array> {
    const fresh = Buffer.from(this.#random.bytes(SECRET_BYTES)).toString('base64url');
    const secret = await this.#commits.write(() => commands.secret(this.#q, fresh), { flush: true });
    return Buffer.from(secret, 'base64url');
  }

  async close(): Promise<void> {
    this.#dispatcher.stop();
    await this.#commits.close();
    this.#locks?.releaseAll();
    if (this.#db.open) this.#db.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #apply(on: { taskId: TaskId }, command: () => ReturnType<typeof commands.finish>, how: { flush: boolean }) {
    return this.#commits.write<Applied>(command, {
      ...how,
      changed: (applied) => (applied === 'applied' ? [on.taskId] : []),
    });
  }
}
