import { Chance } from '../sim/chance.ts';
import { EPISODE, plan } from './plan.ts';
import type { Step } from './steps.ts';
import { type Target, targets } from './targets.ts';

/** Everything an episode is made of: the same gives the same. What is saved of a finding is one of these. */
export interface Case {
  /** Why it is kept: what it has found. */
  why?: string;
  /** The name of a target. */
  target: string;
  /** Of all that the server draws by chance. */
  seeds: readonly number[];
  steps: Step[];
}

/** The episode that message number `message` of a seed belongs to. */
export function episodeWith(message: number): number {
  return Math.floor(message / EPISODE);
}

/** How many episodes have at least so many messages. */
export function episodesFor(count: number): number {
  return Math.ceil(count / EPISODE);
}

export function episodeOf(seed: number, episode: number): Case {
  const chance = new Chance(seed, episode, 0);
  const target = chance.weighted(targets.map((one) => [one, one.weight] as const)) as Target;
  return { target: target.name, seeds: [seed, episode, 2], steps: plan(seed, episode, target) };
}

export function targetOf({ target }: Case): Target {
  const found = targets.find(({ name }) => name === target);
  if (found === undefined)
    throw new Error(`there is no target "${target}"; there are ${targets.map(({ name }) => name).join(', ')}`);
  return found;
}
