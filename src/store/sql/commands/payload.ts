import type { JsonValue, TaskId } from '../../../core/index.ts';
import { places } from '../places.ts';
import type { Schema } from '../schema.ts';
import { type Command, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { type Kept, keyIdOf, type Vault } from '../vault.ts';

type Kind = Schema['task_payloads']['kind'];

/** Keeps what a task was given, or what came of it, as JSON text. */
export function* insertBody(q: Statements, id: TaskId, kind: Kind, text: string): Command<void> {
  yield* insertKept(q, id, kind, q.vault.seal(places.body(id, kind), text));
}

export function* insertKept(q: Statements, id: TaskId, kind: Kind, body: Kept): Command<void> {
  yield* run(q.insertPayload, { id, kind, body, keyId: keyIdOf(body) ?? null });
}

/** Notes an entry of the task's timeline; `body` is JSON. */
export function* insertEvent(
  q: Statements,
  event: { id: TaskId; seq: number; type: string; body: JsonValue | null; now: number },
): Command<void> {
  const { id, seq, body } = event;
  const kept = body === null ? null : q.vault.seal(places.event(id, seq), JSON.stringify(body));
  yield* run(q.insertEvent, { ...event, body: kept });
}

/**
 * What stands for an idempotency key and the arguments it came with. Keys may be made of arguments, and a plain hash of few
 * possible arguments can be guessed.
 */
export function fingerprintsOf(
  vault: Vault,
  of: { tenant: string; principal: string; name: string },
  key: string,
  requestHash: string,
): { key: Kept; hash: Kept } {
  const scope = [of.tenant, of.principal, of.name] as const;
  return {
    key: vault.digest('idempotency key', ...scope, key),
    hash: vault.digest('request hash', ...scope, key, requestHash),
  };
}
