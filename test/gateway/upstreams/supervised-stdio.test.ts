import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { familyOf } from '../../../src/adapters/processes/process-family.ts';
import { identify, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import { connectRemote } from '../../../src/client/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { settle } from '../../support/engine.ts';
import { scratchFolder } from '../../support/stores.ts';
import { alive, call, FIXTURE, supervised } from './support.ts';

// Real processes, really killed. Their graces are short, so that the stubborn ones do not hold the tests up.

const identities = (pids: string): ProcessIdentity[] => pids.split(' ').flatMap((pid) => identify(Number(pid)) ?? []);

describe('a server on standard streams', () => {
  it('is started when somebody connects, and ended with the connection', async () => {
    const { upstream, processes, connect } = supervised();
    expect(upstream.status()).toMatchObject({ state: 'stopped', pid: undefined, starts: 0 });
    const remote = await connect();
    expect(await call(remote, 'echo', { message: 'grüße 🦜' })).toBe('grüße 🦜');
    expect(upstream.status()).toMatchObject({ state: 'running', pid: processes[0]?.pid, starts: 1, deaths: 0 });
    await remote[Symbol.asyncDispose]();
    expect(alive(processes)).toEqual([]);
    expect(upstream.status()).toMatchObject({ state: 'stopped', pid: undefined, deaths: 0, trouble: undefined });
  });

  it('is started again by the next connection, one process at a time', async () => {
    const { upstream, processes, connect } = supervised();
    const first = await connect();
    await expect(connectRemote({ ...upstream })).rejects.toThrow('connected already');
    await first[Symbol.asyncDispose]();
    expect(await call(await connect(), 'echo', { message: 'again' })).toBe('again');
    expect(alive(processes)).toEqual([processes[1]?.pid]);
  });

  it('gets the environment that it was given, the safe defaults, and nothing of this process', async () => {
    process.env['LONGCALL_TEST_SECRET'] = 'of the gateway';
    process.env['HOME'] = '/home/of-the-gateway';
    const { connect } = supervised([], { env: { GIVEN: 'yes' }, cwd: tmpdir() });
    const remote = await connect();
    const env = JSON.parse(await call(remote, 'env')) as Record<string, string>;
    delete process.env['LONGCALL_TEST_SECRET'];
    const safe = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
    expect(env).toMatchObject({ GIVEN: 'yes', HOME: '/home/of-the-gateway' });
    expect(Object.keys(env).filter((name) => name !== 'GIVEN' && !safe.includes(name))).toEqual([]);
    expect(await call(remote, 'cwd')).toBe(tmpdir());
  });

  it.each([
    [{ command: 'longcall-no-such-program' }, 'there is no such program'],
    [{ cwd: '/longcall/no/such/folder' }, 'the folder /longcall/no/such/folder is not there'],
    [{ command: tmpdir() }, 'the program may not be run'],
  ])('that cannot be started says why: %j', async (options, why) => {
    const { upstream, connect } = supervised([], options);
    const failed = connect();
    await expect(failed).rejects.toThrow(why);
    await expect(failed).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: false });
    expect(upstream.status()).toMatchObject({ state: 'waiting', deaths: 1, deathsInARow: 1 });
  });
});

describe('a server that dies', () => {
  it.each([
    ['exit', { code: 7 }, 'exit code 7'],
    ['die', {}, 'SIGKILL'],
    ['half-a-message', {}, 'exit code 0'],
  ])('by %s is told with its last words, and the next call finds another', async (tool, args, how) => {
    const { upstream, processes, connect } = supervised();
    const remote = await connect();
    await call(remote, 'complain', { line: 'disk full' });
    const failed = call(remote, tool, args);
    await expect(failed).rejects.toThrow(`the server ended by itself (${how}); it said last: disk full`);
    await expect(failed).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: true });
    expect(upstream.status()).toMatchObject({ deaths: 1, deathsInARow: 1, crashLoop: false });
    expect(await call(remote, 'echo', { message: 'back' })).toBe('back');
    expect(alive(processes)).toEqual([processes[1]?.pid]);
  });

  it('is started after longer and longer waits, told to be in a crash loop, and forgiven once it lived', async () => {
    const clock = new ManualClock();
    const { upstream, connect, reaches } = supervised([], {
      clock,
      random: { bytes: (size) => new Uint8Array(size) }, // No jitter.
      backoff: { backoffMs: 10_000, maxBackoffMs: 60_000 },
      healthyAfterMs: 300_000,
      idleAfterMs: 10_000_000,
    });
    const remote = await connect();
    const waits: number[] = [];
    for (let death = 1; death <= 5; death += 1) {
      await expect(call(remote, 'exit', { code: 1 })).rejects.toThrow('ended by itself');
      waits.push(upstream.status().nextStartMs);
      await reaches(({ pid }) => pid === undefined);
      // Nobody waits for long here: they are told when.
      await expect(call(remote, 'echo', {})).rejects.toMatchObject({
        code: 'REMOTE_UNREACHABLE',
        mayHaveRun: false,
        retryAfterMs: waits.at(-1),
        message: expect.stringContaining('it may be started again in'),
      });
      expect(upstream.status()).toMatchObject({ state: 'waiting', deathsInARow: death, crashLoop: death >= 3 });
      clock.advance(waits.at(-1) as number);
      expect(await call(remote, 'echo', { message: 'up' })).toBe('up');
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);

    clock.advance(300_000);
    expect(upstream.status()).toMatchObject({ deaths: 5, deathsInARow: 0, crashLoop: false, trouble: undefined });
    await expect(call(remote, 'exit', { code: 1 })).rejects.toThrow('ended by itself');
    expect(upstream.status()).toMatchObject({ deathsInARow: 1, nextStartMs: 10_000 });
  });

  it('is told with how it died where it was written to while it did', async () => {
    const { connect } = supervised(['deaf=300']);
    const calling = connect().then((remote) => call(remote, 'echo', { message: 'anybody?' }));
    await expect(calling).rejects.toThrow('the server ended by itself (exit code 3); it said last: bad key');
  });

  it('at its start is told with what it said, without secrets', async () => {
    const secret = 'sk-very-secret-value';
    const { upstream, connect } = supervised([`die=2`, `words=bad token ${secret}`], { secrets: [secret] });
    await expect(connect()).rejects.toThrow(
      `${process.execPath}: the server ended by itself (exit code 2); it said last: cannot work: bad token [redacted]`,
    );
    expect(JSON.stringify(upstream.status())).not.toContain(secret);
  });
});

