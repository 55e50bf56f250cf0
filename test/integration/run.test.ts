import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { identify, isAlive, type ProcessIdentity } from '../../src/adapters/processes/process-table.ts';
import { readRecord } from '../../src/gateway/daemon/record.ts';
import { scratchFolder } from '../support/stores.ts';
import * as commands from './commands.ts';
import { until } from './processes.ts';

// The built command as people run it, with a daemon of its own: both are really killed.
const { main } = commands;

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  const scratch = scratchFolder();
  folder = scratch.path;
  env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
    LONGCALL_RUNTIME_DIR: join(folder, 'daemon'),
    NO_COLOR: '1',
    SHELL: '/bin/sh',
    TERM: 'xterm',
  };
  onTestFinished(async () => {
    const daemon = readRecord(join(folder, 'daemon'))?.process;
    if (daemon !== undefined && isAlive(daemon)) await killed(daemon);
    for (const job of jobs()) await killed(job);
    scratch.remove();
  });
});

/** Processes of jobs that are still there: runners and commands, as they wrote themselves down. */
function jobs(): ProcessIdentity[] {
  const all = join(folder, 'daemon', 'jobs');
  if (!existsSync(all)) return [];
  return readdirSync(all).flatMap((key) =>
    ['runner.json', 'command.json'].flatMap((file) => {
      const path = join(all, key, file);
      const identity = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity) : undefined;
      return identity !== undefined && isAlive(identity) ? [identity] : [];
    }),
  );
}

async function killed(identity: ProcessIdentity): Promise<void> {
  if (isAlive(identity)) process.kill(identity.pid, 'SIGKILL');
  await gone(identity);
}

function gone(identity: ProcessIdentity): Promise<true> {
  return until(`process ${identity.pid} is gone`, () => (isAlive(identity) ? undefined : true));
}

const around = () => ({ env, cwd: folder });
const longcall = (...args: string[]) => commands.longcall(around(), ...args);
const cli = (args: string[], stdin?: string) => commands.cli(around(), args, stdin);
const atTerminal = (...args: string[]) => commands.atTerminal(around(), ...args);
const start = (program: string, args: string[]) => commands.start(around(), program, args);
/** A script as the command; `longcall` in it is the built one. */
const run = (options: string[], script: string, stdin?: string) =>
  cli(['run', ...options, '--', 'sh', '-c', withLongcall(script)], stdin);
const withLongcall = (script: string) => `longcall() { '${process.execPath}' '${main}' "$@"; }\n${script}`;

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const go = () => writeFileSync(join(folder, 'go'), '');
const WAIT = 'echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done';
/** The command line is on the screen too, and is not to be taken for what it writes. */
const BEGUN = 'echo be"g"un';
const commandProcess = async (): Promise<ProcessIdentity> => {
  const pid = await until('the process of the command', () => {
    const text = existsSync(join(folder, 'pid')) ? readFileSync(join(folder, 'pid'), 'utf8') : '';
    return text.endsWith('\n') ? Number(text) : undefined;
  });
  const identity = identify(pid);
  if (identity === undefined) throw new Error(`there is no process ${pid}`);
  return identity;
};
const detached = async (script: string): Promise<string> => {
  const { code, stdout } = await run(['--detach'], script);
  expect(code).toBe(0);
  return stdout.trim();
};

