import type { Chance } from './chance.ts';
import type { BellFaults } from './files.ts';
import type { ProcessSettings } from './sim-process.ts';

export const LEASE_MS = 3_000;

/**
 * What kind of run it is. A run in which everything happens a little sees less than many runs in which a few things
 * happen a lot, so each run leaves some things out and does others often.
 */
export interface Mood {
  settings: ProcessSettings;
  /** How often a store call waits before it begins, and before its answer is heard. */
  holdOdds: number;
  bells: BellFaults;
  /** How many things happen before the run calms down. */
  length: number;
  /** How much more likely it is that something that is ready happens than that something new is begun. */
  diligence: number;
  tasks: number;
  /** Factors for the weights of operations, by name. */
  factors: Map<string, number>;
}

export function someMood(chance: Chance): Mood {
  const troubledBells = chance.odds(0.2);
  return {
    settings: {
      slots: chance.pick([1, 2, 4]),
      leaseMs: LEASE_MS,
      holdInputMs: chance.pick([0, 400, 2_000]),
      sweepMs: chance.pick([500, 1_000, 2_000]),
      drainMs: chance.pick([0, 300]),
    },
    holdOdds: chance.pick([0, 0, 0.1, 0.4]),
    bells: troubledBells
      ? { lost: chance.pick([0, 0.3]), twice: chance.pick([0, 0.3]), late: chance.pick([0, 0.3]) }
      : { lost: 0, twice: 0, late: 0 },
    length: chance.int(30, 160),
    diligence: chance.pick([1, 3, 8]),
    tasks: chance.int(1, 5),
    factors: new Map(),
  };
}

/** Without these a run is about nothing. */
const ALWAYS = ['create', 'a moment', 'the next timer'];

/** The factor of an operation in this run, drawn when it is first asked for. */
export function factorOf(mood: Mood, name: string, chance: Chance): number {
  let factor = mood.factors.get(name);
  if (factor === undefined) {
    factor = ALWAYS.includes(name) ? chance.pick([1, 4]) : chance.pick([0, 1, 1, 4]);
    mood.factors.set(name, factor);
  }
  return factor;
}
