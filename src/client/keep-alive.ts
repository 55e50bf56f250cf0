/** Keeps the process alive while somebody waits for something: timers of ours do not, and a poll may be an hour away. */
export class KeepAlive {
  #waiting = 0;
  #handle: NodeJS.Timeout | undefined;

  async during<Result>(work: Promise<Result>): Promise<Result> {
    this.#waiting += 1;
    this.#handle ??= setInterval(() => {}, 60_000);
    try {
      return await work;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) {
        clearInterval(this.#handle);
        this.#handle = undefined;
      }
    }
  }
}
