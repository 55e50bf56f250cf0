import { expect, it } from 'vitest';
import { untilNext } from '../../src/core/index.ts';
import { ManualClock } from '../../src/testing/index.ts';

it.each([
  [0, 250],
  [1, 249],
  [249.5, 251], // Fired early: not once more half a millisecond later.
  [250, 250],
  [1_100, 150],
])('what happens every 250 ms happens, at %d ms, in %d ms', (at, next) => {
  const clock = new ManualClock();
  clock.advance(at);
  expect(untilNext(250, clock)).toBe(next);
});
