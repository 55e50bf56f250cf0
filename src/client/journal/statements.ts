import { sql } from 'kysely';
import { compile, compiler, slot } from '../../store/sql/statement.ts';
import type { JournalSchema } from './schema.ts';

export type CallRow = Omit<JournalSchema['calls'], 'row_id'>;
export type EndingRow = JournalSchema['endings'];

/** What can be told of a call without its end. */
const columns = [
  'id',
  'server',
  'tool',
  'arguments',
  'idempotency_key',
  'ttl_ms',
  'created_at',
  'phase',
  'state',
  'cancel_requested',
  'owner',
  'fence',
  'group_id',
  'group_limit',
  'parent',
  'traceparent',
  'related',
  'note',
  'meta',
] as const satisfies readonly (keyof CallRow)[];

function build() {
  const db = compiler<JournalSchema>();
  const id = slot<string>('id');
  const owner = slot<string>('owner');
  const now = slot<number>('now');
  const limit = slot<number>('limit');
  /** Only whoever holds the call writes about it. */
  const held = db
    .updateTable('calls')
    .where('id', '=', id)
    .where('fence', '=', slot<number>('fence'))
    .where('phase', '<>', 'ended');
  const insert = db
    .insertInto('calls')
    .values(Object.fromEntries(columns.map((name) => [name, slot(name)])) as unknown as CallRow);
  const recent = db
    .selectFrom('calls')
    .select(columns)
    .where(sql<boolean>`row_id < ${earlierThan(slot<string | null>('before'))}`)
    .orderBy('row_id', 'desc')
    .limit(limit);
  return {
    insert: compile<CallRow>(insert),
    insertOnce: compile<CallRow>(insert.onConflict((conflict) => conflict.doNothing())),
    call: compile<{ id: string }, CallRow>(db.selectFrom('calls').select(columns).where('id', '=', id)),
    open: compile<object, CallRow>(
      db.selectFrom('calls').select(columns).where('phase', '<>', 'ended').orderBy('row_id'),
    ),
    /** Newest first, those before a call. */
    recent: compile<{ before: string | null; limit: number }, CallRow>(recent),
    recentOpen: compile<{ before: string | null; limit: number }, CallRow>(recent.where('phase', '<>', 'ended')),
    group: compile<{ group: string }, CallRow>(
      db.selectFrom('calls').select(columns).where('group_id', '=', slot<string>('group')).orderBy('row_id'),
    ),
    siblings: compile<{ parent: string; server: string }, CallRow>(
      db
        .selectFrom('calls')
        .select(columns)
        .where('parent', '=', slot<string>('parent'))
        .where('server', '=', slot<string>('server'))
        .orderBy('row_id'),
    ),
    notes: compile<object, { note: string }>(
      db.selectFrom('calls').select('note').$narrowType<{ note: string }>().where('note', 'is not', null),
    ),
    /** Two are enough to know that there is more than one. */
    beginning: compile<{ from: string; to: string }, { id: string }>(
      db
        .selectFrom('calls')
        .select('id')
        .where('id', '>=', slot<string>('from'))
        .where('id', '<', slot<string>('to'))
        .limit(2),
    ),
    record: compile<{ id: string; fence: number; phase: string; state: string }>(
      held.set({ phase: slot('phase'), state: slot('state') }),
    ),
    end: compile<{ id: string; fence: number; state: string }>(
      held.set({ phase: 'ended', state: slot('state'), owner: null }),
    ),
    insertEnding: compile<{ id: string; body: string; now: number }>(
      db
        .insertInto('endings')
        .columns(['call_id', 'body', 'ended_at'])
        .expression(
          db.selectNoFrom([
            sql<string>`${id}`.as('call_id'),
            sql<string>`${slot('body')}`.as('body'),
            sql<number>`${now}`.as('ended_at'),
          ]),
        ),
    ),
    cancel: compile<{ id: string }>(
      db.updateTable('calls').set({ cancel_requested: 1 }).where('id', '=', id).where('phase', '<>', 'ended'),
    ),
    retractCancel: compile<{ id: string; fence: number }>(held.set({ cancel_requested: 0 })),
    /** Calls of a server that nobody follows. */
    unowned: compile<{ server: string; limit: number }, CallRow>(
      db
        .selectFrom('calls')
        .select(columns)
        .where('phase', '<>', 'ended')
        .where('server', '=', slot<string>('server'))
        .where('owner', 'is', null)
        .orderBy('row_id')
        .limit(limit),
    ),
    take: compile<{ id: string; fence: number; owner: string }>(
      held.where('owner', 'is', null).set((eb) => ({ owner, fence: eb('fence', '+', 1) })),
    ),
    /** What its dead owner held is anybody's. The fence grows: should it wake up, its writes change nothing. */
    disown: compile<{ owner: string }>(
      db
        .updateTable('calls')
        .set((eb) => ({ owner: null, fence: eb('fence', '+', 1) }))
        .where('owner', '=', owner),
    ),
    letGo: compile<{ owner: string; server: string }>(
      db
        .updateTable('calls')
        .set((eb) => ({ owner: null, fence: eb('fence', '+', 1) }))
        .where('owner', '=', owner)
        .where('server', '=', slot<string>('server')),
    ),
    cancelled: compile<{ owner: string }, { id: string }>(
      db.selectFrom('calls').select('id').where('owner', '=', owner).where('cancel_requested', '=', 1),
    ),
    beat: compile<{ owner: string }>(
      db
        .updateTable('owners')
        .set((eb) => ({ beat: eb('beat', '+', 1) }))
        .where('id', '=', owner),
    ),
    enlist: compile<{ owner: string }>(db.insertInto('owners').values({ id: owner, beat: 1 })),
    owners: compile<object, JournalSchema['owners']>(db.selectFrom('owners').selectAll()),
    forgetOwner: compile<{ owner: string }>(db.deleteFrom('owners').where('id', '=', owner)),
    ending: compile<{ id: string }, EndingRow>(db.selectFrom('endings').selectAll().where('call_id', '=', id)),
    unread: compile<{ after: number; limit: number }, EndingRow>(
      db
        .selectFrom('endings')
        .selectAll()
        .where('acknowledged_at', 'is', null)
        .where('seq', '>', slot<number>('after'))
        .orderBy('seq')
        .limit(limit),
    ),
    /** Ends that the handler of a task was to take in. */
    unreadOfTasks: compile<{ after: number; limit: number }, { seq: number; call_id: string; parent: string }>(
      db
        .selectFrom('endings')
        .innerJoin('calls', 'calls.id', 'endings.call_id')
        .select(['endings.seq', 'endings.call_id', 'calls.parent'])
        .$narrowType<{ parent: string }>()
        .where('endings.acknowledged_at', 'is', null)
        .where('calls.parent', 'is not', null)
        .where('endings.seq', '>', slot<number>('after'))
        .orderBy('endings.seq')
        .limit(limit),
    ),
    acknowledge: compile<{ id: string; now: number }>(
      db
        .updateTable('endings')
        .set({ acknowledged_at: now })
        .where('call_id', '=', id)
        .where('acknowledged_at', 'is', null),
    ),
    forgettable: compile<{ now: number; limit: number }, { call_id: string }>(
      db.selectFrom('endings').select('call_id').where('acknowledged_at', '<=', now).limit(limit),
    ),
    deleteEnding: compile<{ id: string }>(db.deleteFrom('endings').where('call_id', '=', id)),
    insertAnswer: compile<JournalSchema['answers']>(
      db
        .insertInto('answers')
        .values({ call_id: slot('call_id'), question_key: slot('question_key'), answer: slot('answer') })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    answers: compile<{ id: string }, JournalSchema['answers']>(
      db.selectFrom('answers').selectAll().where('call_id', '=', id),
    ),
    deleteAnswer: compile<{ id: string; key: string }>(
      db.deleteFrom('answers').where('call_id', '=', id).where('question_key', '=', slot<string>('key')),
    ),
    deleteAnswers: compile<{ id: string }>(db.deleteFrom('answers').where('call_id', '=', id)),
    deleteCall: compile<{ id: string }>(db.deleteFrom('calls').where('id', '=', id)),
  };
}

/** The row of a call, or beyond all rows where none is named. */
function earlierThan(id: string | null) {
  return sql<number>`coalesce((select row_id from calls where id = ${id}), 9223372036854775807)`;
}

let built: ReturnType<typeof build> | undefined;

/** Every statement of a journal, compiled when first asked for. */
export function journalStatements(): ReturnType<typeof build> {
  built ??= build();
  return built;
}
