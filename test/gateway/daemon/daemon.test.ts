import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import type { DaemonBackend } from '../../../src/gateway/daemon/backend.ts';
import { connectDaemon } from '../../../src/gateway/daemon/connect.ts';
import { daemonStatus, killDaemon, stopDaemon } from '../../../src/gateway/daemon/control.ts';
import { type Daemon, type DaemonOptions, startDaemon } from '../../../src/gateway/daemon/daemon.ts';
import { runFront } from '../../../src/gateway/daemon/front.ts';
import type { Hello } from '../../../src/gateway/daemon/hello.ts';
import { privateFolder } from '../../../src/gateway/daemon/private-folder.ts';
import { reachDaemon } from '../../../src/gateway/daemon/reach.ts';
import { readRecord, writeRecord } from '../../../src/gateway/daemon/record.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { until } from '../../integration/processes.ts';
import { deferred, recordingLogger, settle } from '../../support/engine.ts';
import { scratchFolder } from '../../support/stores.ts';
import { aHello } from './support.ts';

const here = { clock: systemClock, random: systemRandom, version: '1.0.0' };
/** Where a daemon has to be there already. */
const none = { command: { file: process.execPath, args: ['-e', 'process.exit(3)'] }, env: {}, patienceMs: 15_000 };

function aFolder(): string {
  const { path, remove } = scratchFolder();
  onTestFinished(remove);
  return privateFolder(join(path, 'state'));
}

/** A daemon in this process, of a server that says back what it hears. */
async function aDaemon(more: Partial<DaemonOptions> = {}) {
  const folder = more.folder ?? aFolder();
  const { logger, lines } = recordingLogger();
  const served: Hello[] = [];
  const state = { busy: false, closed: 0 };
  const backend: DaemonBackend = {
    serve(hello, { input, output }) {
      served.push(hello);
      const { promise: closed, resolve } = deferred();
      input.on('data', (chunk) => output.write(chunk)).on('close', resolve);
      return { closed, close: async () => resolve(), name: 'echo', client: () => 'a host' };
    },
    busy: async () => state.busy,
    status: async () => ({ openTasks: 0 }),
    close: async () => {
      state.closed += 1;
    },
  };
  const options: DaemonOptions = { ...here, folder, open: async () => backend, env: {}, logger, ...more };
  const daemon = (await startDaemon(options)) as Daemon;
  onTestFinished(() => daemon?.close('the test is over'));
  const front = async (hello = aHello()) => {
    const { socket, ask } = await reachDaemon({ ...here, ...none, folder });
    await ask({ want: 'serve', hello });
    return socket;
  };
  return { folder, daemon, front, served, state, lines, options };
}

