import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';
import { slot } from './statement.ts';

export interface Owner {
  tenant: string;
  principal: string;
}
export interface OwnedBy extends Owner {
  id: string;
  now: number;
}
export interface Fenced {
  id: string;
  fence: number;
}

/** What many statements are made of. */
export function fragments(db: Kysely<Schema>) {
  const id = slot<string>('id');
  const now = slot<number>('now');
  const fence = slot<number>('fence');
  const row = sql<number>`(select row_id from tasks where id = ${id})`;
  /** Rises with every visible change, even when the clock stands still or steps back. */
  const touched = sql<number>`max(${now}, updated_at + 1)`;
  /** The number that the task's row was given in the same transaction: each entry of a timeline has one of its own. */
  const takenEventSeq = sql<number>`(select event_seq from tasks where id = ${id})`;
  const held = () =>
    db.updateTable('tasks').where('id', '=', id).where('fence', '=', fence).where('run_state', '=', 'leased');
  const owned = () =>
    db
      .selectFrom('tasks')
      .where('tasks.id', '=', id)
      .where('tasks.tenant', '=', slot<string>('tenant'))
      .where('tasks.principal', '=', slot<string>('principal'))
      .where((eb) => eb.or([eb('tasks.delete_at', 'is', null), eb('tasks.delete_at', '>', now)]));
  return { id, now, fence, row, touched, takenEventSeq, held, owned };
}
