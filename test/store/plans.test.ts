import type Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Statement } from '../../src/store/sql/statement.ts';
import { allStatements } from '../../src/store/sql/statements.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { silent } from '../support/stores.ts';

type AnyStatement = Statement<never, unknown>;

/** Every statement a store runs, by name. */
function named(found: unknown, name: string): [string, AnyStatement][] {
  if (typeof (found as AnyStatement).sql === 'string') return [[name, found as AnyStatement]];
  return Object.entries(found as object).flatMap(([key, inner]) => named(inner, name === '' ? key : `${name}.${key}`));
}
const statements = named(allStatements(), '');

/** What may walk over rows without an index that leads to them, each with its reason. */
const WALKS: Record<string, { over: RegExp; because: string }> = {
  countTasks: { over: /^SCAN some$/, because: 'the few thousand rows of a piece, which were found by their key' },
  listReady: { over: /^SCAN json_each /, because: 'the names of the tools a worker has' },
  listLeaseOwners: {
    over: /^SCAN tasks USING INDEX tasks_leased$/,
    because: 'leased tasks: as many as workers have slots',
  },
  listLeasedBy: { over: /^SCAN tasks USING INDEX tasks_leased$/, because: 'the same' },
  insertStep: { over: /^SCAN CONSTANT ROW$/, because: 'no table: the row that is inserted' },
  insertQuestion: { over: /^SCAN CONSTANT ROW$/, because: 'the same' },
  hasRecords: { over: /^SCAN CONSTANT ROW$/, because: 'no table' },
};
let db: Database.Database;
beforeAll(async () => {
  db = await openDatabase(':memory:', silent);
});
afterAll(() => db.close());

function planOf({ sql }: AnyStatement): string[] {
  const holes = Array.from({ length: sql.split('?').length - 1 }, () => null);
  const rows = db.prepare(`explain query plan ${sql}`).all(...holes) as { detail: string }[];
  return rows.map(({ detail }) => detail);
}

// A million tasks are kept as easily as a thousand where no statement looks at rows it does not need.
it.each(statements)('%s is led to its rows by an index', (name, statement) => {
  const walks = planOf(statement).filter((detail) => /\bSCAN\b/.test(detail));
  expect(walks.filter((detail) => WALKS[name]?.over.test(detail) !== true)).toEqual([]);
});

it.each(Object.keys(WALKS))('%s is still an exception', (name) => {
  const [, statement] = statements.find(([found]) => found === name) as [string, AnyStatement];
  expect(planOf(statement).some((detail) => WALKS[name]?.over.test(detail))).toBe(true);
});
