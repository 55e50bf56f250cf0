import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';

export type SqlValue = string | number | null | Uint8Array;

/** A value that is not known when a statement is compiled: it stands where the value will be. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A named hole in a statement. Typed as the value that will fill it, so that Kysely checks the statement as if the
 * value were there.
 */
export function slot<Value>(name: string): Value {
  return new Slot(name) as unknown as Value;
}

/**
 * Writes into the statement what is known when it is compiled, and leaves holes for the rest: there is less to bind call
 * after call, and a partial index can be seen to serve.
 */
class StatementCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    if (value instanceof Slot) super.appendValue(value);
    else this.appendImmediateValue(value);
  }
}

/** A Kysely that only compiles; a driver of ours runs what comes out. */
export function compiler<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new StatementCompiler(),
    },
  });
}

/** One SQL statement, compiled once and run often. */
export interface Statement<Args, Row> {
  readonly sql: string;
  /** The values for its placeholders. */
  bind(args: Args): SqlValue[];
  /** Only for the type checker. */
  readonly row?: Row;
}

/** Compiles a query whose unknown values are slots, by what {@link compiler} gives. */
export function compile<Args extends object, Row = unknown>(query: Compilable): Statement<Args, Row> {
  const { sql, parameters } = query.compile();
  const names = parameters.map((parameter) => (parameter as Slot).name);
  return { sql, bind: (args) => names.map((name) => (args as Record<string, SqlValue | undefined>)[name] ?? null) };
}

/** One call of a statement, on its way to a driver. */
export interface Op {
  statement: Statement<never, unknown>;
  args: unknown;
  want: 'changes' | 'one' | 'all';
}

export type OpResult = { changes: number; row: unknown; rows: unknown[] };

/**
 * A store command: pure logic that yields SQL and is resumed with what it gave. A driver runs it inside a transaction,
 * synchronously (SQLite) or not (Postgres); the command cannot tell.
 */
export type Command<Result> = Generator<Op, Result, OpResult>;

/** Runs a statement and yields how many rows it changed. */
export function* run<Args>(statement: Statement<Args, unknown>, args: Args): Command<number> {
  return (yield { statement: statement as Statement<never, unknown>, args, want: 'changes' }).changes;
}

/** Yields the first row, if there is one. */
export function* one<Args, Row>(statement: Statement<Args, Row>, args: Args): Command<Row | undefined> {
  return (yield { statement: statement as Statement<never, unknown>, args, want: 'one' }).row as Row | undefined;
}

/** Yields all rows. */
export function* all<Args, Row>(statement: Statement<Args, Row>, args: Args): Command<Row[]> {
  return (yield { statement: statement as Statement<never, unknown>, args, want: 'all' }).rows as Row[];
}
