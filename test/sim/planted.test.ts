import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plants } from './plants.ts';
import { Simulator } from './simulate.ts';

/** Runs in which a planted bug must show itself. */
const MAX_RUNS = 600;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await Simulator.open();
});
afterAll(() => simulator.close());

// A simulation that finds nothing proves something only if it would find what is there to be found.
describe('the simulation notices that', () => {
  it.each(plants)(
    '$name',
    async (plant) => {
      for (let run = 0; run < MAX_RUNS; run += 1) {
        const { violations } = await simulator.run(2, run, plant);
        if (violations.some(({ promise }) => plant.breaks.includes(promise))) return;
      }
      expect.fail(`not seen in ${MAX_RUNS} runs`);
    },
    60_000,
  );
});
