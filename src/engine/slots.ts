/** What takes a slot: a task of some tool, for somebody. */
export interface SlotUser {
  name: string;
  /** The principal as one string; undefined for callers that are not told apart. */
  principal: string | undefined;
  /** How many tasks of this tool may run at once in this process; undefined: as many as there are slots. */
  concurrency: number | undefined;
}

export interface SlotSettings {
  /** How many tasks run at once. 0: this process only answers. */
  slots: number;
  /** Further slots for calls somebody waits for, so that long tasks never keep quick calls waiting. */
  attendedSlots: number;
  /** How many tasks of one principal may run at once in this process; undefined: as many as there are slots. */
  maxRunningPerPrincipal: number | undefined;
}

type Pool = 'attended' | 'background';

/** A slot that is taken. Giving it back twice does nothing. */
export interface Slot {
  free(): void;
}

/**
 * Who may run now. Beside the plain limits, the last eighth of the slots is kept for principals that have nothing
 * running: whoever fills the rest with long tasks cannot keep others from starting one.
 */
export class Slots {
  readonly #settings: SlotSettings;
  readonly #used: Record<Pool, number> = { attended: 0, background: 0 };
  readonly #byTool = new Map<string, number>();
  readonly #byPrincipal = new Map<string, number>();

  constructor(settings: SlotSettings) {
    this.#settings = settings;
  }

  /** Background slots nobody has. */
  get left(): number {
    return this.#settings.slots - this.#used.background;
  }

  /** True when the tool may not run more often at once. */
  full(name: string, concurrency: number | undefined): boolean {
    return concurrency !== undefined && (this.#byTool.get(name) ?? 0) >= concurrency;
  }

  /** Takes a slot; undefined when `user` has to wait. An attended call falls back on the slots of all. */
  take(user: SlotUser, attended: boolean): Slot | undefined {
    if (this.#settings.slots === 0 || this.full(user.name, user.concurrency)) return undefined;
    const pool = attended && this.#used.attended < this.#settings.attendedSlots ? 'attended' : 'background';
    if (pool === 'background' && !this.#mayUseBackground(user.principal)) return undefined;
    const { principal } = user;
    this.#used[pool] += 1;
    add(this.#byTool, user.name, 1);
    if (principal !== undefined) add(this.#byPrincipal, principal, 1);
    let held = true;
    return {
      free: () => {
        if (!held) return;
        held = false;
        this.#used[pool] -= 1;
        add(this.#byTool, user.name, -1);
        if (principal !== undefined) add(this.#byPrincipal, principal, -1);
      },
    };
  }

  #mayUseBackground(principal: string | undefined): boolean {
    const { slots, maxRunningPerPrincipal = slots } = this.#settings;
    if (this.left <= 0) return false;
    if (principal === undefined) return true;
    const running = this.#byPrincipal.get(principal) ?? 0;
    if (running >= maxRunningPerPrincipal) return false;
    const kept = Math.floor(slots / 8);
    return running === 0 || this.left > kept;
  }
}

function add(counts: Map<string, number>, key: string, delta: number): void {
  const count = (counts.get(key) ?? 0) + delta;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
