import type { Command } from '../statement.ts';
import { one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';

const NAME = 'secret';

/** The store's secret; `fresh` becomes it, if it has none yet. */
export function* secret(q: Statements, fresh: string): Command<string> {
  yield* run(q.addMeta, { key: NAME, value: fresh });
  const row = yield* one(q.readMeta, { key: NAME });
  return row?.value ?? fresh;
}
