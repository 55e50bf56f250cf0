import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Simulator } from './simulate.ts';
import { tail } from './trace.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await Simulator.open();
});
afterAll(() => simulator.close());

// `npm run sim` runs many more; these few keep the simulation itself honest.
describe('the simulation', () => {
  it('replays a run from its seed, to the letter', async () => {
    for (let run = 0; run < 15; run += 1) {
      const first = await simulator.run(7, run);
      const second = await simulator.run(7, run);
      expect(second.trace).toEqual(first.trace);
    }
  });

  it('sees a different run for each seed', async () => {
    const hashes = [];
    for (let seed = 0; seed < 5; seed += 1) hashes.push((await simulator.run(seed, 0)).hash);
    expect(new Set(hashes).size).toBe(5);
  });

  it('finds the promises kept: P1 to P5, P8 to P11', async () => {
    for (let run = 0; run < 100; run += 1) {
      const { violations, trace } = await simulator.run(1, run);
      expect(violations, tail(trace, 60).join('\n')).toEqual([]);
    }
  }, 60_000);
});