describe('the question what a server speaks', () => {
  it('is asked once of a server that ends on it, and its end is no death', async () => {
    const { upstream, processes, connect } = supervised(['exit-on-probe']);
    const first = await connect();
    expect(await call(first, 'echo', { message: 'old' })).toBe('old');
    expect(upstream.status()).toMatchObject({ starts: 2, deaths: 0 });
    await first[Symbol.asyncDispose]();
    await connect();
    expect(processes).toHaveLength(3);
  });

  it('is answered in place of a server that says nothing to it', async () => {
    const clock = new ManualClock();
    const { connect, reaches } = supervised(['silent-on-probe'], { clock });
    const connecting = connect({ requestTimeoutMs: 30_000 });
    await reaches(({ state }) => state === 'running');
    await settle();
    clock.advance(15_000);
    expect(await call(await connecting, 'echo', { message: 'quiet' })).toBe('quiet');
  });

  it('and the greeting may be left without an answer: then there is no connection, and no process', async () => {
    const { upstream, processes, connect, reaches } = supervised(['silent', 'ignore-sigterm', 'ignore-stdin-end']);
    await expect(connect({ requestTimeoutMs: 200 })).rejects.toThrow('not connected within 200 ms');
    await reaches(({ pid }) => pid === undefined);
    expect(alive(processes)).toEqual([]);
    expect(upstream.status().deaths).toBe(0);
  });
});

describe('the end of a server', () => {
  it('takes all with it that it started, also what ignores SIGTERM or left the group [C-102]', async () => {
    const { processes, connect } = supervised(['child', 'detached-child', 'ignore-sigterm', 'ignore-stdin-end']);
    const remote = await connect();
    const children = identities(await call(remote, 'family'));
    expect(alive(children)).toHaveLength(2);
    await remote[Symbol.asyncDispose]();
    expect(alive([...processes, ...children])).toEqual([]);
  });

  it('takes a server with it that npx started, and the shell in between [C-102]', async () => {
    const home = scratchFolder();
    onTestFinished(home.remove);
    const { processes, connect } = supervised([], {
      command: 'npx',
      args: ['--no-install', 'mcp-server-everything', 'stdio'],
      cwd: join(import.meta.dirname, '..', '..', '..'),
      env: { HOME: home.path },
    });
    const remote = await connect();
    expect(await call(remote, 'echo', { message: 'by npx' })).toBe('Echo: by npx');
    const family = familyOf(processes[0] as ProcessIdentity);
    expect(family.length).toBeGreaterThan(1);
    await remote[Symbol.asyncDispose]();
    expect(alive(family)).toEqual([]);
  });

  it('is that of the server behind a launcher, when only the launcher was killed [C-102]', async () => {
    const server = `"${process.execPath}" "${FIXTURE}" --child --ignore-sigterm --ignore-stdin-end`;
    const { upstream, processes, connect, reaches } = supervised([], {
      command: 'sh',
      args: ['-c', `exec 3<&0; ${server} <&3 & wait`],
    });
    const remote = await connect();
    const family = [...processes, ...identities(`${await call(remote, 'pid')} ${await call(remote, 'family')}`)];
    expect(alive(family)).toHaveLength(3);
    process.kill(family[0]?.pid as number, 'SIGKILL');
    await reaches(({ pid }) => pid === undefined);
    expect(alive(family)).toEqual([]);
    expect(upstream.status()).toMatchObject({ deaths: 1, escaped: [] });
  });

  it('comes when it is idle: neither used nor asked anything', async () => {
    const clock = new ManualClock();
    const { upstream, processes, connect, reaches } = supervised([], { clock, idleAfterMs: 60_000 });
    const remote = await connect();
    const use = upstream.use();
    clock.advance(600_000);
    expect(alive(processes)).toHaveLength(1);
    use.release();
    use.release(); // Once more changes nothing.
    expect(upstream.status()).toMatchObject({ users: 0, state: 'running' });

    const asked = call(remote, 'never');
    await settle();
    expect(upstream.status().openRequests).toBe(1);
    clock.advance(600_000);
    expect(upstream.status().state).toBe('running');
    await expect(Promise.all([asked, call(remote, 'exit', { code: 0 })])).rejects.toThrow('ended by itself');
    clock.advance(1_000);

    expect(await call(remote, 'echo', { message: 'still' })).toBe('still');
    clock.advance(59_999);
    expect(upstream.status().state).toBe('running');
    clock.advance(1);
    expect(upstream.status().state).toBe('ending');
    await reaches(({ state }) => state === 'stopped');
    expect(alive(processes)).toEqual([]);
    expect(upstream.status().deaths).toBe(1);
    // And whoever needs it again has it again.
    expect(await call(remote, 'echo', { message: 'again' })).toBe('again');
  });

  it('reports what it started to outlive it, and leaves that alone [C-102]', async () => {
    const { upstream, connect, reaches } = supervised(['daemon']);
    const remote = await connect();
    const [daemon] = identities(await call(remote, 'family')) as [ProcessIdentity];
    // Its parent is gone before anybody looks: a daemon, as after a double fork.
    await expect(call(remote, 'die')).rejects.toThrow('SIGKILL');
    const { escaped } = await reaches(({ pid }) => pid === undefined);
    expect(alive([daemon])).toEqual([daemon.pid]);
    expect(escaped).toEqual([daemon.pid]);
    process.kill(daemon.pid, 'SIGKILL');
    await upstream.close();
  });
});

