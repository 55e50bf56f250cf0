// What happens between real processes on one database: who takes over, who wakes whom, and how one ends.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { machineTime } from '../chaos/ledger.ts';
import { until } from './processes.ts';
import { lives, refuses, Site, type Worker } from './support-processes/processes.ts';

/** Far beyond what anything here takes, and far below what it would take if it did not work. */
const SOON_MS = 10_000;
/** For what must not be found by looking from time to time. */
const NEVER_SWEEP = { sweepMs: 3_600_000 };
const QUICK_LEASE = { leaseMs: 600, sweepMs: 100, stopGraceMs: 100 };

const says = (text: string) => ({ result: { content: [{ type: 'text', text }] } });
const walked = (first: Worker, rest: Worker) =>
  says(`first by ${first.pid}, second by ${rest.pid}, third by ${rest.pid}`);

describe('a worker that is killed', { timeout: 60_000 }, () => {
  it('loses its task to another one at once, not when its lease is over', async () => {
    const site = new Site();
    const first = await site.start('work');
    const { taskId } = await site.front.call('walk', { gate: 'go' });
    await site.noted(taskId, 'began', first, 'second');
    const second = await site.start('work');
    const { lease } = await site.tasks.inspect.get(taskId as never);
    expect(lease?.until).toBeGreaterThan(Date.now() + SOON_MS);
    const killedAt = machineTime();
    await first.kill();
    const taken = await site.noted(taskId, 'started', second);
    expect(taken.at - killedAt).toBeLessThan(SOON_MS);
    expect(taken.attempt).toBe(2);
    site.open('go');
    expect(await site.over(taskId)).toMatchObject({ status: 'completed', ...walked(first, second) });
    expect(site.begun(taskId)).toEqual({ first: 1, second: 2, third: 1 });
  });

  it('is known to be dead by its lock file, which only its owner may read, and which goes with it', async () => {
    const site = new Site();
    const folder = `${site.database}.workers`;
    const lockOf = ({ pid }: Worker) =>
      readdirSync(folder).find((name) => decodeURIComponent(name).includes(`:${pid}:`));
    const first = await site.start('work');
    const { taskId } = await site.front.call('once', { gate: 'never' });
    await site.noted(taskId, 'started', first);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, lockOf(first) ?? 'none')).mode & 0o777).toBe(0o600);
    await first.kill();
    expect(await site.over(taskId)).toMatchObject({ status: 'failed' });
    expect(lockOf(first)).toBeUndefined();

    const server = await site.start('http', { drainMs: 0 });
    expect(lockOf(server)).toBeDefined();
    server.child.kill('SIGTERM');
    await server.ended;
    expect(lockOf(server)).toBeUndefined();
  });

  it('again and again by one task takes no other down for good', async () => {
    const site = new Site();
    const poison = await site.front.call('poison', {});
    const walk = await site.front.call('walk', { gate: 'go' });
    const quick = await Promise.all(Array.from({ length: 5 }, () => site.front.call('quick', {})));
    for (let victims = 0; victims < 2; victims += 1) expect(await (await site.start('work')).ended).toBe('SIGABRT');
    await site.start('work');
    const dead = await site.over(poison.taskId);
    const lost = { outcome: 'lost', startedAt: expect.any(String), endedAt: expect.any(String) };
    expect(dead).toMatchObject({
      status: 'failed',
      error: {
        message: expect.stringContaining('no attempts are left (maxAttempts)'),
        data: {
          attempts: [
            { attempt: 1, ...lost },
            { attempt: 2, ...lost },
          ],
        },
      },
    });
    expect(site.notes(poison.taskId).filter(({ what }) => what === 'started')).toHaveLength(2);
    site.open('go');
    for (const { taskId } of [walk, ...quick]) {
      expect(await site.over(taskId)).toMatchObject({ status: 'completed' });
    }
  });
});

