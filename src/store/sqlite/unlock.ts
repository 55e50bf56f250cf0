import { createHmac, timingSafeEqual } from 'node:crypto';
import { resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { type RandomSource, StoreRefusedError, StoreSealedError } from '../../core/index.ts';
import { NAME as SECRET } from '../sql/commands/secret.ts';
import { SEALED_READER } from '../sql/migrations.ts';
import { places } from '../sql/places.ts';
import { type Kept, type KeyRing, keyIdOf, Vault } from '../sql/vault.ts';
import { patiently, refusal } from './open.ts';

/** What digests are made with: once for a store, whatever becomes of its keys. A store that has it is a sealed one. */
const DIGESTING = 'digesting';
const DIGESTING_BYTES = 32;

/**
 * The vault of an open database. The first keys it is given make it a sealed store, which older releases refuse.
 * @param ring none: what is sealed stays shut
 * @throws {StoreRefusedError} when a key is not the one that the store knows by its id, or its own key is missing.
 */
export async function unlock(
  db: Database.Database,
  path: string,
  ring: KeyRing | undefined,
  random: RandomSource,
): Promise<Vault> {
  const file = path === ':memory:' ? path : resolve(path);
  try {
    return await patiently(() => unlocked(db, file, ring, random));
  } catch (error) {
    db.close();
    throw refusal(file, error);
  }
}

function unlocked(db: Database.Database, file: string, ring: KeyRing | undefined, random: RandomSource): Vault {
  const meta = metaOf(db);
  if (ring === undefined) return meta.read(DIGESTING) === undefined ? Vault.plain : Vault.locked;
  db.exec('begin immediate');
  try {
    for (const [id, key] of ring.keys) {
      // Tells a wrong key at once, where else its first payload would. It says nothing about the key.
      const check = createHmac('sha256', key).update('longcall key check').digest();
      const known = meta.read(`key ${id}`);
      if (known === undefined) meta.write(`key ${id}`, check);
      else if (!Buffer.isBuffer(known) || !timingSafeEqual(known, check)) {
        throw new StoreRefusedError(
          `${file} knows another key by the id "${id}"; give it the right one, or give a new key an id of its own`,
        );
      }
    }
    const own = Vault.sealing({ ring, random, digesting: Buffer.alloc(0) });
    const digesting =
      sealedMeta(own, DIGESTING, meta, file) ?? Buffer.from(random.bytes(DIGESTING_BYTES)).toString('base64url');
    const secret = sealedMeta(own, SECRET, meta, file);
    if (meta.read(DIGESTING) === undefined) meta.requireRelease(SEALED_READER);
    for (const [name, text] of [
      [DIGESTING, digesting],
      [SECRET, secret],
    ] as const) {
      const kept = meta.read(name);
      if (text === undefined || (kept !== undefined && keyIdOf(kept as unknown as Kept) === ring.use)) continue;
      meta.write(name, own.seal(places.ofStore(name), text) as unknown as Buffer);
    }
    db.exec('commit');
    return Vault.sealing({ ring, random, digesting: Buffer.from(digesting, 'base64url') });
  } finally {
    if (db.inTransaction) db.exec('rollback');
  }
}

type Meta = ReturnType<typeof metaOf>;

function metaOf(db: Database.Database) {
  const read = db.prepare('select value from meta where key = ?').pluck();
  const write = db.prepare('insert or replace into meta (key, value) values (?, ?)');
  return {
    read: (key: string) => read.get(key) as string | Buffer | undefined,
    write: (key: string, value: string | Buffer) => void write.run(key, value),
    /** Releases that do not know this schema neither read nor write the file any more. */
    requireRelease(schema: number): void {
      for (const key of ['min_reader', 'min_writer']) {
        if (Number(read.get(key)) < schema) write.run(key, String(schema));
      }
    },
  };
}

/** What is sealed for the store itself, without which nothing can be served. */
function sealedMeta(vault: Vault, name: string, meta: Meta, file: string): string | undefined {
  const kept = meta.read(name);
  if (kept === undefined) return undefined;
  try {
    return vault.open(places.ofStore(name), kept as unknown as Kept);
  } catch (error) {
    if (!(error instanceof StoreSealedError)) throw error;
    throw new StoreRefusedError(
      `${file} is encrypted with key "${error.keyId}", which is not among the keys given (${[...vault.keyIds].join(', ')})`,
      { cause: error },
    );
  }
}
