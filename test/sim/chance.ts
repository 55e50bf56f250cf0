import type { RandomSource } from '../../src/core/index.ts';

/** Randomness that a seed replays: sfc32, small and good enough for choosing what happens next. */
export class Chance implements RandomSource {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  /** @param seeds any numbers; the same ones give the same choices */
  constructor(...seeds: number[]) {
    let hash = 0x811c9dc5;
    const stir = (value: number): number => {
      hash = Math.imul(hash ^ value, 0x01000193) >>> 0;
      hash = (hash ^ (hash >>> 15)) >>> 0;
      return hash;
    };
    for (const seed of seeds) for (const part of [seed | 0, Math.floor(seed / 2 ** 32) | 0]) stir(part);
    [this.#a, this.#b, this.#c] = [stir(1), stir(2), stir(3)];
    for (let round = 0; round < 12; round += 1) this.next(); // Lets neighbouring seeds part ways.
  }

  /** A number in [0, 1). */
  next(): number {
    const sum = (this.#a + this.#b + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  odds(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item {
    if (items.length === 0) throw new RangeError('nothing to pick from');
    return items[Math.floor(this.next() * items.length)] as Item;
  }

  /** One of `items`, as often as its weight says; undefined when all weights are zero. */
  weighted<Item>(items: readonly (readonly [Item, number])[]): Item | undefined {
    let left = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      left -= weight;
      if (left < 0 && weight > 0) return item;
    }
    return undefined;
  }

  bytes(size: number): Uint8Array {
    return Uint8Array.from({ length: size }, () => Math.floor(this.next() * 256));
  }

  /** Another source of its own, so that what one process draws does not shift what another does. */
  fork(): Chance {
    return new Chance(Math.floor(this.next() * 2 ** 32), Math.floor(this.next() * 2 ** 32));
  }
}
