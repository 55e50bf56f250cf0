import { doesNotOpen, type Kept, keyIdOf, type Place, type Vault } from '../vault.ts';

/** Looks at payloads for an overview, which shows what it can: what does not open is left out, and noted. */
export class Peek {
  readonly #vault: Vault;
  readonly #shut = new Set<string>();

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  at(place: Place, payload: Kept | null): string | undefined {
    return payload === null ? undefined : this.unless(payload, () => this.#vault.open(place, payload));
  }

  /** What `look` finds, unless it meets something that does not open. */
  unless<Found>(payload: Kept, look: () => Found): Found | undefined {
    try {
      return look();
    } catch (error) {
      if (!doesNotOpen(error)) throw error;
      this.#shut.add(keyIdOf(payload) ?? '');
      return undefined;
    }
  }

  get note(): { sealed?: string[] } {
    return this.#shut.size === 0 ? {} : { sealed: [...this.#shut].sort() };
  }
}
