import type { Tasks } from '../engine/index.ts';
import { Seal } from '../wire/seal.ts';

const seals = new WeakMap<Tasks, Promise<Seal>>();

/** What makes and opens the tokens that peers carry; by the store's own secret, so that every process on it can. */
export function sealOf(tasks: Tasks): Promise<Seal> {
  let seal = seals.get(tasks);
  if (seal === undefined) {
    seal = tasks.engine.secret().then((secret) => new Seal(secret));
    seals.set(tasks, seal);
    // A store that could not be asked may be asked again.
    seal.catch(() => seals.delete(tasks));
  }
  return seal;
}
