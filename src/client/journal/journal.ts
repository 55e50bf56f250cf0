import { resolve } from 'node:path';
import type Database from 'better-sqlite3';
import {
  type Answer,
  type Clock,
  encodeJson,
  type JsonObject,
  type Logger,
  type RandomSource,
  systemRandom,
  type TaskId,
} from '../../core/index.ts';
import { all, type Command, one, run } from '../../store/sql/statement.ts';
import { GroupCommit } from '../../store/sqlite/group-commit.ts';
import { openFile } from '../../store/sqlite/open.ts';
import { othersCommits } from '../../store/sqlite/others-commits.ts';
import { WorkerLocks } from '../../store/sqlite/worker-lock.ts';
import type { CallEnd, OpenCall } from '../call-state.ts';
import { JOURNAL_APPLICATION_ID, migrateJournal } from './schema.ts';
import { type CallRow, type EndingRow, journalStatements } from './statements.ts';

/** Everything a call is made of at its birth. */
export interface NewCall {
  callId: string;
  server: string;
  tool: string;
  arguments: JsonObject;
  idempotencyKey: string;
  ttlMs?: number;
  /** The calls it was made with. `limit`: so many of them may be under way at once. */
  group?: { id: string; limit?: number };
  /** The task whose handler made the call. */
  parent?: string;
  /** Passed on to the server. @see W3C Trace Context */
  traceparent?: string;
  /** What the server calls tasks that this call has to do with. */
  related?: string[];
  /** What the host keeps with the call. */
  note?: JsonObject;
  /** Sent with the call in `_meta`, beside what the revision puts there. */
  meta?: JsonObject;
}

/** An open call, or one that ended; how it ended is read apart. */
export interface CallRecord extends NewCall {
  createdAt: number;
  state: OpenCall | EndedCall;
  cancelRequested: boolean;
  /** Whether a process follows it. */
  followed: boolean;
}

/** How it ended is read apart. */
export interface EndedCall {
  phase: 'ended';
  /** What the server called the task that the call had become. */
  taskId?: string;
}

/** The right to follow a call. Writes of a holder whose right has passed to another change nothing. */
export interface Hold {
  callId: string;
  fence: number;
}

export interface HeldCall {
  record: CallRecord & { state: OpenCall };
  hold: Hold;
}

/** The end of a call, as it waits to be acknowledged. */
export interface Ending {
  /** Rises from end to end. */
  seq: number;
  callId: string;
  end: CallEnd;
  endedAt: number;
  acknowledged: boolean;
}

export interface JournalEnvironment {
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

const TAKE_AT_A_TIME = 100;
const FORGET_AT_A_TIME = 100;

/** What a client remembers: its calls, how they ended, and who follows them. Several processes may share the file. */
export class Journal {
  /** This process, as the journal knows it: a name of its own for each opening. */
  readonly owner: string;
  /** Whether another process has written since this was asked the last time. */
  readonly changedByOthers: () => boolean;
  readonly #db: Database.Database;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #locks: WorkerLocks | undefined;
  readonly #q = journalStatements();

  private constructor(db: Database.Database, path: string, { clock, random }: JournalEnvironment) {
    this.#db = db;
    this.#clock = clock;
    this.#commits = new GroupCommit(db, { clock, random, ring: () => {}, committed: () => {} });
    this.changedByOthers = othersCommits(db);
    // Real randomness, whatever the caller's is: two processes must never have one name.
    const name = Buffer.from(systemRandom.bytes(12)).toString('hex');
    this.#locks = path === ':memory:' ? undefined : new WorkerLocks(`${resolve(path)}.workers`);
    this.owner = this.#locks?.hold(name) ?? name;
  }

  /**
   * @param path a file (created with mode 0600 if there is none), or `':memory:'`
   * @throws {StoreRefusedError} when the file must not be touched, saying why and what to do.
   */
  static async open(path: string, environment: JournalEnvironment): Promise<Journal> {
    const db = await openFile(path, { applicationId: JOURNAL_APPLICATION_ID, migrate: migrateJournal });
    const journal = new Journal(db, path, environment);
    await journal.beat();
    return journal;
  }

  /** Resolves once the call is on disk, held by this process. */
  async intend(call: NewCall, state: OpenCall): Promise<HeldCall> {
    const [held] = await this.intendAll([{ call, state }]);
    return held as HeldCall;
  }

