import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CallCancelledError,
  CallDetachedError,
  CallFailedError,
  type CallGroup,
  type GroupProgress,
  openTaskClient,
} from '../../src/client/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { completed, never, ScriptedRemote } from './scripted-remote.ts';
import { journalFile, pass, settled, stage, unread } from './support.ts';

const several = (count: number, name = 'work') =>
  Array.from({ length: count }, (_, n) => ({ server: 'ci', name, arguments: { n } }));

const textOf = ({ content }: { content?: unknown }) => (content as { text: string }[])[0]?.text;

/** Tasks are over as soon as they are polled for the second time. */
function working(remote: ScriptedRemote): void {
  const polls = new Map<string, number>();
  remote.onGet = (taskId) => {
    polls.set(taskId, (polls.get(taskId) ?? 0) + 1);
    return (polls.get(taskId) ?? 0) > 1 ? remote.finish(taskId, taskId) : remote.task(taskId);
  };
}

/** Lets time go by until the group is over. */
async function over(group: CallGroup, clock: ManualClock): Promise<void> {
  for (let round = 0; round < 1_000; round += 1) {
    const { waiting, running } = await group.progress();
    if (waiting + running === 0) return;
    await pass(clock, 500);
  }
  throw new Error('the group goes on');
}

describe('several calls at once', () => {
  it('give their results in the order in which they were asked for', async () => {
    const { client, remote, clock } = await stage({ prepare: working });
    const all = client.all(several(5));
    await pass(clock, 5_000);
    expect((await all).map(textOf)).toEqual(['task-1', 'task-2', 'task-3', 'task-4', 'task-5']);
    expect(remote.runs).toBe(5);
  });

  it('are under way no more than so many at a time', async () => {
    const { client, remote, clock } = await stage();
    const open = new Set<string>();
    let most = 0;
    remote.onStart = (request) => {
      const task = remote.newTask(request);
      open.add(task.taskId);
      most = Math.max(most, open.size);
      return { kind: 'task', task };
    };
    remote.onGet = (taskId) => {
      open.delete(taskId);
      return remote.finish(taskId);
    };
    const group = await client.callAll(several(50), { concurrency: 7 });
    await settled();
    expect(await group.progress()).toMatchObject({ total: 50, waiting: 43, running: 7, completed: 0, fraction: 0 });
    await over(group, clock);
    expect([most, remote.runs]).toEqual([7, 50]);
    expect(await group.progress()).toMatchObject({ waiting: 0, running: 0, completed: 50, fraction: 1 });
  });

  it('tell how far they are, all together', async () => {
    const { client, remote, clock } = await stage();
    const group = await client.callAll(several(4));
    await settled();
    remote.change('task-1', { progress: { progress: 1, total: 2 } });
    remote.change('task-2', { status: 'input_required' });
    remote.finish('task-3');
    remote.change('task-4', {
      status: 'completed',
      outcome: { status: 'completed', result: { isError: true, content: [] } },
    });
    const told: GroupProgress[] = [];
    const reading = (async () => {
      for await (const progress of group.updates()) told.push(progress);
    })();
    await pass(clock, 2_000);
    expect(told.at(-1)).toEqual({
      total: 4,
      waiting: 0,
      running: 2,
      asking: 1,
      completed: 1,
      failed: 1,
      cancelled: 0,
      fraction: 0.625,
    });
    await group.cancel();
    await pass(clock, 2_000);
    await reading;
    expect(told.at(-1)).toMatchObject({ completed: 1, failed: 1, cancelled: 2, fraction: 1 });
  });

  it('are told one by one as they end', async () => {
    const { client, remote, clock } = await stage();
    const group = await client.callAll(several(3));
    const told: unknown[] = [];
    const reading = (async () => {
      for await (const { index, end } of group.ends()) told.push([index, end.kind]);
    })();
    await settled();
    for (const n of [2, 3, 1]) {
      remote.finish(`task-${n}`);
      await pass(clock, 2_000);
    }
    await reading;
    expect(told).toEqual([
      [1, 'completed'],
      [2, 'completed'],
      [0, 'completed'],
    ]);
    expect((await group.settled()).map(({ kind }) => kind)).toEqual(['completed', 'completed', 'completed']);
  });

  it('go on when one of them fails, or are cancelled, as their caller wants', async () => {
    for (const cancelRest of [false, true]) {
      const { client, remote, clock } = await stage();
      const group = await client.callAll(several(3));
      const results = group.results({ cancelRest });
      results.catch(() => {});
      await settled();
      remote.change('task-2', {
        status: 'failed',
        outcome: { status: 'failed', error: { code: -1, message: 'boom' } },
      });
      await pass(clock, 3_000);
      await expect(results).rejects.toThrow(CallFailedError);
      await pass(clock, 3_000);
      const { running, cancelled } = await group.progress();
      expect([running, cancelled]).toEqual(cancelRest ? [0, 2] : [2, 0]);
    }
  });

  it('that wait for their turn are cancelled without ever being sent', async () => {
    const { client, remote, clock } = await stage();
    const group = await client.callAll(several(10), { concurrency: 2 });
    await settled();
    await group.cancel();
    await over(group, clock);
    expect((await group.progress()).cancelled).toBe(10);
    expect(remote.count('start')).toBe(2);
  });

  it('may wait for their turn longer than they may live', async () => {
    const { client, remote, clock } = await stage();
    const calls = several(2).map((call) => ({ ...call, ttlMs: 60_000 }));
    const group = await client.callAll(calls, { concurrency: 1 });
    await pass(clock, 90_000, 5_000);
    remote.finish('task-1');
    await pass(clock, 60_000, 5_000);
    remote.finish('task-2');
    await over(group, clock);
    expect((await group.progress()).completed).toBe(2);
  });

  it('that were made before can be waited for together with new ones', async () => {
    const { client, server, remote, clock } = await stage({ prepare: working });
    const before = await server.callTool({ name: 'before' });
    await remote.until('start', 1);
    const all = client.all([...several(1), before]);
    await pass(clock, 5_000);
    expect((await all).map(textOf)).toEqual(['task-2', 'task-1']);
  });

  it('are none if one of them is none, and the error says which', async () => {
    const { client, remote } = await stage();
    const [good] = several(1) as [ReturnType<typeof several>[number]];
    await expect(client.callAll([good, { ...good, server: 'elsewhere' }])).rejects.toThrow(
      'calls[1].server: "elsewhere" is not connected',
    );
    await expect(client.callAll([good, good, { ...good, name: '' }])).rejects.toThrow("calls[2].name: a tool's name");
    await expect(client.callAll([good], { concurrency: 0 })).rejects.toThrow('concurrency: a whole number');
    expect(await client.calls()).toEqual([]);
    expect(remote.count('start')).toBe(0);
  });

  it('of which there are none are over', async () => {
    const { client } = await stage();
    expect(await client.all([])).toEqual([]);
    expect(await (await client.callAll([])).progress()).toMatchObject({ total: 0, fraction: 1 });
  });

  it('are left to go on when their time to wait is over', async () => {
    const { client, clock } = await stage();
    const group = await client.callAll(several(2), { timeoutMs: 5_000 });
    await pass(clock, 6_000);
    await expect(group.calls[0]?.result()).rejects.toThrow(CallDetachedError);
    expect((await group.progress()).running).toBe(2);
  });

  it('are cancelled together by one signal', async () => {
    const { client, clock } = await stage();
    const stop = new AbortController();
    const all = client.all(several(3), { signal: stop.signal });
    all.catch(() => {});
    await settled();
    stop.abort();
    await pass(clock, 3_000);
    await expect(all).rejects.toThrow(CallCancelledError);
  });

  it('are not delayed by a server that is slow, or dead', async () => {
    const clock = new ManualClock();
    const client = await openTaskClient({ journal: ':memory:', clock });
    onTestFinished(() => client.close());
    const dead = new ScriptedRemote(clock);
    dead.onGet = (_taskId, signal) => never(signal);
    const quick = new ScriptedRemote(clock);
    quick.onGet = (taskId) => quick.finish(taskId);
    await client.connect('dead', { remote: () => dead });
    await client.connect('quick', { remote: () => quick });
    const calls = Array.from({ length: 40 }, (_, n) => ({ server: n % 2 === 0 ? 'dead' : 'quick', name: 'x' }));
    const group = await client.callAll(calls, { concurrency: Number.POSITIVE_INFINITY });
    await pass(clock, 3_000);
    expect(await group.progress()).toMatchObject({ running: 20, completed: 20 });
  });
});

