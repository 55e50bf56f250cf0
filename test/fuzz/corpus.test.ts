import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fuzzer } from './episode.ts';
import { type Case, targetOf } from './episodes.ts';

const folder = join(import.meta.dirname, 'corpus');
const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, ...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case) }));

let fuzzer: Fuzzer;
beforeAll(() => {
  fuzzer = new Fuzzer();
});
afterAll(() => fuzzer.close());

// What fuzzing has found once, in as few messages as it takes.
describe('what was found by fuzzing stays away', () => {
  it.each(cases)('$file', async (one) => {
    expect(one.why).toEqual(expect.stringMatching(/\w/));
    const { findings } = await fuzzer.run(targetOf(one), one.steps, one.seeds);
    expect(findings).toEqual([]);
  });
});
