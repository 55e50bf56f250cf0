import type { Kysely } from 'kysely';
import { eraseStatements } from './erase-statements.ts';
import { inspectStatements } from './inspect-statements.ts';
import { keyStatements } from './key-statements.ts';
import { leaseStatements } from './lease-statements.ts';
import { logStatements } from './log-statements.ts';
import { recordStatements } from './record-statements.ts';
import { rekeyStatements } from './rekey-statements.ts';
import type { Schema } from './schema.ts';
import { compile, compiler, slot } from './statement.ts';
import { taskStatements } from './task-statements.ts';
import type { Kept, Vault } from './vault.ts';

export type { ClaimRow, LeasedRow, ReadyRow } from './lease-statements.ts';
export type { ControlRow, NewTaskRow, RecordRow } from './task-statements.ts';

type AllStatements = ReturnType<typeof buildStatements>;
/** What commands work with: every statement, and what makes payloads into values for them. */
export type Statements = AllStatements & { readonly vault: Vault };

let statements: AllStatements | undefined;

/** Every statement a store runs. Compiled when they are first asked for, and the same for every store. */
export function allStatements(): AllStatements {
  statements ??= buildStatements();
  return statements;
}

export function statementsWith(vault: Vault): Statements {
  return { ...allStatements(), vault };
}

function buildStatements() {
  const db = compiler<Schema>();
  return {
    ...taskStatements(db),
    ...keyStatements(db),
    ...leaseStatements(db),
    ...recordStatements(db),
    ...logStatements(db),
    ...inspectStatements(db),
    ...rekeyStatements(db),
    ...eraseStatements(db),
    ...metaStatements(db),
  };
}

/** The statements of what belongs to the whole store. */
function metaStatements(db: Kysely<Schema>) {
  return {
    addMeta: compile<{ key: string; value: Kept }>(
      db
        .insertInto('meta')
        .values({ key: slot('key'), value: slot('value') })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    readMeta: compile<{ key: string }, { value: Kept }>(
      db.selectFrom('meta').select('value').where('key', '=', slot<string>('key')),
    ),
  };
}
