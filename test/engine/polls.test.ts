import { describe, expect, it } from 'vitest';
import { RateLimitedError } from '../../src/core/index.ts';
import { Polls } from '../../src/engine/polls.ts';
import { ManualClock } from '../../src/testing/index.ts';

const alice = { subject: 'alice' };
const unwatched = () => () => {};

describe('the limit on polls', () => {
  it('costs bounded memory, however many tasks are asked for', async () => {
    const polls = new Polls(new ManualClock(), { maxPollsPerSecond: 1, maxWaitingPolls: 1 });
    for (let n = 0; n < 50_000; n += 1) await polls.admit(`made-up ${n}`, alice, unwatched);
    expect(polls.size).toBeLessThanOrEqual(10_000);
  });

  it('leaves nothing behind when the requestor hangs up', async () => {
    const clock = new ManualClock();
    const polls = new Polls(clock, { maxPollsPerSecond: 1, maxWaitingPolls: 1 });
    for (let n = 0; n < 2; n += 1) await polls.admit('t', alice, unwatched);
    const hangUp = new AbortController();
    let watched = 0;
    const watch = () => {
      watched += 1;
      return () => {
        watched -= 1;
      };
    };
    const waiting = polls.admit('t', alice, watch, hangUp.signal);
    await expect(polls.admit('t', alice, watch)).rejects.toThrow(RateLimitedError);
    await expect(polls.admit('t', { subject: 'bob' }, watch)).resolves.toBeUndefined();
    expect(watched).toBe(1);
    hangUp.abort();
    await waiting;
    expect({ watched, timers: clock.pendingTimers }).toEqual({ watched: 0, timers: 0 });
  });
});
