import { type Kysely, sql } from 'kysely';
import { SEALED_TASK_COLUMNS } from './places.ts';
import type { Schema } from './schema.ts';
import { compile, type Statement, slot } from './statement.ts';
import type { Kept } from './vault.ts';

/** A row's place in the order in which a table is walked: its number, or its key of two. */
export interface Spot {
  a: number;
  b: number;
}

/** A row's payloads by column, and the task it belongs to. */
export type PayloadRow = { task: string } & Record<string, Kept | string | number | null>;

export interface Walk {
  /** Rows after a spot, and whether each holds something that is not sealed with the key whose head is given. */
  scan: Statement<Spot & { head: Uint8Array; headBytes: number; limit: number }, Spot & { stale: 0 | 1 }>;
  read: Statement<Spot, PayloadRow>;
  write: Statement<Spot & Record<string, unknown>, unknown>;
}

interface WalkedTable {
  table: keyof Schema;
  /** The column that leads to the task. */
  owner: 'id' | 'task_id' | 'task_row';
  sealed: readonly string[];
  digests?: readonly string[];
  /** What else has to be known of a row. */
  also?: readonly string[];
  /** Beside `task_row`, where rows have no number. */
  key?: string;
  stale?: string;
}

/** The statements that go through everything that is sealed, to seal it anew. Bodies are looked at, and not fetched, by `scan`. */
export function rekeyStatements(db: Kysely<Schema>) {
  const a = slot<number>('a');
  const b = slot<number>('b');
  const statement = <Args extends object, Row = unknown>(query: ReturnType<typeof sql>): Statement<Args, Row> =>
    compile<Args, Row>({ compile: () => query.compile(db) });

  const walk = ({ table, owner, sealed, digests = [], also = [], key, stale }: WalkedTable): Walk => {
    const written = [...digests, ...sealed];
    const differs = sealed.map((column) => {
      const payload = sql.ref(column);
      return sql`(${payload} is not null and substr(${payload}, 1, ${slot('headBytes')}) is not ${slot('head')})`;
    });
    const isStale = stale === undefined ? sql.join(differs, sql` or `) : sql.raw(stale);
    const [spot, after, at, order] =
      key === undefined
        ? [sql.raw('rowid as a, 0 as b'), sql`rowid > ${a}`, sql`rowid = ${a}`, sql.raw('rowid')]
        : [
            sql.raw(`task_row as a, ${key} as b`),
            sql`(task_row, ${sql.raw(key)}) > (${a}, ${b})`,
            sql`task_row = ${a} and ${sql.raw(key)} = ${b}`,
            sql.raw(`task_row, ${key}`),
          ];
    const task = owner === 'task_row' ? '(select id from tasks where row_id = task_row)' : owner;
    const selected = [`${task} as task`, ...written, ...also, ...(key === undefined ? [] : [key])].join(', ');
    const changes = written.map((column) => sql`${sql.ref(column)} = ${slot(column)}`);
    return {
      scan: statement(
        sql`select ${spot}, ${isStale} as stale from ${sql.table(table)} where ${after} order by ${order} limit ${slot('limit')}`,
      ),
      read: statement(sql`select ${sql.raw(selected)} from ${sql.table(table)} where ${at}`),
      write: statement(sql`update or ignore ${sql.table(table)} set ${sql.join(changes)} where ${at}`),
    };
  };

  return {
    walks: {
      tasks: walk({ table: 'tasks', owner: 'id', sealed: SEALED_TASK_COLUMNS }),
      task_payloads: {
        ...walk({ table: 'task_payloads', owner: 'task_row', sealed: ['body'], also: ['kind'] }),
        // Replaced, as a trigger keeps outcomes from being updated.
        write: statement<Spot & Record<string, unknown>>(
          sql`replace into task_payloads (task_row, kind, body, key_id)
            select task_row, kind, ${slot('body')}, ${slot('keyId')} from task_payloads where rowid = ${a}`,
        ),
      },
      attempts: walk({ table: 'attempts', owner: 'task_row', key: 'fence', sealed: ['error'] }),
      steps: walk({ table: 'steps', owner: 'task_id', digests: ['step_key'], sealed: ['name', 'body', 'error'] }),
      input_requests: walk({
        table: 'input_requests',
        owner: 'task_id',
        digests: ['request_key'],
        sealed: ['question', 'answer', 'action'],
      }),
      events: walk({ table: 'events', owner: 'task_row', key: 'seq', sealed: ['body'] }),
      logs: walk({ table: 'logs', owner: 'task_id', sealed: ['body'], also: ['start'] }),
      idempotency_keys: walk({
        table: 'idempotency_keys',
        owner: 'task_id',
        digests: ['key', 'request_hash'],
        sealed: [],
        also: ['tenant', 'principal', 'name'],
        stale: `typeof(key) = 'text'`, // Digests outlive the keys.
      }),
    },
    /** A key from before payloads were sealed that came again since then: the younger one holds. */
    dropPlainKey: statement<Spot>(sql`delete from idempotency_keys where rowid = ${a} and typeof(key) = 'text'`),
  };
}
