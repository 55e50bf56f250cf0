/** Counts what is under way, for whoever has to wait until nothing is. */
export class Pending {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** Something begins; the result ends it, once. */
  begin(): () => void {
    this.#count += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#count -= 1;
      if (this.#count === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    };
  }

  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
