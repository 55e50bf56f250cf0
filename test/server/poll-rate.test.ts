import { describe, expect, it } from 'vitest';
import { settle } from '../support/engine.ts';
import { serve } from './peer.ts';
import { users } from './users.ts';

const forever = (): Promise<never> => new Promise(() => {});
const settings = { maxPollsPerSecond: 2, maxWaitingPolls: 3 };

/** A server with a task that works for ever, whose first burst of polls has been used up. */
async function hotPoller(log: string[] = []) {
  const served = serve((tasks) => tasks.registerTool('slow', {}, forever), { tasks: settings });
  const { taskId } = await served.peer.start('slow');
  for (let n = 0; n < 4; n += 1) expect((await served.peer.get(taskId)).result).toMatchObject({ status: 'working' });
  const poll = async (name: string) => {
    const reply = await served.peer.get(taskId);
    log.push(name);
    return reply;
  };
  return { ...served, taskId, poll, log };
}

describe('who polls faster than anybody needs', () => {
  it('is answered when its turn comes [G3-S-24]', async () => {
    const { poll, log, clock } = await hotPoller();
    const polls = [poll('first'), poll('second')];
    await settle();
    expect(log).toEqual([]);
    clock.advance(500);
    await polls[0];
    expect(log).toEqual(['first']);
    clock.advance(500);
    expect((await polls[1]!).result).toMatchObject({ status: 'working' });
  });

  it('hears of a change at once', async () => {
    const { poll, peer, taskId } = await hotPoller();
    const waiting = poll('waiting');
    await settle();
    await peer.cancel(taskId);
    expect((await waiting).result).toMatchObject({ status: 'cancelled' });
  });

  it("hears nothing of a change of somebody else's task [G3-S-58]", async () => {
    const served = serve((tasks) => tasks.registerTool('slow', {}, forever), { tasks: settings });
    const [ada, bob] = [users(served)('ada').peer, users(served)('bob').peer];
    const { taskId } = await ada.start('slow');
    for (let n = 0; n < 4; n += 1) expect((await bob.get(taskId)).error.code).toBe(-32602);
    let answered = false;
    const waiting = bob.get(taskId).finally(() => {
      answered = true;
    });
    await settle();
    await ada.cancel(taskId);
    await settle();
    expect(answered).toBe(false);
    served.clock.advance(500);
    expect((await waiting).error.code).toBe(-32602);
  });

  it('is refused once too many of its polls wait, and told when to come again', async () => {
    const { poll, peer, taskId, clock } = await hotPoller();
    const waiting = ['a', 'b', 'c'].map(poll);
    await settle();
    const refused = await peer.get(taskId);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(refused.error).toMatchObject({ code: -32603, data: { retryAfterMs: 2_000 } });
    expect((await peer.cancel(taskId)).result).toMatchObject({ resultType: 'complete' });
    await Promise.all(waiting);
    clock.advance(10_000);
    expect((await peer.get(taskId)).status).toBe(200);
  });

  it('keeps nobody else waiting, and learns nothing about other ids by it', async () => {
    const { poll, peer, clock } = await hotPoller();
    const waiting = poll('waiting');
    const other = await peer.start('slow');
    expect((await peer.get(other.taskId)).result).toMatchObject({ status: 'working' });
    for (let n = 0; n < 4; n += 1) expect((await peer.get('made-up')).error.code).toBe(-32602);
    let answered = false;
    const unknown = peer.get('made-up').finally(() => {
      answered = true;
    });
    await settle();
    expect(answered).toBe(false); // Slowed down like any other id.
    clock.advance(1_000);
    expect((await unknown).error.code).toBe(-32602);
    await waiting;
  });

  it('is nobody who honours the interval, which grows with the age of the task [G3-S-23]', async () => {
    const { peer, clock } = serve((tasks) => tasks.registerTool('slow', {}, forever), {
      tasks: { leaseMs: 3_600_000 },
    });
    const { taskId } = await peer.start('slow');
    const hints: number[] = [];
    for (let n = 0; n < 100; n += 1) {
      hints.push((await peer.get(taskId)).result['pollIntervalMs'] as number);
      clock.advance(hints.at(-1) as number);
    }
    expect(hints[0]).toBe(1_000);
    expect(hints.at(-1)).toBe(30_000);
    expect(hints).toEqual(hints.toSorted((a, b) => a - b));
  });
});
