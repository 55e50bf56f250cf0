import { type Kysely, sql } from 'kysely';
import { type Fenced, fragments, type Owner } from './fragments.ts';
import type { AttemptOutcome, RunState, Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import { recordColumns } from './task-statements.ts';
import type { Kept } from './vault.ts';

type Tasks = Schema['tasks'];

/** What a worker needs besides the record. */
const claimColumns = [
  ...recordColumns,
  'lease_owner',
  'lease_until',
  'timeout_ms',
  'active_ms',
  'client_capabilities',
  'tool_version',
  'traceparent',
] as const;

/** What recovery needs of a leased task. */
const leasedColumns = ['id', 'fence', 'attempt', 'max_attempts', 'on_worker_lost', 'lease_owner'] as const;

export type ReadyRow = Owner & Pick<Tasks, 'id' | 'tool'>;
export type ClaimRow = Pick<Tasks, (typeof claimColumns)[number]>;
export type LeasedRow = Pick<Tasks, (typeof leasedColumns)[number]>;

/** The statements of workers: which tasks are ready, who holds them, and what became of each lease. */
export function leaseStatements(db: Kysely<Schema>) {
  const { id, now, fence, row, takenEventSeq, held } = fragments(db);
  return {
    nextPrincipal: compile<Owner, Owner & { available_at: number }>(
      db
        .selectFrom('tasks')
        .select(['tenant', 'principal', 'available_at'])
        .where('run_state', '=', 'ready')
        .where(sql<boolean>`(tenant, principal) > (${slot<string>('tenant')}, ${slot<string>('principal')})`)
        .orderBy('tenant')
        .orderBy('principal')
        .orderBy('available_at')
        .limit(1),
    ),
    listReady: compile<Owner & { names: string; now: number; limit: number }, ReadyRow>(
      db
        .selectFrom('tasks')
        .select(['id', 'tool', 'tenant', 'principal'])
        .where('run_state', '=', 'ready')
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('available_at', '<=', now)
        .where(sql<boolean>`tool in (select value from json_each(${slot<string>('names')}))`)
        .orderBy('available_at')
        .orderBy('row_id')
        .limit(slot<number>('limit')),
    ),
    nextReady: compile<{ now: number }, { at: number | null }>(
      db
        .selectFrom('tasks')
        .select((eb) => eb.fn.min<number | null>('available_at').as('at'))
        .where('run_state', '=', 'ready')
        .where('available_at', '>', now),
    ),
    claim: compile<{ id: string; worker: string; until: number; now: number }, ClaimRow>(
      db
        .updateTable('tasks')
        .set((eb) => ({
          run_state: 'leased' as RunState,
          fence: eb('fence', '+', 1),
          attempt: eb('attempt', '+', 1),
          event_seq: eb('event_seq', '+', 1),
          lease_owner: slot<string>('worker'),
          lease_until: slot<number>('until'),
          leased_at: now,
        }))
        .where('id', '=', id)
        .where('run_state', '=', 'ready')
        .where('available_at', '<=', now)
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
        .returning(claimColumns),
    ),
    /** Undoes a claim of the same transaction: nobody has seen it. */
    wake: compile<{ id: string; now: number }>(
      db
        .updateTable('tasks')
        .set({ available_at: now })
        .where('id', '=', id)
        .where('run_state', '=', 'ready')
        .where('available_at', '>', now),
    ),
    setAside: compile<Fenced & { until: number }>(
      held().set((eb) => ({
        run_state: 'ready' as RunState,
        fence: eb('fence', '-', 1),
        attempt: eb('attempt', '-', 1),
        event_seq: eb('event_seq', '-', 1),
        available_at: slot<number>('until'),
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      })),
    ),
    renew: compile<Fenced & { until: number }>(held().set({ lease_until: slot<number>('until') })),
    release: compile<Fenced & { runState: RunState; availableAt: number; givenBack: 0 | 1; activeMs: number }>(
      held().set((eb) => ({
        run_state: slot<RunState>('runState'),
        attempt: eb('attempt', '-', slot<number>('givenBack')),
        event_seq: eb('event_seq', '+', 1),
        active_ms: eb('active_ms', '+', slot<number>('activeMs')),
        available_at: slot<number>('availableAt'),
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      })),
    ),
    returnToReady: compile<Fenced & { now: number }>(
      held().set({
        run_state: 'ready',
        // The dead do not say how long they worked; a task that waited for an answer did not work at all.
        active_ms: sql<number>`active_ms + case status when 'working' then max(0, min(${now}, lease_until) - leased_at) else 0 end`,
        available_at: now,
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      }),
    ),
    insertAttempt: compile<{ id: string; fence: number; attempt: number; worker: string; now: number }>(
      db.insertInto('attempts').values({
        task_row: row,
        fence,
        attempt: slot('attempt'),
        worker: slot('worker'),
        started_at: now,
        ended_at: null,
        outcome: null,
        error: null,
        event_seq: takenEventSeq,
      }),
    ),
    endAttempt: compile<{ id: string; fence: number; outcome: AttemptOutcome; error: Kept | null; now: number }>(
      db
        .updateTable('attempts')
        .set({ ended_at: now, outcome: slot<AttemptOutcome>('outcome'), error: slot<Kept | null>('error') })
        .where('task_row', '=', row)
        .where('fence', '=', fence),
    ),
    listAttempts: compile<
      { id: string },
      Pick<Schema['attempts'], 'fence' | 'attempt' | 'worker' | 'started_at' | 'ended_at' | 'outcome' | 'error'>
    >(
      db
        .selectFrom('attempts')
        .select(['fence', 'attempt', 'worker', 'started_at', 'ended_at', 'outcome', 'error'])
        .where('task_row', '=', row)
        .orderBy('fence'),
    ),
    listOverdue: compile<{ now: number; limit: number }, LeasedRow>(
      db
        .selectFrom('tasks')
        .select(leasedColumns)
        .where('run_state', '=', 'leased')
        .where('lease_until', '<', now)
        .orderBy('lease_until')
        .limit(slot<number>('limit')),
    ),
    listLeaseOwners: compile<Record<string, never>, { lease_owner: string | null }>(
      db.selectFrom('tasks').select('lease_owner').distinct().where('run_state', '=', 'leased'),
    ),
    listLeasedBy: compile<{ worker: string; limit: number }, LeasedRow>(
      db
        .selectFrom('tasks')
        .select(leasedColumns)
        .where('run_state', '=', 'leased')
        .where('lease_owner', '=', slot<string>('worker'))
        .limit(slot<number>('limit')),
    ),
  };
}
