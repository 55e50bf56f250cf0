import { describe, expect, it } from 'vitest';
import { RemoteUnreachableError } from '../../src/client/index.ts';
import { POLL_LIMITS, pollDelayMs } from '../../src/client/poll-delay.ts';
import { retryReadDelayMs, systemRandom } from '../../src/core/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { type aRemoteTask, completed, never } from './scripted-remote.ts';
import { pass, settled, stage } from './support.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

describe('the time to the next poll', () => {
  const delay = (hintMs: unknown, ageMs = 0, pushed = false) =>
    pollDelayMs({ hintMs, ageMs, pushed }, POLL_LIMITS, systemRandom);

  it('is never under what the server asked for, and a fifth over it at most [C-065] [G2-C-09] [G3-C-05]', () => {
    const delays = Array.from({ length: 500 }, () => delay(5 * SECOND));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(5 * SECOND);
    expect(Math.max(...delays)).toBeLessThanOrEqual(6 * SECOND);
    expect(new Set(delays).size).toBeGreaterThan(100);
  });

  it('is a second growing to five where the server says nothing [EC-32]', () => {
    expect(delay(undefined)).toBeLessThanOrEqual(1_200);
    expect(delay(undefined)).toBeGreaterThanOrEqual(SECOND);
    expect(delay(undefined, 10 * MINUTE)).toBeGreaterThanOrEqual(5 * SECOND);
    expect(delay(undefined, 10 * MINUTE)).toBeLessThanOrEqual(6 * SECOND);
  });

  it('grows with age to half a minute', () => {
    expect(delay(SECOND, MINUTE)).toBeGreaterThanOrEqual(6 * SECOND);
    expect(delay(SECOND, 10 * MINUTE)).toBeLessThanOrEqual(36 * SECOND);
    expect(delay(2 * MINUTE, 10 * MINUTE)).toBeGreaterThanOrEqual(2 * MINUTE);
  });

  it('is half a minute at least where the server pushes', () => {
    expect(delay(SECOND, 0, true)).toBeGreaterThanOrEqual(30 * SECOND);
  });

  it.each([0, -1, 0.001, 1e12, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, '5000', null, {}])(
    'is between half a second and an hour and a bit for the hint %o [C-066]',
    (hint) => {
      expect(delay(hint)).toBeGreaterThanOrEqual(500);
      expect(delay(hint)).toBeLessThanOrEqual(72 * MINUTE);
    },
  );

  it('doubles from failure to failure up to a minute, and is never under what the server asked for [EC-31]', () => {
    expect(
      [1, 2, 3, 20].map((failures) => Math.floor(retryReadDelayMs(failures, undefined, systemRandom) / 1.2)),
    ).toEqual(
      [1, 2, 4, 60].map((seconds) =>
        expect.toSatisfy((ms: number) => ms <= seconds * SECOND && ms >= (seconds * SECOND) / 1.3),
      ),
    );
    expect(retryReadDelayMs(1, 90 * SECOND, systemRandom)).toBeGreaterThanOrEqual(90 * SECOND);
    expect(retryReadDelayMs(1, 1e15, systemRandom)).toBeLessThanOrEqual(60 * MINUTE);
  });
});