describe('longcall run', { timeout: 60_000 }, () => {
  it('is as good as the command itself: what it writes, where, and how it ends', async () => {
    const { code, stdout, stderr } = await run(['-q'], 'echo out; echo err >&2; printf "no end"; exit 3');
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: 'out\nno end\n', stderr: 'err\n' });
    expect(await cli(['run', '-q', '--', 'true'])).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run([], 'kill -9 $$')).toMatchObject({
      code: 137,
      stderr: expect.stringContaining('killed by SIGKILL'),
    });
    expect(await cli(['run', '--', 'no-such-program'])).toMatchObject({
      code: 127,
      stderr: 'longcall: no-such-program: no such program\n',
    });
    expect((await cli(['run'])).code).toBe(2);
    expect(await cli(['run', 'npm', 'test'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('run -- npm test'),
    });
  });

  it('runs it here, in the environment of the terminal, with what there is to read', async () => {
    env.MINE = 'here';
    mkdirSync(join(folder, 'sub'));
    const told = await run(
      ['-q', '--env', 'OTHER=x y', '--cwd', 'sub', '--stdin'],
      'pwd; echo $MINE $OTHER; cat',
      'typed\n',
    );
    expect(told).toEqual({ code: 0, stdout: `${join(folder, 'sub')}\nhere x y\ntyped\n`, stderr: '' });
    expect((await run(['-q'], 'cat; echo end', 'not read')).stdout).toBe('end\n');
  });

  it('keeps no environment and no secret on a disk', async () => {
    Object.assign(env, { MINE: 'environment-value', TOKEN: 'secret-value' });
    const command = ['sh', '-c', 'echo "$MINE" | cut -c 1-5; echo "token $TOKEN"', '--token=secret-value'];
    const { code, stdout } = await cli(['run', '-q', '--secret-env', 'TOKEN', '--', ...command]);
    expect([code, stdout]).toEqual([0, 'envir\ntoken [redacted]\n']);
    const listed = await cli(['ls']);
    expect(listed.stdout).toContain("'--token=[redacted]'".replaceAll("'", ''));
    const all = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const names = all.map((entry) => join(entry.parentPath, entry.name));
    expect(names.some((name) => name.endsWith('tasks.db'))).toBe(true);
    for (const name of names) {
      expect(readFileSync(name).includes('secret-value'), name).toBe(false);
      expect(readFileSync(name).includes('environment-value'), name).toBe(false);
    }
    expect(statSync(join(folder, 'daemon')).mode & 0o777).toBe(0o700);
  });

  it('tells programs a line each', async () => {
    const { code, stdout, stderr } = await run(['--json', '--name', 'my build'], 'echo one; echo two >&2; exit 4');
    expect([code, stderr]).toEqual([4, '']);
    const events = lines(stdout);
    expect(events[0]).toMatchObject({
      event: 'called',
      call: { server: expect.any(String), tool: 'run', note: { ran: 'my build' } },
    });
    expect(
      events.filter(({ event }) => event === 'output').sort((a, b) => (a.stream < b.stream ? 1 : -1)),
    ).toMatchObject([
      { stream: 'stdout', text: 'one', at: expect.any(Number) },
      { stream: 'stderr', text: 'two' },
    ]);
    const end = { kind: 'completed', result: { structuredContent: { exitCode: 4 } } };
    expect(events.at(-1)).toMatchObject({ event: 'ended', call: { end } });
  });

  it('goes on when the terminal and the daemon are killed, and is found again with all it wrote', async () => {
    const { child, text, ended } = longcall('run', '--', 'sh', '-c', `echo begun; ${WAIT}; echo done; exit 5`);
    const id = await until('its id', () => /^(\S+) {2}sh/m.exec(text.stderr)?.[1]);
    const command = await commandProcess();
    await until('what it wrote first', () => (text.stdout === 'begun\n' ? true : undefined));
    child.kill('SIGKILL');
    await ended;
    const daemon = readRecord(join(folder, 'daemon'))?.process as ProcessIdentity;
    await killed(daemon);
    expect(isAlive(command)).toBe(true);
    const waiting = longcall('wait', id);
    await until('what it wrote first', () => (waiting.text.stdout === 'begun\n' ? true : undefined));
    go();
    expect(await waiting.ended).toBe(5);
    expect(waiting.text.stdout).toBe('begun\ndone\n');
    expect(readRecord(join(folder, 'daemon'))?.pid).not.toBe(daemon.pid);
    // Over, it says the same as often as wanted.
    expect(await cli(['wait', id])).toMatchObject({ code: 5, stdout: expect.stringContaining('begun\ndone') });
    expect(await cli(['result', id])).toMatchObject({ code: 5, stdout: expect.stringContaining('exit code 5') });
  });

  it('goes on by itself when it was left at once: listed, read and cancelled by its id', async () => {
    const id = await detached(`echo listed; ${WAIT}`);
    const command = await commandProcess();
    const [listed] = lines((await cli(['ls', '--open', '--json'])).stdout)[0].calls;
    expect(listed).toMatchObject({ id, tool: 'run', note: { ran: expect.stringContaining('echo listed') } });
    await until('its log', async () => ((await cli(['logs', id])).stdout.includes('listed') ? true : undefined));
    expect(await cli(['wait', id, '--timeout', '300ms'])).toMatchObject({ code: 124 });
    expect(await cli(['cancel', id])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cancelled/) });
    await gone(command);
    expect((await cli(['wait', id])).code).toBe(4);
  });

  it('stops a command that takes too long, and only its own waiting after --wait-timeout', async () => {
    const late = await run(['--timeout', '300ms'], WAIT);
    expect(late).toMatchObject({ code: 143, stderr: expect.stringMatching(/timed out: .*its limit of 0\.3 s/) });
    const waited = await run(['--wait-timeout', '300ms'], WAIT);
    expect(waited).toMatchObject({ code: 124, stderr: expect.stringContaining('longcall wait ') });
    const id = /longcall wait (\S+)/.exec(waited.stderr)?.[1] ?? '';
    go();
    expect((await cli(['wait', id])).code).toBe(0);
  });

  it('leaves the command running where nobody reads any more what it writes', async () => {
    const endless = 'echo $$ > pid; while [ ! -e go ]; do echo y; echo n >&2; sleep 0.02; done';
    const script = `longcall run -q -- sh -c '${endless}' 2>&1 | grep -x -m 1 y`;
    const { text, ended } = start('sh', ['-c', withLongcall(script)]);
    expect(await ended).toBe(0);
    expect(text).toEqual({ stdout: 'y\n', stderr: '' });
    const command = await commandProcess();
    expect(isAlive(command)).toBe(true);
    go();
    await gone(command);
  });
});

