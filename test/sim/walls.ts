/** Wall time at every fact at which it moved. It may have moved both ways, so its extremes matter as much as its last. */
export class Walls {
  readonly #moves: { at: number; wall: number }[];

  constructor(wall: number) {
    this.#moves = [{ at: 0, wall }];
  }

  moved(at: number, wall: number): void {
    this.#moves.push({ at, wall });
  }

  latestSince(at: number): number {
    return Math.max(...this.#since(at));
  }

  earliestSince(at: number): number {
    return Math.min(...this.#since(at));
  }

  #since(at: number): number[] {
    const last = this.#moves.findLastIndex((move) => move.at < at);
    return this.#moves.slice(Math.max(0, last)).map(({ wall }) => wall);
  }
}
