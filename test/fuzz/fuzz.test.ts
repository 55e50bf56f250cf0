import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fuzzer } from './episode.ts';
import { episodeOf, targetOf } from './episodes.ts';

let fuzzer: Fuzzer;
beforeAll(() => {
  fuzzer = new Fuzzer();
});
afterAll(() => fuzzer.close());

const run = (seed: number, episode: number) => {
  const one = episodeOf(seed, episode);
  return fuzzer.run(targetOf(one), one.steps, one.seeds);
};

/** Episodes of a seed that happen within this process, without any sockets. */
const within = (seed: number, count: number): number[] =>
  Array.from({ length: 4 * count }, (_, episode) => episode)
    .filter((episode) => {
      const { serve, sockets } = targetOf(episodeOf(seed, episode));
      return serve !== undefined && sockets === undefined;
    })
    .slice(0, count);

// `npm run fuzz` sends many more; these few keep the fuzzing itself honest.
describe('fuzzing', () => {
  it('sends the same messages for the same seed, and others for others', () => {
    expect(episodeOf(7, 3)).toEqual(episodeOf(7, 3));
    const steps = [0, 1, 2, 3].map((seed) => JSON.stringify(episodeOf(seed, 0).steps));
    expect(new Set(steps).size).toBe(steps.length);
  });

  it('sees the same answers again, to the letter', async () => {
    for (const episode of within(7, 2)) {
      const first = await run(7, episode);
      const second = await run(7, episode);
      expect(second.trace).toEqual(first.trace);
    }
  });

  it('finds nothing wrong within this process: P9, P12, P14', async () => {
    for (const episode of within(1, 4)) expect((await run(1, episode)).findings).toEqual([]);
  }, 60_000);

  it.each(['a listener', 'a server on stdio'])(
    'finds nothing wrong with %s',
    async (name) => {
      const episode = Array.from({ length: 200 }, (_, n) => n).find((n) => episodeOf(1, n).target === name);
      expect((await run(1, episode ?? 0)).findings).toEqual([]);
    },
    60_000,
  );
});