describe('a worker that stands still', { timeout: 60_000 }, () => {
  it('longer than its lease finds its task in other hands, changes nothing, and is told to stop', async () => {
    const site = new Site();
    const sleeper = await site.start('work', QUICK_LEASE);
    const { taskId } = await site.front.call('deaf', { gate: 'go' });
    await site.noted(taskId, 'began', sleeper);
    sleeper.child.kill('SIGSTOP');
    const other = await site.start('work', QUICK_LEASE);
    expect(await site.noted(taskId, 'started', other)).toMatchObject({ attempt: 2 });
    site.open('go');
    const done = await site.over(taskId);
    expect(done).toMatchObject({ status: 'completed', ...says(`deaf by ${other.pid}`) });
    await other.kill();

    sleeper.child.kill('SIGCONT');
    expect(await site.noted(taskId, 'told', sleeper)).toMatchObject({ value: 'TaskInterruptedError' });
    await site.noted(taskId, 'made', sleeper);
    // It is the only one left, so what it does next comes after whatever it still wrote about the lost task.
    const next = await site.front.call('quick', {});
    expect(await site.over(next.taskId)).toMatchObject(says(`quick by ${sleeper.pid}`));
    expect(await site.front.get(taskId)).toEqual(done);
    const { lines } = await site.tasks.inspect.readLog(taskId as never);
    expect(lines.map(({ text }) => text)).toEqual([`late by ${other.pid}`]);
    expect((await site.tasks.inspect.payloads(taskId as never)).steps).toMatchObject([{ value: other.pid }]);
  });

  it('since a handler blocks its event loop loses its task to another one, which is told and not hidden [C-042]', async () => {
    const site = new Site();
    const blocked = await site.start('work', QUICK_LEASE);
    const { taskId } = await site.front.call('block', { ms: 6_000 }); // Its lease, the grace for the living, and a lot.
    await site.noted(taskId, 'started', blocked);
    const other = await site.start('work', QUICK_LEASE);
    expect(await site.noted(taskId, 'started', other)).toMatchObject({ attempt: 2 });
    await blocked.kill(); // What it might still do is shown above; here it only blocks.
    expect(await site.over(taskId)).toMatchObject({ status: 'completed', ...says(`block by ${other.pid}`) });
    const events = await site.tasks.inspect.timeline(taskId as never);
    expect(events.map(({ type }) => type)).toContain('worker_lost');
    expect((await site.tasks.inspect.attempts(taskId as never)).map(({ outcome }) => outcome)).toEqual([
      'lost',
      'completed',
    ]);
  });

  it('since a handler blocks its event loop goes on by itself, with nobody there to help [C-042]', async () => {
    const site = new Site();
    const worker = await site.start('work', QUICK_LEASE);
    const { taskId } = await site.front.call('block', { ms: 3_000 });
    await site.noted(taskId, 'started', worker);
    await site.tasks.close(); // Nobody else looks after the database meanwhile.
    await site.noted(taskId, 'returned', worker);
    const later = new Site(site.folder);
    expect(await later.over(taskId)).toMatchObject({ status: 'completed', ...says(`block by ${worker.pid}`) });
  });
});