  /** As `intend`, unless there is a call of this id: `undefined` then. */
  async intendOnce(call: NewCall, state: OpenCall): Promise<HeldCall | undefined> {
    const row = this.#rowOf(call, state);
    return (await this.#write(() => run(this.#q.insertOnce, row), true)) > 0 ? heldCall(row) : undefined;
  }

  /** Resolves once all of them are on disk, held by this process; or none is. */
  async intendAll(calls: readonly { call: NewCall; state: OpenCall }[]): Promise<HeldCall[]> {
    const q = this.#q;
    const rows = calls.map(({ call, state }) => this.#rowOf(call, state));
    await this.#write(function* () {
      for (const row of rows) yield* run(q.insert, row);
    }, true);
    return rows.map(heldCall);
  }

  #rowOf(call: NewCall, state: OpenCall): CallRow {
    return {
      id: call.callId,
      server: call.server,
      tool: call.tool,
      arguments: encodeJson(call.arguments, 'arguments'),
      idempotency_key: call.idempotencyKey,
      ttl_ms: call.ttlMs ?? null,
      created_at: this.#clock.now(),
      phase: state.phase,
      state: JSON.stringify(state),
      cancel_requested: 0,
      owner: this.owner,
      fence: 1,
      group_id: call.group?.id ?? null,
      group_limit: call.group?.limit ?? null,
      parent: call.parent ?? null,
      traceparent: call.traceparent ?? null,
      related: call.related === undefined ? null : JSON.stringify(call.related),
      note: call.note === undefined ? null : encodeJson(call.note, 'note'),
      meta: call.meta === undefined ? null : encodeJson(call.meta, 'meta'),
    };
  }

  /** Writes where a held call stands. `lost`: another process holds it, or it has ended. */
  async record(hold: Hold, state: OpenCall, { flush }: { flush: boolean }): Promise<'recorded' | 'lost'> {
    const args = { id: hold.callId, fence: hold.fence, phase: state.phase, state: JSON.stringify(state) };
    return (await this.#write(() => run(this.#q.record, args), flush)) > 0 ? 'recorded' : 'lost';
  }

  /** Writes how a held call ended, once and for ever; resolves when it is on disk. */
  end(hold: Hold, end: CallEnd, taskId?: string): Promise<'recorded' | 'lost'> {
    const q = this.#q;
    const args = {
      id: hold.callId,
      fence: hold.fence,
      state: JSON.stringify({ phase: 'ended', ...(taskId !== undefined && { taskId }) } satisfies EndedCall),
    };
    const ending = { id: hold.callId, body: JSON.stringify(end), now: this.#clock.now() };
    return this.#write(function* () {
      if ((yield* run(q.end, args)) === 0) return 'lost';
      yield* run(q.insertEnding, ending);
      return 'recorded';
    }, true);
  }