describe('polling', () => {
  it('follows the newest hint: five seconds, then twenty, then none [C-065] [G3-C-05] [G2-C-09]', async () => {
    const { server, remote, clock } = await stage();
    remote.onStart = (request) => ({ kind: 'task', task: remote.newTask(request, { pollIntervalMs: 5 * SECOND }) });
    await server.callTool({ name: 'x' });
    await pass(clock, 30 * SECOND);
    const early = remote.times('get');
    expect(early.length).toBeGreaterThanOrEqual(4);
    remote.change('task-1', { pollIntervalMs: 20 * SECOND });
    await pass(clock, 90 * SECOND);
    const late = remote.times('get').slice(early.length);
    const { pollIntervalMs: _, ...unhinted } = remote.task('task-1');
    remote.tasks.set('task-1', unhinted);
    await pass(clock, 60 * SECOND);
    const last = remote.times('get').slice(early.length + late.length);
    const gaps = (times: number[]) => times.slice(1).map((at, index) => at - (times[index] as number));
    expect(Math.min(...gaps([0, ...early]))).toBeGreaterThanOrEqual(5 * SECOND);
    expect(Math.min(...gaps(late))).toBeGreaterThanOrEqual(20 * SECOND);
    expect(Math.max(...gaps(last.slice(1)))).toBeLessThanOrEqual(6 * SECOND + 100);
  });

  it('does not bring fifty calls into step [C-065]', async () => {
    const { server, remote, clock } = await stage({ maxInFlight: 50 });
    remote.onStart = (request) => ({ kind: 'task', task: remote.newTask(request, { pollIntervalMs: 5 * SECOND }) });
    await Promise.all(Array.from({ length: 50 }, () => server.callTool({ name: 'x' })));
    await pass(clock, 60 * SECOND, 50);
    const perSlice = new Map<number, number>();
    for (const at of remote.times('get')) perSlice.set(at, (perSlice.get(at) ?? 0) + 1);
    expect(Math.max(...perSlice.values())).toBeLessThan(15);
    for (let n = 1; n <= 50; n += 1) {
      const times = remote.times('get', `task-${n}`);
      for (const [index, at] of times.slice(1).entries())
        expect(at - (times[index] as number)).toBeGreaterThanOrEqual(5_000);
    }
  });

  it('asks nothing more of a task that is over: a hundred of them [C-064] [G3-C-06]', async () => {
    const { server, remote, clock } = await stage({ maxInFlight: 100 });
    const calls = await Promise.all(Array.from({ length: 100 }, () => server.callTool({ name: 'x' })));
    for (let n = 1; n <= 100; n += 1) {
      await pass(clock, 100);
      remote.finish(`task-${n}`);
    }
    await pass(clock, 20 * SECOND);
    await Promise.all(calls.map((call) => call.result()));
    for (let n = 1; n <= 100; n += 1) {
      const answers = remote.asked.filter(({ method, taskId }) => method === 'get' && taskId === `task-${n}`);
      expect(answers.at(-1)?.at).toBeLessThan(20 * SECOND);
    }
    const asked = remote.asked.length;
    await pass(clock, MINUTE);
    expect(remote.asked.length).toBe(asked);
  });

  it('finishes whatever the hint is, at two requests a second at most [C-066]', async () => {
    const { server, remote, clock } = await stage({ maxPollMs: 10 * SECOND });
    const hints = [0, -1, 0.001, 1e12, 2 ** 31, Number.NaN, '5000', null];
    const ids: string[] = [];
    remote.onStart = (request) => {
      const task = remote.newTask(request, { pollIntervalMs: hints[remote.runs] as number });
      ids.push(task.taskId);
      return { kind: 'task', task };
    };
    const calls = await Promise.all(hints.map(() => server.callTool({ name: 'x' })));
    await pass(clock, 13 * SECOND);
    for (const id of ids) {
      expect(remote.times('get', id).length).toBeGreaterThanOrEqual(1);
      expect(remote.times('get', id).length).toBeLessThanOrEqual(26);
      remote.finish(id);
    }
    await pass(clock, 13 * SECOND);
    for (const call of calls) expect((await call.refresh()).end?.kind).toBe('completed');
  });

  it('leaves a server alone as long as it asks for, with all calls [EC-31]', async () => {
    const { server, remote, clock } = await stage();
    const first = await server.callTool({ name: 'x' });
    const second = await server.callTool({ name: 'y' });
    await settled();
    let busy = true;
    remote.onGet = (taskId) => {
      if (!busy) return remote.task(taskId);
      throw new RemoteUnreachableError('429 Too Many Requests', { mayHaveRun: false, retryAfterMs: 45 * SECOND });
    };
    await pass(clock, 2 * SECOND);
    const told = remote.times('get')[0] as number;
    const before = remote.asked.length;
    busy = false;
    const third = await server.callTool({ name: 'z' });
    await pass(clock, 44 * SECOND - (clock.monotonic() - told));
    expect(remote.asked.length).toBe(before);
    expect((await third.refresh()).phase).toBe('intended'); // Not sent: a crash now would leave no doubt about it.
    // Whichever asked first was told; the other only waits.
    const since = [await first.refresh(), await second.refresh()].flatMap((state) => state.unreachableSince ?? []);
    expect(since.length).toBeGreaterThanOrEqual(1);
    await pass(clock, 20 * SECOND);
    expect(remote.count('start')).toBe(3);
    for (const call of [first, second]) expect((await call.refresh()).unreachableSince).toBeUndefined();
  });

  it('keeps the handle while the server is away for ten minutes, says since when, and goes on [C-040]', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'render' });
    await pass(clock, 5 * SECOND);
    let away = true;
    remote.onGet = (taskId) => {
      if (!away) return remote.task(taskId);
      throw new RemoteUnreachableError('connect ECONNREFUSED', { mayHaveRun: false });
    };
    const left = clock.now();
    const before = remote.count('get');
    await pass(clock, 10 * MINUTE);
    expect(remote.count('get') - before).toBeLessThan(25);
    const { unreachableSince } = await call.refresh();
    expect(unreachableSince).toBeGreaterThanOrEqual(left);
    expect(unreachableSince).toBeLessThan(left + 3 * SECOND);
    away = false;
    remote.finish('task-1');
    await pass(clock, 2 * MINUTE);
    expect(await call.result()).toMatchObject({ content: [{ text: 'done' }] });
    expect([remote.runs, remote.count('start')]).toEqual([1, 1]);
  });

  it('says lost where the server came back with an empty store, and starts nothing again [C-040]', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'render' });
    await pass(clock, 5 * SECOND);
    remote.tasks.clear();
    await pass(clock, 5 * SECOND);
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_LOST' });
    expect(remote.count('start')).toBe(1);
  });

  it('gives a poll up that is never answered, and keeps asking', async () => {
    const { server, remote, clock } = await stage();
    const call = await server.callTool({ name: 'x' });
    await settled();
    remote.onGet = (taskId, signal) => (remote.count('get') < 2 ? never(signal) : remote.task(taskId));
    remote.finish('task-1');
    await pass(clock, 2 * MINUTE);
    expect(await call.result()).toMatchObject({ content: [{ text: 'done' }] });
  });

  it('has only so many requests on their way to one server, and a dead one delays nobody else [C-068]', async () => {
    const { client, server, remote, clock } = await stage({ maxInFlight: 3 });
    const other = (await stage({ clock })).remote;
    other.onStart = () => ({ kind: 'immediate', outcome: completed('quick') });
    const quick = await client.connect('other', { remote: () => other });
    let inFlight = 0;
    let most = 0;
    remote.onGet = (_, signal) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      return never(signal).finally(() => (inFlight -= 1));
    };
    await Promise.all(Array.from({ length: 20 }, () => server.callTool({ name: 'stuck' })));
    await pass(clock, 10 * SECOND);
    expect(most).toBe(3);
    const results = await Promise.all(Array.from({ length: 20 }, () => quick.callTool({ name: 'quick' })));
    for (const call of results) expect(await call.result()).toMatchObject({ content: [{ text: 'quick' }] });
  });

  it('takes what a server pushes, and goes on polling as the net [G2-C-15] [G2-C-16] [G3-C-19]', async () => {
    let push = (_: ReturnType<typeof aRemoteTask>): void => {};
    const watched: (readonly string[])[] = [];
    const { server, remote, clock } = await stage({
      prepare: (remote) => {
        remote.watch = (ids, onTask, onPushed) => {
          watched.push(ids);
          push = onTask;
          onPushed(new Set(ids));
          return () => {};
        };
      },
    });
    const told = await server.callTool({ name: 'x' });
    const untold = await server.callTool({ name: 'y' });
    await pass(clock, 2 * SECOND);
    expect(watched.at(-1)).toEqual(['task-1', 'task-2']);
    push(remote.finish('task-1', 'pushed'));
    await settled();
    expect(await told.result()).toMatchObject({ content: [{ text: 'pushed' }] });
    expect(remote.times('get', 'task-1').length).toBeLessThanOrEqual(1);
    remote.finish('task-2', 'polled');
    await pass(clock, 40 * SECOND);
    expect(await untold.result()).toMatchObject({ content: [{ text: 'polled' }] });
    expect(watched.at(-1)).toEqual(['task-2']);
  });

  it('shows since when a task has said nothing new, and warns of it once [C-069]', async () => {
    const { logger, lines } = recordingLogger();
    const { server, remote, clock } = await stage({ logger, stuckAfterMs: 120 * SECOND });
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 60 * SECOND, 500);
    remote.change('task-1', { progress: { progress: 1 } });
    await pass(clock, 10 * SECOND, 500);
    const heardAt = clock.now();
    await pass(clock, 100 * SECOND, 500);
    expect((await call.refresh()).silentSince).toBeUndefined();
    await pass(clock, 60 * SECOND, 500);
    const { silentSince } = await call.refresh();
    expect(silentSince).toBeGreaterThan(heardAt - 10 * SECOND);
    expect(silentSince).toBeLessThanOrEqual(heardAt);
    await pass(clock, 60 * SECOND, 500);
    const warned = lines.filter(({ message }) => message === 'the task of a call says nothing any more');
    expect(warned.map(({ level }) => level)).toEqual(['warn']);
    remote.change('task-1', { statusMessage: 'here again' });
    await pass(clock, 60 * SECOND, 500);
    expect((await call.refresh()).silentSince).toBeUndefined();
    expect(call.state.phase).toBe('following'); // It is shown, and left alone.
  });

  it('polls as often as ever what the server does not say it pushes, or pushes no more [G3-C-19]', async () => {
    let grant = (_: ReadonlySet<string>): void => {};
    const { server, remote, clock } = await stage({
      prepare: (remote) => {
        remote.watch = (_ids, _onTask, onPushed) => {
          grant = onPushed;
          return () => {};
        };
      },
    });
    await server.callTool({ name: 'x' });
    await server.callTool({ name: 'y' });
    await pass(clock, SECOND);
    grant(new Set(['task-1']));
    await pass(clock, 10 * SECOND);
    expect(remote.times('get', 'task-1').length).toBeLessThanOrEqual(2);
    expect(remote.times('get', 'task-2').length).toBeGreaterThanOrEqual(6);
    const before = remote.times('get', 'task-1').length;
    grant(new Set());
    await pass(clock, 5 * SECOND); // What passed unheard is asked for, not left to the net.
    expect(remote.times('get', 'task-1').length).toBeGreaterThan(before);
    await pass(clock, 20 * SECOND);
    expect(remote.times('get', 'task-1').length - before).toBeGreaterThanOrEqual(3);
  });

  it('tells a server of its followed tasks the more seldom the more there are', async () => {
    const watched: (readonly string[])[] = [];
    const { server, clock } = await stage({
      prepare: (remote) => {
        remote.watch = (ids) => {
          watched.push(ids);
          return () => {};
        };
      },
    });
    for (let n = 1; n <= 1_000; n += 1) {
      await server.callTool({ name: 'x' });
      await pass(clock, 10);
    }
    await pass(clock, SECOND);
    expect(watched.at(-1)).toHaveLength(1_000);
    expect(watched.flat().length).toBeLessThan(100_000);
  }, 60_000);

  it('believes no older news, and no news after the end [EC-34]', async () => {
    let push = (_: ReturnType<typeof aRemoteTask>): void => {};
    const { server, remote, clock } = await stage({
      prepare: (remote) => {
        remote.watch = (_ids, onTask) => {
          push = onTask;
          return () => {};
        };
      },
    });
    const call = await server.callTool({ name: 'x' });
    await pass(clock, 500);
    push(remote.change('task-1', { statusMessage: 'new', updatedAt: 2_000 }));
    await settled();
    push(remote.change('task-1', { statusMessage: 'old', updatedAt: 1_000 }));
    await settled();
    expect((await call.refresh()).statusMessage).toBe('new');
    push(remote.finish('task-1'));
    await call.result();
    push(remote.change('task-1', { status: 'working', updatedAt: 9_000 }));
    await settled();
    expect((await call.refresh()).end?.kind).toBe('completed');
  });
});
