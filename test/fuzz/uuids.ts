import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { Chance } from '../sim/chance.ts';

/** UUIDs out of a seed, for all that takes them from Node: the SDK too has no other way to be given them. */
export class Uuids {
  #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** From here on those that this source gives. @returns the source that was used so far */
  from(chance: Chance): Chance {
    const before = this.#chance;
    this.#chance = chance;
    return before;
  }

  /** @returns the function that undoes it */
  install(): () => void {
    const original = crypto.randomUUID;
    const seeded = (): `${string}-${string}-${string}-${string}-${string}` => {
      const hex = Buffer.from(this.#chance.bytes(16)).toString('hex');
      const [a, b, c, d, e] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20), hex.slice(20)];
      return `${a}-${b}-4${c}-8${d}-${e}`;
    };
    const replace = (randomUUID: typeof original): void => {
      crypto.randomUUID = randomUUID;
      globalThis.crypto.randomUUID = randomUUID as typeof globalThis.crypto.randomUUID;
      syncBuiltinESMExports();
    };
    replace(seeded);
    return () => replace(original);
  }
}