  /** Notes that an open call is to be cancelled, whoever follows it. False: it has ended, or there is none. */
  async requestCancel(callId: string): Promise<boolean> {
    return (await this.#write(() => run(this.#q.cancel, { id: callId }), true)) > 0;
  }

  /** The server refused to cancel a held call: until somebody asks again, nothing is to be cancelled. */
  async retractCancel({ callId: id, fence }: Hold): Promise<void> {
    await this.#write(() => run(this.#q.retractCancel, { id, fence }), false);
  }

  /** Resolves once the answer is on disk. False: the question had one, or the call is over. */
  answer(callId: string, key: string, answer: Answer): Promise<boolean> {
    const q = this.#q;
    const row = { call_id: callId, question_key: key, answer: encodeJson(answer, 'answer') };
    return this.#write(function* () {
      const call = yield* one(q.call, { id: callId });
      if (call === undefined || call.phase === 'ended') return false;
      return (yield* run(q.insertAnswer, row)) > 0;
    }, true);
  }

  async retractAnswer(callId: string, key: string): Promise<void> {
    await this.#write(() => run(this.#q.deleteAnswer, { id: callId, key }), false);
  }

  /** The answer is about to be sent, and is one no more; that it was given is kept, under a key that asks nothing. */
  async spendAnswer(callId: string, key: string, spent: string): Promise<void> {
    const q = this.#q;
    const row = { call_id: callId, question_key: spent, answer: encodeJson({ action: 'cancel' }, 'answer') };
    const command = function* (): Command<void> {
      yield* run(q.deleteAnswer, { id: callId, key });
      yield* run(q.insertAnswer, row);
    };
    await this.#write(command, false);
  }

  async answers(callId: string): Promise<Map<string, Answer>> {
    const rows = await this.#commits.read(() => all(this.#q.answers, { id: callId }));
    return new Map(rows.map(({ question_key: key, answer }) => [key, JSON.parse(answer) as Answer]));
  }

  /** Of the calls held by this process, those that are to be cancelled. */
  async cancelRequests(): Promise<string[]> {
    const rows = await this.#commits.read(() => all(this.#q.cancelled, { owner: this.owner }));
    return rows.map(({ id }) => id);
  }

  /** Takes open calls of a server that nobody follows; each is given to one process only. */
  take(server: string): Promise<HeldCall[]> {
    const q = this.#q;
    const owner = this.owner;
    return this.#commits.write(
      function* () {
        const taken: HeldCall[] = [];
        for (const row of yield* all(q.unowned, { server, limit: TAKE_AT_A_TIME })) {
          if ((yield* run(q.take, { id: row.id, fence: row.fence, owner })) === 0) continue;
          taken.push(heldCall({ ...row, owner, fence: row.fence + 1 }));
        }
        return taken;
      },
      { flush: false },
    );
  }

  /** What this process held of a server's calls is anybody's from now on. */
  letGo(server: string): Promise<number> {
    const args = { owner: this.owner, server };
    return this.#write(() => run(this.#q.letGo, args), false);
  }

  /** Says that this process lives. `buried`: others took it for dead meanwhile, and what it held is theirs. */
  beat(): Promise<'known' | 'buried'> {
    const q = this.#q;
    const owner = this.owner;
    return this.#write(function* () {
      if ((yield* run(q.beat, { owner })) > 0) return 'known';
      yield* run(q.enlist, { owner });
      return 'buried';
    }, false);
  }

  /** The others that hold calls, or may: how often each has said that it lives, and whether its lock says so. */
  async others(): Promise<{ owner: string; beat: number; life: 'alive' | 'dead' | 'unknown' }[]> {
    const rows = await this.#commits.read(() => all(this.#q.owners, {}));
    return rows
      .filter(({ id }) => id !== this.owner)
      .map(({ id, beat }) => ({ owner: id, beat, life: this.#locks?.probe(id) ?? 'unknown' }));
  }

  /** What a dead owner held is nobody's from now on. */
  bury(owner: string): Promise<number> {
    const q = this.#q;
    return this.#write(function* () {
      const freed = yield* run(q.disown, { owner });
      yield* run(q.forgetOwner, { owner });
      return freed;
    }, false);
  }

  async call(callId: string): Promise<CallRecord | undefined> {
    const row = await this.#commits.read(() => one(this.#q.call, { id: callId }));
    return row && callRecord(row);
  }

  async openCalls(): Promise<CallRecord[]> {
    return (await this.#commits.read(() => all(this.#q.open, {}))).map(callRecord);
  }

  /** Newest first: `limit` of them, or of those that are older than a call. */
  async calls({ open, before, limit }: { open: boolean; before?: string; limit: number }): Promise<CallRecord[]> {
    const statement = open ? this.#q.recentOpen : this.#q.recent;
    return (await this.#commits.read(() => all(statement, { before: before ?? null, limit }))).map(callRecord);
  }

  /** The calls that were made together, in that order. */
  async group(groupId: string): Promise<CallRecord[]> {
    return (await this.#commits.read(() => all(this.#q.group, { group: groupId }))).map(callRecord);
  }

  /** The calls to a server that were made for the same task, in that order. */
  async siblings(parent: string, server: string): Promise<CallRecord[]> {
    return (await this.#commits.read(() => all(this.#q.siblings, { parent, server }))).map(callRecord);
  }

  /** What hosts keep with calls, of all that are in the journal. */
  async notes(): Promise<JsonObject[]> {
    const rows = await this.#commits.read(() => all(this.#q.notes, {}));
    return rows.map(({ note }) => JSON.parse(note) as JsonObject);
  }

  /** Ids that begin so; two at most. */
  async beginning(prefix: string): Promise<string[]> {
    const range = { from: prefix, to: `${prefix}\uffff` };
    return (await this.#commits.read(() => all(this.#q.beginning, range))).map(({ id }) => id);
  }

  async ending(callId: string): Promise<Ending | undefined> {
    const row = await this.#commits.read(() => one(this.#q.ending, { id: callId }));
    return row && endingOf(row);
  }

  /** Ends nobody has acknowledged, in the order in which they came, from one on. */
  async unread(after: number, limit: number): Promise<Ending[]> {
    return (await this.#commits.read(() => all(this.#q.unread, { after, limit }))).map(endingOf);
  }

  /** Ends nobody has acknowledged of calls that were made for a task, in the order in which they came, from one on. */
  async unreadOfTasks(after: number, limit: number): Promise<{ seq: number; callId: string; parent: TaskId }[]> {
    const rows = await this.#commits.read(() => all(this.#q.unreadOfTasks, { after, limit }));
    return rows.map(({ seq, call_id: callId, parent }) => ({ seq, callId, parent }));
  }

  /** Resolves once it is on disk. False: it was before, or there is no such end. */
  async acknowledge(callId: string): Promise<boolean> {
    return (await this.#write(() => run(this.#q.acknowledge, { id: callId, now: this.#clock.now() }), true)) > 0;
  }

  /** Deletes calls that were acknowledged at `before` or earlier, some at a time; how many it were. */
  forget(before: number): Promise<number> {
    const q = this.#q;
    return this.#write(function* () {
      const rows = yield* all(q.forgettable, { now: before, limit: FORGET_AT_A_TIME });
      for (const { call_id: id } of rows) yield* erase(q, id);
      return rows.length;
    }, false);
  }

  /** Deletes a call that has ended; resolves once that is on disk. */
  async delete(callId: string): Promise<void> {
    const q = this.#q;
    await this.#write(function* () {
      const call = yield* one(q.call, { id: callId });
      if (call?.phase === 'ended') yield* erase(q, callId);
    }, true);
  }

  /** Lets go of all that this process holds: others, or the next start, go on with it. */
  async close(): Promise<void> {
    try {
      await this.bury(this.owner);
    } finally {
      await this.#commits.close();
      this.#locks?.releaseAll();
      this.#db.close();
    }
  }

  #write<Result>(command: () => Command<Result>, flush: boolean): Promise<Result> {
    return this.#commits.write(command, { flush });
  }
}

function callRecord(row: CallRow): CallRecord {
  return {
    callId: row.id,
    server: row.server,
    tool: row.tool,
    arguments: JSON.parse(row.arguments) as JsonObject,
    idempotencyKey: row.idempotency_key,
    ...(row.ttl_ms !== null && { ttlMs: row.ttl_ms }),
    ...(row.group_id !== null && {
      group: { id: row.group_id, ...(row.group_limit !== null && { limit: row.group_limit }) },
    }),
    ...(row.parent !== null && { parent: row.parent }),
    ...(row.traceparent !== null && { traceparent: row.traceparent }),
    ...(row.related !== null && { related: JSON.parse(row.related) as string[] }),
    ...(row.note !== null && { note: JSON.parse(row.note) as JsonObject }),
    ...(row.meta !== null && { meta: JSON.parse(row.meta) as JsonObject }),
    createdAt: row.created_at,
    state: JSON.parse(row.state) as CallRecord['state'],
    cancelRequested: row.cancel_requested === 1,
    followed: row.owner !== null,
  };
}

/** What the server calls the task of a call, if it has become one. */
export function taskIdOf({ state }: Pick<CallRecord, 'state'>): string | undefined {
  if (state.phase === 'following') return state.task.taskId;
  return state.phase === 'ended' ? state.taskId : undefined;
}

function* erase(q: ReturnType<typeof journalStatements>, id: string): Command<void> {
  yield* run(q.deleteEnding, { id });
  yield* run(q.deleteAnswers, { id });
  yield* run(q.deleteCall, { id });
}

function heldCall(row: CallRow): HeldCall {
  return { record: callRecord(row) as HeldCall['record'], hold: { callId: row.id, fence: row.fence } };
}

function endingOf(row: EndingRow): Ending {
  return {
    seq: row.seq,
    callId: row.call_id,
    end: JSON.parse(row.body) as CallEnd,
    endedAt: row.ended_at,
    acknowledged: row.acknowledged_at !== null,
  };
}