describe('a group, after a restart', () => {
  it('goes on where it was, as many at a time as before, and nothing is sent twice', async () => {
    const journal = journalFile();
    const first = await stage({ journal });
    const { clock, remote } = first;
    const { id = '' } = await first.client.callAll(several(10), { concurrency: 3 });
    await settled();
    expect(remote.count('start')).toBe(3);
    await first.client.close();

    working(remote);
    const second = await openTaskClient({ journal, clock });
    onTestFinished(() => second.close());
    await second.connect('ci', { remote: () => remote });
    const group = await second.group(id);
    await settled();
    expect(remote.count('start')).toBe(3);
    expect(await group.progress()).toMatchObject({ total: 10, waiting: 7, running: 3 });
    await over(group, clock);
    expect(await group.progress()).toMatchObject({ completed: 10 });
    expect([remote.runs, remote.count('start')]).toEqual([10, 10]);
    expect((await group.results()).map(textOf)).toEqual(Array.from({ length: 10 }, (_, n) => `task-${n + 1}`));
    expect(await unread(second)).toHaveLength(10);
    await group.acknowledge();
    expect(await unread(second)).toEqual([]);
    await expect(second.group('group_none')).rejects.toThrow('group_none');
  });
});

describe('a race of calls', () => {
  it('is won by the first result, and the others are cancelled', async () => {
    const { client, remote, clock } = await stage();
    const race = client.race(several(3));
    await settled();
    remote.finish('task-2');
    await pass(clock, 3_000);
    const { call, result } = await race;
    expect(textOf(result)).toBe('done');
    await pass(clock, 3_000);
    const ends = await Promise.all(
      (await client.calls()).map(async ({ id, state }) => [id === call.id, state.end?.kind]),
    );
    expect(ends).toEqual([
      [false, 'cancelled'],
      [true, 'completed'],
      [false, 'cancelled'],
    ]);
  });

  it('leaves the others alone where its caller wants them to go on', async () => {
    const { client, remote, clock } = await stage();
    const race = client.race(several(2), { losers: 'leave' });
    await settled();
    remote.finish('task-1');
    await pass(clock, 3_000);
    await race;
    await pass(clock, 3_000);
    expect(await client.calls({ open: true })).toHaveLength(1);
  });

  it('is not won by a failure while another may do better', async () => {
    const { client, remote } = await stage();
    remote.onStart = ({ arguments: { n } }) => {
      if (n === 0) return { kind: 'immediate', outcome: { status: 'failed', error: { code: -1, message: 'boom' } } };
      if (n === 1)
        return { kind: 'immediate', outcome: { status: 'completed', result: { isError: true, content: [] } } };
      return { kind: 'immediate', outcome: completed('good') };
    };
    expect(textOf((await client.race(several(3))).result)).toBe('good');
    expect((await client.race(several(2))).result).toEqual({ isError: true, content: [] });
    await expect(client.race(several(1))).rejects.toMatchObject({ errors: [{ code: 'CALL_FAILED', message: 'boom' }] });
  });
});