describe('a daemon', () => {
  it('is the only one of its folder for as long as it lives', async () => {
    const { options, daemon, folder } = await aDaemon();
    expect(await startDaemon(options)).toBeUndefined();
    await daemon.close('enough');
    const next = await startDaemon(options);
    expect(next).toBeDefined();
    await next?.close('enough');
    expect(readRecord(folder)).toBeUndefined();
  });

  it('says what it is and whom it serves, and nothing of what it was handed', async () => {
    const { folder, front, served, lines } = await aDaemon();
    const hello = aHello('one', { TOKEN: 'hunter2' });
    await front(hello);
    expect(served).toEqual([hello]);
    const status = await daemonStatus({ ...here, folder });
    const socket = join(folder, 'daemon.sock');
    expect(status).toMatchObject({ pid: process.pid, version: '1.0.0', folder, socket, busy: false });
    expect(status?.['fronts']).toEqual([
      { upstream: 'echo', client: 'a host', folder: process.cwd(), since: expect.any(Number) },
    ]);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const told = JSON.stringify([status, lines, readRecord(folder), readFileSync(join(folder, 'daemon.json'), 'utf8')]);
    expect(told).not.toContain('hunter2');
  });

  it('serves several fronts, each by itself', async () => {
    const { front, daemon } = await aDaemon();
    const [one, other] = await Promise.all([front(), front()]);
    one?.destroy();
    other?.write('still here\n');
    expect(await new Promise((resolve) => other?.once('data', (chunk) => resolve(String(chunk))))).toBe('still here\n');
    await daemon.close('enough');
  });

  it('ends what it serves when it is told to stop, and whoever told it learns when it has', async () => {
    const { folder, front, state, daemon } = await aDaemon();
    const socket = await front();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    expect(await stopDaemon({ ...here, folder })).toBe(true);
    await Promise.all([closed, daemon.closed]);
    expect(state.closed).toBe(1);
    expect(existsSync(join(folder, 'daemon.sock'))).toBe(false);
    expect(await stopDaemon({ ...here, folder })).toBe(false);
    expect(await killDaemon({ ...here, folder })).toBeUndefined();
  });

  it('does not come up where its server cannot, and lets go of the folder', async () => {
    const folder = aFolder();
    const broken = async () => Promise.reject(new Error('the store is of a later release'));
    await expect(aDaemon({ folder, open: broken })).rejects.toThrow('later release');
    expect((await aDaemon({ folder })).daemon).toBeDefined();
  });

  it('clears away what one that was killed has left', async () => {
    const folder = aFolder();
    const socket = join(folder, 'daemon.sock');
    writeFileSync(socket, '');
    writeRecord(folder, { pid: 1, version: '1.0.0', socket, startedAt: 0 }, systemRandom);
    const { front } = await aDaemon({ folder });
    expect((await front()).readyState).toBe('open');
    expect(readRecord(folder)?.pid).toBe(process.pid);
  });
});

describe('a daemon that nobody needs', () => {
  const idle = async () => {
    const clock = new ManualClock();
    const made = await aDaemon({ clock, idleMs: 1_000 });
    await settle();
    let ended = false;
    void made.daemon.closed.then(() => {
      ended = true;
    });
    /** Lets time pass as it would: what falls due on the way has its time to happen. */
    const pass = async (ms: number): Promise<boolean> => {
      for (let left = ms; left > 0; left -= 50) {
        clock.advance(50);
        await settle(3);
      }
      return ended;
    };
    return { ...made, clock, pass };
  };

  it('ends after its time, whether anybody was ever there or not', async () => {
    const { pass, folder } = await idle();
    expect(await pass(950)).toBe(false);
    expect(await pass(100)).toBe(true);
    expect(readRecord(folder)).toBeUndefined();
  });

  it('stays while somebody is connected, and begins to count when the last one has gone', async () => {
    const { pass, front, lines } = await idle();
    const gone = () => lines.filter(({ message }) => message === 'a front is gone').length;
    const one = await front();
    const other = await front();
    expect(await pass(5_000)).toBe(false);
    one.destroy();
    await until('one is gone', () => (gone() === 1 ? true : undefined));
    expect(await pass(5_000)).toBe(false);
    other.destroy();
    await until('the other is gone', () => (gone() === 2 ? true : undefined));
    await settle();
    expect(await pass(900)).toBe(false);
    expect(await pass(200)).toBe(true);
  });

  it('stays while anything is open, and for its time after that', async () => {
    const { pass, state } = await idle();
    state.busy = true;
    expect(await pass(5_000)).toBe(false);
    state.busy = false;
    expect(await pass(900)).toBe(false);
    expect(await pass(300)).toBe(true);
  });
});

describe('a daemon of another version', () => {
  const newer = (folder: string) => ({ ...here, ...none, version: '2.0.0', folder });

  it('makes room if that costs nobody anything', async () => {
    const { folder, daemon } = await aDaemon();
    // The next one cannot come up here; what counts is that this one is gone by then.
    await expect(reachDaemon(newer(folder))).rejects.toMatchObject({ code: 'DAEMON_NOT_STARTED' });
    await daemon.closed;
  });

  it.each(['a host', 'an open task'])('stays for %s, and who came learns what to do', async (what) => {
    const { folder, front, state } = await aDaemon();
    if (what === 'a host') await front();
    else state.busy = true;
    const reached = reachDaemon(newer(folder));
    await expect(reached).rejects.toMatchObject({ code: 'DAEMON_VERSION' });
    await expect(reached).rejects.toThrow(/version 1\.0\.0 and this is 2\.0\.0.*`longcall daemon stop`/);
    expect(readRecord(folder)?.pid).toBe(process.pid);
  });
});

