/** A map that keeps what was set last: beyond `max` entries, the one set longest ago is forgotten. */
export class Recent<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key); // To the end: the first are those set longest ago.
    super.set(key, value);
    if (this.size > this.#max) this.delete(this.keys().next().value as Key);
    return this;
  }
}
