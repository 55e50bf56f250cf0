import { places } from '../places.ts';
import type { Command } from '../statement.ts';
import { one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';

export const NAME = 'secret';

/** The store's secret; `fresh` becomes it, if it has none yet. */
export function* secret(q: Statements, fresh: string): Command<string> {
  const place = places.ofStore(NAME);
  yield* run(q.addMeta, { key: NAME, value: q.vault.seal(place, fresh) });
  const row = yield* one(q.readMeta, { key: NAME });
  return row === undefined ? fresh : q.vault.open(place, row.value);
}
