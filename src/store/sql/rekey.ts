import type { Rekeyed } from '../operator-store.ts';
import * as commands from './commands/index.ts';
import type { CommandRunner } from './operations.ts';
import type { Spot } from './rekey-statements.ts';
import type { Statements } from './statements.ts';
import { turn } from './turn.ts';

/**
 * Seals with the key in use what is not sealed with it yet, in pieces small enough that others get their turn in between.
 * Goes over everything until nothing is left to do, as others may have written under another key meanwhile.
 */
export async function rekey(runner: CommandRunner, q: Statements): Promise<Rekeyed> {
  const { use: key } = q.vault;
  if (key === undefined)
    throw new TypeError('rekey: the store was opened without keys; give it its option `encryption`');
  let rows = 0;
  let plain = 0;
  for (;;) {
    const pass = await once(runner, q);
    rows += pass.rows;
    plain += pass.plain;
    if (pass.rows === 0) return { key, rows, plain, left: pass.left };
  }
}

async function once(runner: CommandRunner, q: Statements): Promise<Omit<Rekeyed, 'key'>> {
  const left: Record<string, number> = {};
  let rows = 0;
  let plain = 0;
  for (const table of Object.keys(q.walks) as commands.WalkedName[]) {
    for (let after: Spot | undefined = { a: 0, b: 0 }; after !== undefined; ) {
      const from: Spot = after;
      const { stale, next } = await runner.read(() => commands.staleRows(q, table, from));
      while (stale.length > 0) {
        const piece = await runner.write(() => commands.rekeyRows(q, table, stale), { flush: false });
        stale.splice(0, piece.done);
        rows += piece.rows;
        plain += piece.plain;
        for (const id of piece.shut) left[id] = (left[id] ?? 0) + 1;
        await turn();
      }
      after = next;
      await turn();
    }
  }
  return { rows, plain, left };
}
