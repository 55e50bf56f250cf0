import type { Lease } from '../../../src/store/index.ts';
import type { Fact } from '../facts.ts';
import { isLate } from '../model.ts';
import type { Check, View } from './check.ts';

/** P6: a worker that shuts down in order hands over all it has, so that nobody has to find out that it is gone. */
export class Drain implements Check {
  readonly promise = 'P6';
  /** What could not be handed over because the disk did not let it. */
  readonly #refused = new Set<string>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store_failed' && fact.method === 'release') {
      const { code } = fact.error as { code?: string };
      if (code === 'STORE_UNAVAILABLE') this.#refused.add(`${fact.process} ${(fact.args[0] as Lease).taskId}`);
    }
    if (fact.kind !== 'exited') return;
    for (const { id, alias, lease } of view.model.tasks.values()) {
      if (lease?.process !== fact.process || this.#refused.has(`${fact.process} ${id}`)) continue;
      if (lease.ranOut || lease.late || isLate(lease, view.elapsed)) continue; // It stopped by itself before.
      yield `${fact.process} exits and keeps the lease of ${alias}`;
    }
  }
}
