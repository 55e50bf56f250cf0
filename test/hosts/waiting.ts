import type { ManualClock } from '../../src/testing/index.ts';
import { pass, settle } from '../support/engine.ts';

/** Lets time pass, a second at a time, until there is an answer; returns it and how long it took. */
export async function answered<Answer>(
  clock: ManualClock,
  call: Promise<Answer>,
  limitMs = 900_000,
): Promise<{ answer: Answer; tookMs: number }> {
  const before = clock.monotonic();
  let over = false;
  const end = (): void => {
    over = true;
  };
  call.then(end, end);
  await settle();
  while (!over) {
    if (clock.monotonic() - before > limitMs) throw new Error(`no answer within ${limitMs} ms`);
    await pass(clock, 1_000);
  }
  return { answer: await call, tookMs: clock.monotonic() - before };
}
