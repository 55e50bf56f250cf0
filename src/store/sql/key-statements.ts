import { type Kysely, sql } from 'kysely';
import { fragments } from './fragments.ts';
import type { Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import type { Kept } from './vault.ts';

/** The statements of idempotency keys. */
export function keyStatements(db: Kysely<Schema>) {
  const { id, now } = fragments(db);
  return {
    /** Under a digest, or as it was kept before payloads were sealed; then the digest is the younger one. */
    findKey: compile<
      { tenant: string; principal: string; name: string; key: Kept; plain: Kept; now: number },
      { request_hash: Kept; task_id: string }
    >(
      db
        .selectFrom('idempotency_keys')
        .select(['request_hash', 'task_id'])
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('name', '=', slot<string>('name'))
        .where('key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
        .orderBy(sql`typeof(key)`)
        .limit(1),
    ),
    putKey: compile<{
      tenant: string;
      principal: string;
      name: string;
      key: Kept;
      hash: Kept;
      id: string;
      expiresAt: number | null;
    }>(
      db.replaceInto('idempotency_keys').values({
        tenant: slot('tenant'),
        principal: slot('principal'),
        name: slot('name'),
        key: slot('key'),
        request_hash: slot('hash'),
        task_id: id,
        expires_at: slot('expiresAt'),
        repeats: 0,
      }),
    ),
    countRepeat: compile<{ id: string }>(
      db
        .updateTable('idempotency_keys')
        .set((eb) => ({ repeats: eb('repeats', '+', 1) }))
        .where('task_id', '=', id),
    ),
    takeBackRepeat: compile<{ id: string }>(
      db
        .updateTable('idempotency_keys')
        .set((eb) => ({ repeats: eb('repeats', '-', 1) }))
        .where('task_id', '=', id),
    ),
    readRepeats: compile<{ id: string }, { repeats: number }>(
      db.selectFrom('idempotency_keys').select('repeats').where('task_id', '=', id),
    ),
  };
}
