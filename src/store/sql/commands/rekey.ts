import type { TaskId } from '../../../core/index.ts';
import { places, SEALED_TASK_COLUMNS } from '../places.ts';
import type { PayloadRow, Spot } from '../rekey-statements.ts';
import { keyed, toStepName, withKey } from '../rows.ts';
import type { Schema } from '../schema.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { doesNotOpen, headOf, isSealed, type Kept, keyIdOf, nameOf, type Place, type Vault } from '../vault.ts';
import { fingerprintsOf } from './payload.ts';

export type WalkedName = keyof Statements['walks'];

/** Rows looked at by one reading command: a few milliseconds, unless they are large. */
const SCAN = 200;
/** What one transaction seals anew: a few milliseconds, in which nobody else writes. */
const PIECE_BYTES = 1024 * 1024;
const PIECE_ROWS = 50;

/** Rows among the next ones that are not sealed with the key in use; `next` is where to go on, if there is more. */
export function* staleRows(
  q: Statements,
  table: WalkedName,
  after: Spot,
): Command<{ stale: Spot[]; next: Spot | undefined }> {
  const head = headOf(q.vault.use ?? '');
  const rows = yield* all(q.walks[table].scan, { ...after, head, headBytes: head.length, limit: SCAN });
  const last = rows.at(-1);
  return {
    stale: rows.filter(({ stale }) => stale === 1).map(({ a, b }) => ({ a, b })),
    next: rows.length < SCAN || last === undefined ? undefined : { a: last.a, b: last.b },
  };
}

export interface RekeyedPiece {
  /** How many of the rows this got through. */
  done: number;
  rows: number;
  plain: number;
  /** The key of each row that does not open. */
  shut: string[];
}

/** Seals rows anew, as many as one transaction may. */
export function* rekeyRows(q: Statements, table: WalkedName, spots: readonly Spot[]): Command<RekeyedPiece> {
  const piece: RekeyedPiece = { done: 0, rows: 0, plain: 0, shut: [] };
  const { read, write } = q.walks[table];
  let left = PIECE_BYTES;
  for (const spot of spots.slice(0, PIECE_ROWS)) {
    if (left <= 0) break;
    piece.done += 1;
    const row = yield* one(read, spot);
    if (row === undefined || row.task === null) continue; // Deleted since it was seen.
    try {
      const changed = renewed[table](q.vault, row.task, row);
      const body = 'body' in changed ? changed.body : null;
      left -= Buffer.isBuffer(body) ? body.length : 0;
      const keyId = q.vault.use ?? null;
      piece.rows += yield* run(write, { ...row, ...changed, ...spot, keyId });
      if (Object.keys(changed).some((column) => isPlain(row[column] as Kept | null))) piece.plain += 1;
      if (table === 'idempotency_keys') yield* run(q.dropPlainKey, spot);
    } catch (error) {
      if (!doesNotOpen(error)) throw error;
      piece.shut.push(firstShut(q.vault, row));
    }
  }
  return piece;
}

function isPlain(payload: Kept | null): boolean {
  return payload !== null && !isSealed(payload);
}

type Renew = (vault: Vault, task: TaskId, row: PayloadRow) => Record<string, Kept | null>;
const kept = (row: PayloadRow, column: string): Kept => row[column] as Kept;

function renew(vault: Vault, row: PayloadRow, columns: Record<string, Place>): Record<string, Kept | null> {
  const entries = Object.entries(columns).map(([column, place]) => {
    const payload = row[column] as Kept | null;
    const isDue = payload !== null && keyIdOf(payload) !== vault.use;
    return [column, isDue ? vault.moved(place, payload, place) : payload] as const;
  });
  return Object.fromEntries(entries);
}

/** What the payloads of a row are once sealed anew. */
const renewed: Record<WalkedName, Renew> = {
  tasks: (vault, task, row) =>
    renew(vault, row, Object.fromEntries(SEALED_TASK_COLUMNS.map((column) => [column, places.ofTask(task, column)]))),
  task_payloads: (vault, task, row) =>
    renew(vault, row, { body: places.body(task, row.kind as Schema['task_payloads']['kind']) }),
  attempts: (vault, task, row) => renew(vault, row, { error: places.attemptError(task, row.fence as number) }),
  events: (vault, task, row) => renew(vault, row, { body: places.event(task, row.seq as number) }),
  logs: (vault, task, row) => renew(vault, row, { body: places.log(task, row.start as number) }),
  steps(vault, task, row) {
    const { key, name } = toStepName(vault, task, { step_key: kept(row, 'step_key'), name: kept(row, 'name') });
    const step_key = vault.digest('step', task, key);
    return {
      ...renew(vault, row, { body: places.stepValue(task, key), error: places.stepError(task, key) }),
      step_key,
      name: vault.seal(places.stepName(task, nameOf(step_key)), keyed(vault, key, name)),
    };
  },
  input_requests(vault, task, row) {
    const place = (name: string) => places.question(task, name);
    const [key, question] = withKey(vault, kept(row, 'request_key'), kept(row, 'question'), place);
    const request_key = vault.digest('question', task, key);
    return {
      ...renew(vault, row, { answer: places.answer(task, key), action: places.action(task, key) }),
      request_key,
      question: vault.seal(place(nameOf(request_key)), keyed(vault, key, question)),
    };
  },
  idempotency_keys(vault, _task, row) {
    const { tenant, principal, name, key, request_hash: hash } = row as unknown as Record<string, string>;
    const of = { tenant, principal, name } as { tenant: string; principal: string; name: string };
    const fingerprints = fingerprintsOf(vault, of, key as string, hash as string);
    return { key: fingerprints.key, request_hash: fingerprints.hash };
  },
};

/** The key that a row needs and that is not here, or whose seal on it is broken. */
function firstShut(vault: Vault, row: PayloadRow): string {
  const ids = Object.values(row).flatMap((value) => keyIdOf(value as Kept) ?? []);
  return ids.find((id) => !vault.keyIds.includes(id)) ?? ids[0] ?? '';
}
