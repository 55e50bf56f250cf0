import type Database from 'better-sqlite3';
import type { Command, Op, OpResult, Statement } from '../sql/statement.ts';

interface Prepared {
  statement: Database.Statement;
  toRow: (values: unknown[]) => unknown;
}

const NO_ROWS: unknown[] = [];

/** Drives commands on a SQLite connection, each statement prepared once. Transactions are its caller's business. */
export class Driver {
  readonly #db: Database.Database;
  readonly #prepared = new Map<Statement<never, unknown>, Prepared>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  drive<Result>(command: Command<Result>): Result {
    let step = command.next();
    while (!step.done) step = command.next(this.execute(step.value));
    return step.value;
  }

  execute(op: Op): OpResult {
    let prepared = this.#prepared.get(op.statement);
    if (prepared === undefined) {
      prepared = prepare(this.#db, op.statement.sql);
      this.#prepared.set(op.statement, prepared);
    }
    const { statement, toRow } = prepared;
    const values = op.statement.bind(op.args as never);
    switch (op.want) {
      case 'changes':
        return { changes: statement.run(...values).changes, row: undefined, rows: NO_ROWS };
      case 'one': {
        const found = statement.get(...values) as unknown[] | undefined;
        return { changes: 0, row: found && toRow(found), rows: NO_ROWS };
      }
      case 'all':
        return { changes: 0, row: undefined, rows: (statement.all(...values) as unknown[][]).map(toRow) };
    }
  }
}

/** The library looks up every column's name for every row; here a row begins as a copy of one that has them all. */
function prepare(db: Database.Database, sql: string): Prepared {
  const statement = db.prepare(sql);
  if (!statement.reader) return { statement, toRow: (values) => values };
  const names = statement.columns().map(({ name }) => name);
  const blank: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, null]));
  const toRow = (values: unknown[]): unknown => {
    const row = { ...blank };
    for (let n = 0; n < names.length; n += 1) row[names[n] as string] = values[n];
    return row;
  };
  return { statement: statement.raw(), toRow };
}