describe('at a terminal', { timeout: 60_000 }, () => {
  it('the first Ctrl-C leaves the command running and says how to come back', async () => {
    const { type, shows, screen, ended } = atTerminal('run', '--', 'sh', '-c', `${BEGUN}; ${WAIT}; exit 6`);
    await shows('begun');
    const command = await commandProcess();
    type('\u0003');
    await shows('the command goes on: longcall wait ');
    expect(await ended).toBe(124);
    expect(isAlive(command)).toBe(true);
    const id = /longcall wait (\S+)/.exec(screen.stdout)?.[1] ?? '';
    go();
    expect((await cli(['wait', id])).code).toBe(6);
  });

  it('the second cancels it', async () => {
    const { type, shows, ended } = atTerminal('run', '--', 'sh', '-c', `${BEGUN}; ${WAIT}`);
    await shows('begun');
    const command = await commandProcess();
    type('\u0003');
    await shows('Ctrl-C again');
    type('\u0003');
    await shows('cancelling');
    expect(await ended).toBe(4);
    await gone(command);
  });

  it('what could do more than colour what is seen does not get there', async () => {
    delete env.NO_COLOR;
    const { screen, ended } = atTerminal(
      'run',
      '--',
      'printf',
      '\\033[31mred\\033[0m \\033]0;title\\007\\033[2Jkept\\n',
    );
    expect(await ended).toBe(0);
    const esc = String.fromCharCode(27);
    expect(screen.stdout).toContain(`${esc}[31mred${esc}[0m kept`);
    expect(screen.stdout).not.toContain(`${esc}]0;`);
    expect(screen.stdout).not.toContain(`${esc}[2J`);
  });
});

describe('longcall ask in a command that runs', { timeout: 60_000 }, () => {
  const ask = "colour=$(longcall ask --message 'Which colour?' --field colour:red,green </dev/null)";

  it('is answered from another terminal', async () => {
    const asking = longcall('run', '--', 'sh', '-c', withLongcall(`${ask}; echo "$? $colour"`));
    asking.child.stdin.end();
    const id = await until('the question', () => /longcall answer (\S+) key=value/.exec(asking.text.stderr)?.[1]);
    expect(asking.text.stderr).toContain('Which colour?');
    expect((await cli(['answer', id, 'colour=blue'])).stderr).toContain('expected one of "red", "green"');
    expect((await cli(['answer', id, 'colour=green'])).code).toBe(0);
    expect(await asking.ended).toBe(0);
    expect(asking.text.stdout).toBe('0 green\n');
  });

  it('says with its exit code what else became of the question', async () => {
    const script = `longcall ask --message 'Go on?' <&-; echo "$?"; longcall ask --message 'In time?' --timeout 200ms; echo "$?"`;
    const id = await detached(script);
    expect((await cli(['answer', id, '--decline'])).code).toBe(0);
    const told = await cli(['wait', id]);
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('4\n') });
    expect(told.stdout).toContain('124\n');
  });

  it('survives the death of the daemon', async () => {
    const id = await detached(`${ask}; echo "got $colour"; exit 7`);
    await until('the question', async () =>
      (await cli(['get', id])).stdout.includes('Which colour?') ? true : undefined,
    );
    await killed(readRecord(join(folder, 'daemon'))?.process as ProcessIdentity);
    expect((await cli(['answer', id, 'colour=red'])).code).toBe(0);
    expect(await cli(['wait', id])).toMatchObject({ code: 7, stdout: expect.stringContaining('got red') });
  });

  it('is asked at the terminal that follows it', async () => {
    const { type, shows, ended } = atTerminal(
      'run',
      '--',
      'sh',
      '-c',
      withLongcall(`${ask}; echo "got $colour"`).replaceAll("'", "'\\''"),
    );
    await shows('What now?');
    type('\r');
    await shows(`${String.fromCharCode(0x25c6)}  colour`);
    type('\r');
    await shows('got red');
    expect(await ended).toBe(0);
  });
});
