/** What a process may grow by in the second half of its episodes: what it has learned by then is all there is to learn. */
const MAX_GROWTH_BYTES = 12 * 1024 * 1024;
/** Of fewer episodes, nothing can be said. */
const MIN_EPISODES = 40;

/** Looks at the heap in the middle and at the end of a number of episodes. Needs `--expose-gc`. */
export class Memory {
  readonly #episodes: number;
  #done = 0;
  #middle: number | undefined;

  constructor(episodes: number) {
    this.#episodes = episodes;
  }

  /** An episode is over. @returns what is wrong, after the last one */
  over(): string | undefined {
    const collect = globalThis.gc;
    this.#done += 1;
    if (collect === undefined || this.#episodes < MIN_EPISODES) return undefined;
    if (this.#done === Math.floor(this.#episodes / 2)) this.#middle = heap(collect);
    if (this.#done !== this.#episodes || this.#middle === undefined) return undefined;
    const grown = heap(collect) - this.#middle;
    return grown <= MAX_GROWTH_BYTES
      ? undefined
      : `the heap has grown by ${Math.round(grown / 1024)} kB since half-time`;
  }
}

function heap(collect: () => void): number {
  collect();
  return process.memoryUsage().heapUsed;
}