describe('another process', { timeout: 60_000 }, () => {
  it('hears of a task as soon as it is there, and of its end as soon as somebody wants it', async () => {
    const site = new Site();
    const worker = await site.start('work', NEVER_SWEEP);
    const { taskId } = await site.front.call('once', { gate: 'never' });
    await site.noted(taskId, 'started', worker);
    await site.front.cancel(taskId);
    expect(await site.noted(taskId, 'told', worker)).toMatchObject({ value: 'TaskCancelledError' });
    expect(await site.front.get(taskId)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a handler that listens to nobody', { timeout: 60_000 }, () => {
  it('is left behind by the cancel of its task: its slot is free, its operator knows, and it changes nothing', async () => {
    const site = new Site();
    const worker = await site.start('work', { slots: 1, attendedSlots: 0, stopGraceMs: 200 });
    const { taskId } = await site.front.call('deaf', { gate: 'go' });
    await site.noted(taskId, 'began', worker);
    await site.front.cancel(taskId);
    const cancelled = await site.front.get(taskId);
    const next = await site.front.call('quick', {});
    expect(await site.over(next.taskId)).toMatchObject(says(`quick by ${worker.pid}`));
    await until('its operator to be told', () => worker.stderr.includes('ignores its signal') || undefined);
    site.open('go');
    await site.noted(taskId, 'made', worker);
    const last = await site.front.call('quick', {});
    expect(await site.over(last.taskId)).toMatchObject({ status: 'completed' });
    expect(await site.front.get(taskId)).toEqual(cancelled);
    expect((await site.tasks.inspect.payloads(taskId as never)).steps).toEqual([]);
  });
});

describe('an HTTP server that is told to end', { timeout: 60_000 }, () => {
  it('lets short work finish, hands long work over as it was, and ends by the signal', async () => {
    const site = new Site();
    const first = await site.start('http', { drainMs: 2_000 });
    const short = await site.front.call('once', { gate: 'soon' });
    const long = await site.front.call('walk', { gate: 'later' });
    await site.noted(short.taskId, 'started', first);
    await site.noted(long.taskId, 'began', first, 'second');
    first.child.kill('SIGTERM');
    await refuses(first.url);
    const late = await site.front.call('quick', {});
    site.open('soon');
    expect(await site.over(short.taskId)).toMatchObject({ status: 'completed', ...says(`once by ${first.pid}`) });
    expect(await first.ended).toBe('SIGTERM');

    const second = await site.start('http');
    expect(await site.noted(long.taskId, 'started', second)).toMatchObject({ attempt: 1 });
    site.open('later');
    expect(await site.over(long.taskId)).toMatchObject({ status: 'completed', ...walked(first, second) });
    expect(await site.over(late.taskId)).toMatchObject(says(`quick by ${second.pid}`));
  });

  it('says so of work that may not run twice', async () => {
    const site = new Site();
    const first = await site.start('http', { drainMs: 100 });
    const { taskId } = await site.front.call('once', { gate: 'never' });
    await site.noted(taskId, 'started', first);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe('SIGTERM');
    await site.start('http');
    const message = expect.stringMatching(/^interrupted: the worker was stopped/);
    expect(await site.over(taskId)).toMatchObject({ status: 'failed', error: { message } });
    expect(site.notes(taskId).filter(({ what }) => what === 'started')).toHaveLength(1);
  });

  it('twice ends at once, and loses nothing that was acknowledged', async () => {
    const site = new Site();
    const first = await site.start('http', { slots: 1, drainMs: 600_000 });
    const running = await site.front.call('walk', { gate: 'go' });
    await site.noted(running.taskId, 'began', first, 'second');
    const waiting = await Promise.all(Array.from({ length: 5 }, () => site.front.call('walk', { gate: 'go' })));
    first.child.kill('SIGTERM');
    await refuses(first.url);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe('SIGTERM');

    site.open('go');
    const second = await site.start('http');
    expect(await site.over(running.taskId)).toMatchObject({ status: 'completed', ...walked(first, second) });
    for (const { taskId } of waiting) {
      expect(await site.over(taskId)).toMatchObject({ status: 'completed', ...walked(second, second) });
      expect(site.begun(taskId)).toEqual({ first: 1, second: 1, third: 1 });
    }
  });
});

describe('a stdio server', { timeout: 60_000 }, () => {
  const endings: [string, (server: Worker) => unknown, number | string][] = [
    ['whose client closes stdin', ({ child }) => child.stdin.end(), 0],
    ['that is told to end', ({ child }) => child.kill('SIGTERM'), 'SIGTERM'],
  ];
  it.each(endings)('%s hands its task back as it was, and ends within seconds', async (_, end, how) => {
    const site = new Site();
    const first = await site.start('stdio');
    const { taskId } = await site.front.call('walk', { gate: 'go' });
    await site.noted(taskId, 'began', first, 'second');
    const since = machineTime();
    end(first);
    expect(await first.ended).toBe(how);
    expect(machineTime() - since).toBeLessThan(SOON_MS);

    const second = await site.start('work');
    expect(await site.noted(taskId, 'started', second)).toMatchObject({ attempt: 1 });
    site.open('go');
    expect(await site.over(taskId)).toMatchObject({ status: 'completed', ...walked(first, second) });
  });

  it('that is only asked for its versions leaves tasks alone, and the one that stays runs them', async () => {
    const site = new Site();
    const waiting = await Promise.all(Array.from({ length: 5 }, () => site.front.call('once', { gate: 'go' })));
    site.open('go');
    // For this very class, no subclass, the client first starts a server just to ask it what it speaks.
    const transport = new StdioClientTransport({ ...site.command('stdio'), cwd: site.folder, stderr: 'ignore' });
    const client = new Client(
      { name: 'host', version: '1.0.0' },
      { capabilities: {}, versionNegotiation: { mode: 'auto' } },
    );
    await client.connect(transport);
    try {
      await until('two servers were started', () => (site.pids().length === 2 ? true : undefined));
      expect(site.pids()).toContain(transport.pid);
      for (const { taskId } of waiting) {
        expect(await site.over(taskId)).toMatchObject({ status: 'completed', ...says(`once by ${transport.pid}`) });
        const starts = site.notes(taskId).filter(({ what }) => what === 'started');
        expect(starts).toMatchObject([{ life: String(transport.pid), attempt: 1 }]);
      }
    } finally {
      await client.close();
    }
    await until('both servers are gone', () => (site.pids().some(lives) ? undefined : true));
  });
});
