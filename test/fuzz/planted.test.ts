import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fuzzer } from './episode.ts';
import { episodeOf, targetOf } from './episodes.ts';
import { Memory } from './memory.ts';
import { plants } from './plants.ts';

/** Episodes in which a planted bug must show itself. */
const MAX_EPISODES = 25;

let fuzzer: Fuzzer;
beforeAll(() => {
  fuzzer = new Fuzzer();
});
afterAll(() => fuzzer.close());

// Fuzzing that finds nothing proves something only if it would find what is there to be found.
describe('fuzzing notices that', () => {
  it.each(plants)(
    '$name',
    async (plant) => {
      for (let episode = 0; episode < MAX_EPISODES; episode += 1) {
        const one = episodeOf(5, episode);
        const target = targetOf(one);
        if (target.serve === undefined || target.sockets) continue;
        const { findings } = await fuzzer.run(target, one.steps, one.seeds, plant);
        if (findings.some(({ broken }) => broken === plant.breaks)) return;
      }
      expect.fail(`not seen in ${MAX_EPISODES} episodes`);
    },
    60_000,
  );

  it('memory is not given back', () => {
    setFlagsFromString('--expose-gc');
    const before = globalThis.gc;
    globalThis.gc = runInNewContext('gc') as typeof globalThis.gc;
    const kept: number[][] = [];
    const told = (leaking: boolean): (string | undefined)[] => {
      const memory = new Memory(40);
      return Array.from({ length: 40 }, () => {
        if (leaking) kept.push(Array.from({ length: 200_000 }, (_, n) => n + 0.5));
        return memory.over();
      });
    };
    expect(told(false).filter(Boolean)).toEqual([]);
    expect(told(true).filter(Boolean)).toEqual([expect.stringMatching(/^the heap has grown by \d+ kB/)]);
    kept.length = 0;
    globalThis.gc = before as typeof globalThis.gc;
  });
});