describe('what a server prints', () => {
  it('for people is kept as its last lines, however much it is, and never holds it up [C-105]', async () => {
    const { upstream, connect } = supervised([`stderr=${10 * 1024 * 1024}`]);
    const remote = await connect();
    expect(await call(remote, 'echo', { message: 'after ten megabytes' })).toBe('after ten megabytes');
    for (let turn = 0; turn < 5; turn += 1) expect(await call(remote, 'flood', { bytes: 1_000_000 })).toBe('flooded');
    const before = process.memoryUsage().rss;
    expect(await call(remote, 'flood', { bytes: 100 * 1024 * 1024 })).toBe('flooded');
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    expect(upstream.status().lines).toBeGreaterThan(110_000);
    expect(upstream.lines(1_000).join('').length).toBeLessThan(300_000);
  });

  it('between its messages is counted and passed over [C-104]', async () => {
    const lines: string[] = [];
    const { upstream, connect } = supervised(['banner'], {
      secrets: ['hunter22'],
      onLine: (line) => lines.push(line),
    });
    const remote = await connect();
    await call(remote, 'noise', { line: 'debug: password is hunter22' });
    expect(upstream.status().noise).toEqual({ lines: 4, last: 'debug: password is [redacted]' });
    expect(lines).toEqual([
      'Welcome to the server!',
      '{"level":30,"msg":"listening"}',
      '{}',
      'debug: password is [redacted]',
    ]);
  });

  it('as one message that is too long ends that message only, and whoever waits for it learns why', async () => {
    const { upstream, connect } = supervised([], { maxMessageBytes: 100_000 });
    const remote = await connect();
    expect(await call(remote, 'big', { bytes: 90_000 })).toHaveLength(45_000);
    await expect(call(remote, 'big', { bytes: 200_000 })).rejects.toThrow(/bytes is longer than 100000 bytes/);
    expect(await call(remote, 'big-notification', { bytes: 200_000 })).toBe('sent');
    expect(await call(remote, 'big-request', { bytes: 200_000 })).toContain('longer than 100000 bytes');
    expect(upstream.status()).toMatchObject({ state: 'running', oversized: 3, deaths: 0 });
  });
});

describe('a server that does not read', () => {
  it('holds up those who send, up to a bound, and fails them when it dies', async () => {
    const { upstream, processes, connect } = supervised([], { maxQueuedBytes: 1_000_000 });
    const remote = await connect();
    expect(await call(remote, 'stop-reading')).toBe('not reading');
    const message = 'x'.repeat(900_000);
    const held = [call(remote, 'echo', { message }), call(remote, 'echo', { message })].map((one) =>
      one.then(
        () => 'answered',
        (error: { code: string; mayHaveRun: boolean }) => ({ code: error.code, mayHaveRun: error.mayHaveRun }),
      ),
    );
    while (upstream.status().queuedBytes <= 1_000_000) await settle(1);
    await expect(call(remote, 'echo', { message })).rejects.toMatchObject({
      code: 'REMOTE_UNREACHABLE',
      mayHaveRun: false,
      message: expect.stringContaining('does not read'),
    });
    process.kill(processes[0]?.pid as number, 'SIGKILL');
    const lost = { code: 'REMOTE_UNREACHABLE', mayHaveRun: true };
    expect(await Promise.all(held)).toEqual([lost, lost]);
  });
});