describe('a front', () => {
  it('learns why no daemon comes up, and where its log is', async () => {
    const folder = aFolder();
    await expect(reachDaemon({ ...here, ...none, folder })).rejects.toThrow(
      `the daemon ended (3) before it was up; its log is ${join(folder, 'daemon.log')}`,
    );
    const missing = { ...none, command: { file: join(folder, 'no-such-program'), args: [] } };
    await expect(reachDaemon({ ...here, ...missing, folder })).rejects.toThrow('cannot be started');
    const silent = { ...none, command: { file: process.execPath, args: ['-e', 'setTimeout(() => {}, 5_000)'] } };
    await expect(reachDaemon({ ...here, ...silent, patienceMs: 500, folder })).rejects.toThrow(
      'is not up after 500 ms',
    );
  });

  it('hands nothing to who listens in the place of its daemon, and starts none beside it', async () => {
    const { folder, daemon } = await aDaemon();
    await daemon.close('somebody takes its place');
    let heard = '';
    const impostor = createServer((socket) => {
      socket.on('data', (chunk) => {
        heard += String(chunk);
        socket.write('{"longcall":"daemon","protocol":1,"version":"1.0.0","nonce":"n","proof":"p"}\n{"ok":true}\n');
      });
    });
    const socket = join(folder, 'impostor');
    await new Promise<void>((resolve) => impostor.listen(socket, resolve));
    onTestFinished(() => void impostor.close());
    writeRecord(folder, { pid: 1, version: '1.0.0', socket, startedAt: 0 }, systemRandom);
    await expect(reachDaemon({ ...here, ...none, folder })).rejects.toMatchObject({
      code: 'DAEMON_UNTRUSTED',
      message: expect.stringContaining(socket),
    });
    expect(JSON.parse(heard)).toEqual({ longcall: 'front', protocol: 1, version: '1.0.0', nonce: expect.any(String) });
  });

  it('and its daemon go apart over another secret', async () => {
    const { folder, front } = await aDaemon();
    await front();
    writeFileSync(join(folder, 'secret'), `${'ab'.repeat(32)}\n`);
    await expect(connectDaemon(folder, here)).rejects.toMatchObject({
      code: 'DAEMON_UNTRUSTED',
      message: expect.stringContaining(join(folder, 'secret')),
    });
  });

  it('gives up when daemons end under it again and again', async () => {
    const { folder, served } = await aDaemon({
      open: async () => ({
        serve(hello, { input }) {
          served.push(hello);
          input.once('data', () => input.destroy());
          return { closed: new Promise(() => {}), close: async () => {} };
        },
        busy: async () => false,
        status: async () => ({}),
        close: async () => {},
      }),
    });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const ended = runFront({ ...here, ...none, folder, hello: aHello(), input, output });
    // A session is taken up again each time, which is when the next one ends.
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'host' } };
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await expect(ended).rejects.toMatchObject({ code: 'DAEMON_LOST', message: expect.stringContaining('daemon.log') });
    expect(served).toHaveLength(6);
  });

  it('finds no daemon in a folder that is not its own', async () => {
    const { path, remove } = scratchFolder();
    onTestFinished(remove);
    mkdirSync(join(path, 'open'));
    await expect(daemonStatus({ ...here, folder: join(path, 'open') })).rejects.toMatchObject({
      code: 'DAEMON_FOLDER',
    });
    expect(await daemonStatus({ ...here, folder: join(path, 'none') })).toBeUndefined();
    expect(existsSync(join(path, 'none'))).toBe(false);
  });
});
