import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { type StoreEnvironment, sqliteStore, type TaskStore } from 'longcall';
import { aTask } from 'longcall/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, systemRandom, type TerminalState } from '../../src/core/index.ts';
import { scratchFolder, silent } from '../support/stores.ts';

// The command as people run it: the built file, as a process, on a store that this process uses at the same time.
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const environment: StoreEnvironment = { clock: systemClock, random: systemRandom, logger: silent };
const DONE: TerminalState = { status: 'completed', result: { content: [{ type: 'text', text: 'the result' }] } };
const FAILED: TerminalState = { status: 'failed', error: { code: -32603, message: 'boom', data: 'secret data' } };

let folder: ReturnType<typeof scratchFolder>;
let file: string;
let store: TaskStore;
const children = new Set<ChildProcessWithoutNullStreams>();

beforeEach(async () => {
  folder = scratchFolder();
  file = join(folder.path, 'tasks.db');
  ({ store } = await sqliteStore(file).open(environment));
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  await store.close();
  folder.remove();
});

function start(args: string[], env: Record<string, string> = {}): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, FORCE_COLOR: '', NO_COLOR: '', ...env },
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function run(args: string[], env: Record<string, string> = {}) {
  const child = start(args, env);
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (some) => (text[name] += some));
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...text };
}

const admin = (command: string, ...args: string[]) => run(['admin', command, '--db', file, ...args]);

async function claimed(overrides: Parameters<typeof aTask>[0] = {}) {
  const { task } = await store.create(aTask(overrides));
  const [claim] = await store.claim([task.taskId], { workerId: 'w1', leaseMs: 60_000 });
  if (claim === undefined) throw new Error('not claimed');
  return claim.lease;
}

describe('longcall', () => {
  it('says its version and what there is', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
    const help = await run(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/admin/);
    for (const command of ['ls', 'show', 'logs', 'cancel', 'requeue', 'rm', 'rekey']) {
      const { code, stdout } = await run(['admin', command, '--help']);
      expect([code, stdout]).toEqual([0, expect.stringContaining('--db <file>')]);
      expect(stdout).toContain('--json');
    }
  });

  it('can be started by name', () => {
    expect(readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    if (process.platform !== 'win32') expect(statSync(main).mode & 0o111).not.toBe(0);
  });

  it.each([
    [[], /Usage: longcall/],
    [['frob'], /unknown command 'frob'/],
    [['admin'], /Usage: longcall admin/],
    [['admin', 'ls'], /required option '--db <file>'/],
    [['admin', 'ls', '--db', 'x', '--limit', '0'], /from 1 to 1000/],
    [['admin', 'ls', '--db', 'x', '--status', 'broken'], /Choose from open, working/],
    [['admin', 'ls', '--db', 'x', '--since', 'yesterday'], /age \(30m, 2h, 7d\) or a date/],
    [['admin', 'show', '--db', 'x'], /missing required argument 'id'/],
    [['admin', 'cancel', '--db', 'x'], /give either ids/],
    [['admin', 'cancel', 'a', '--all', '--db', 'x'], /give either ids/],
    [['admin', 'rekey', '--db', 'x'], /--key-file, or LONGCALL_KEY_FILE/],
  ])('answers wrong use %j with 2 and a hint', async (args, message) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  });
});

describe('longcall admin on a file it must not use', () => {
  const refused = async (path: string) => {
    const before = readdirSync(folder.path).sort();
    const { code, stdout, stderr } = await run(['admin', 'ls', '--db', path]);
    expect([code, stdout]).toEqual([5, '']);
    expect(readdirSync(folder.path).sort()).toEqual(before);
    return stderr;
  };

  it('does not create one that is missing', async () => {
    expect(await refused(join(folder.path, 'typo.db'))).toMatch(
      /typo\.db does not exist; name the database file of a server/,
    );
    expect(await refused(join(folder.path, 'no', 'such', 'folder.db'))).toMatch(/does not exist/);
  });

  it('leaves what is not a task store as it is', async () => {
    const contacts = join(folder.path, 'contacts.db');
    const db = new Database(contacts);
    db.exec('create table contacts (name text)');
    db.close();
    const diary = join(folder.path, 'diary.txt');
    writeFileSync(diary, 'dear diary '.repeat(500));
    const empty = join(folder.path, 'empty.db');
    writeFileSync(empty, '');
    for (const path of [contacts, diary, empty]) {
      const before = readFileSync(path);
      expect(await refused(path), path).toMatch(/not a (task store|SQLite database)/);
      expect(readFileSync(path).equals(before), path).toBe(true);
    }
    expect(await refused(folder.path)).toMatch(/folder|not a|cannot be opened/);
  });

  it('does not bring an older store up to date', async () => {
    await store.close();
    const db = new Database(file);
    db.exec("update meta set value = '0' where key = 'schema'");
    db.close();
    const { code, stderr } = await admin('ls');
    expect([code, stderr]).toEqual([5, expect.stringMatching(/older release of longcall \(schema 0/)]);
    const after = new Database(file);
    expect(after.prepare("select value from meta where key = 'schema'").pluck().get()).toBe('0');
    after.close();
  });
});

describe('longcall admin ls', () => {
  it('lists newest first, plain and whole where nobody looks, and as JSON', async () => {
    const first = await claimed({ name: 'a tool', principal: { subject: 'alice' } });
    await store.report(first, { progress: { progress: 4, total: 9, message: 'half\u001b[2J way\nthere' } });
    const second = await claimed({ name: 'b' });
    await store.finish(second, FAILED);
    const { code, stdout, stderr } = await admin('ls');
    expect([code, stderr]).toEqual([0, '']);
    const [heading, ...lines] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^ID +STATUS +STATE +TOOL +CREATED +ATTEMPT +NOTE$/);
    const rows = [
      new RegExp(`^${second.taskId} +failed +done +b +20`),
      new RegExp(`^${first.taskId} +working +leased +a tool +20.*4/9 half way ⏎ there$`),
    ];
    const shared = lines.length === 2 && rows.every((row) => lines.some((line) => row.test(line)));
    expect(shared, stdout).toBe(true);
    expect(stdout).not.toContain('\u001b');
    const json = JSON.parse((await admin('ls', '--json')).stdout) as { tasks: { taskId: string }[] };
    expect(json.tasks.map(({ taskId }) => taskId).sort()).toEqual([first.taskId, second.taskId].sort());
  });

  it('filters and pages', async () => {
    const done = await claimed({ name: 'a' });
    await store.finish(done, DONE);
    const open = [await claimed({ name: 'a' }), await claimed({ name: 'b' })].map(({ taskId }) => taskId);
    const ids = async (...args: string[]) =>
      (JSON.parse((await admin('ls', '--json', ...args)).stdout) as { tasks: { taskId: string }[] }).tasks.map(
        ({ taskId }) => taskId,
      );
    expect((await ids('--status', 'open')).sort()).toEqual(open.sort());
    expect(await ids('--status', 'completed,failed')).toEqual([done.taskId]);
    expect((await ids('--tool', 'a')).length).toBe(2);
    expect((await ids('--since', '1h')).length).toBe(3);
    expect(await ids('--since', '2999-01-01')).toEqual([]);
    const first = await admin('ls', '--limit', '2');
    const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1] ?? '';
    const rest = await ids('--limit', '2', '--cursor', cursor);
    expect(first.stdout.split('\n').filter((line) => line.startsWith('tsk_'))).toHaveLength(2);
    expect(rest).toHaveLength(1);
    expect(first.stdout).not.toContain(rest[0]);
    const { code, stderr } = await admin('ls', '--cursor', 'rubbish');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--cursor: .*not a cursor/)]);
  });

  it('colours only for people, and never against NO_COLOR', async () => {
    await claimed();
    const colored = (env: Record<string, string>) => run(['admin', 'ls', '--db', file], env);
    expect((await colored({ CI: '1' })).stdout).not.toContain('\u001b[');
    expect((await colored({ FORCE_COLOR: '1' })).stdout).toContain('\u001b[');
    expect((await colored({ FORCE_COLOR: '1', NO_COLOR: '1' })).stdout).not.toContain('\u001b[');
  });

  it('does not mind a reader that has seen enough', async () => {
    await Promise.all(Array.from({ length: 1_000 }, () => store.create(aTask({ name: 'x'.repeat(500) }))));
    const child = start(['admin', 'ls', '--limit', '1000', '--db', file]);
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code] = (await once(child, 'close')) as [number];
    expect([code, errors.replace(/^there are more.*\n/, '')]).toEqual([0, '']);
  });
});

describe('longcall admin show', () => {
  it('shows everything but payloads, unless they are asked for', async () => {
    const lease = await claimed({ input: { token: 'secret argument' }, principal: { subject: 'alice' } });
    await store.recordStep(lease, { key: 'scan#1', name: 'scan', ordinal: 1, seq: 0, body: '"secret value"' });
    await store.ask(lease, 'merge', { kind: 'form', message: 'Merge it?', schema: { title: 'secret schema' } });
    const asking = await admin('show', lease.taskId.slice(0, 12));
    expect(asking).toMatchObject({ code: 0, stderr: '' });
    expect(asking.stdout).toMatch(/status +input_required \(leased\)/);
    expect(asking.stdout).toMatch(/lease +w1, fence 1, since 20/);
    expect(asking.stdout).toMatch(/merge +20\S+ +open +Merge it\?/);
    const answer = { action: 'accept', content: { pin: 'secret answer' } } as const;
    await store.answer(lease.taskId, { subject: 'alice' }, new Map([['merge', answer]]));
    await store.finish(lease, FAILED);
    const { stdout } = await admin('show', lease.taskId);
    expect(stdout).toMatch(/status +failed \(done\)/);
    expect(stdout).toMatch(/error +-32603 boom/);
    expect(stdout).toMatch(/principal +alice/);
    expect(stdout).toMatch(/merge +20\S+ +accept by alice, 20\S+ +Merge it\?/);
    expect(stdout).toMatch(/#1 +fence 1 +w1 +20\S+ +\S+ +failed +boom/);
    expect(stdout).toMatch(/1 +20\S+ +created\n/);
    expect(stdout).toMatch(/3 +20\S+ +step_recorded +name=scan ordinal=1\n/);
    const json = await admin('show', lease.taskId, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      status: 'failed',
      attempts: [{ outcome: 'failed' }],
      timeline: [{ type: 'created' }, { type: 'claimed' }, { type: 'step_recorded' }, {}, {}, { type: 'failed' }],
    });
    expect(`${stdout}${json.stdout}`).not.toMatch(/secret/);
    const payloads = await admin('show', lease.taskId, '--payloads');
    const full = await admin('show', lease.taskId, '--payloads', '--json');
    for (const what of ['argument', 'value', 'answer', 'data', 'schema']) {
      expect(payloads.stdout).toContain(`secret ${what}`);
      expect(full.stdout).toContain(`secret ${what}`);
    }
  });

  it('takes the beginning of an id that no other task has, with or without its mark', async () => {
    const ids = ['tsk_abcd1111', 'tsk_abcd2222', 'tsk_abcd'];
    for (const taskId of ids) await store.create(aTask({ taskId }));
    const shown = async (given: string) => {
      const { code, stdout, stderr } = await admin('show', given, '--json');
      return code === 0 ? (JSON.parse(stdout) as { taskId: string }).taskId : [code, stderr];
    };
    expect(await shown('tsk_abcd1')).toBe('tsk_abcd1111');
    expect(await shown('abcd2')).toBe('tsk_abcd2222');
    expect(await shown('tsk_abcd')).toBe('tsk_abcd');
    expect(await shown('tsk_abc')).toEqual([2, expect.stringMatching(/beginning of several ids:\n {2}tsk_abcd\n/)]);
    expect(await shown('tsk_x')).toEqual([
      3,
      'longcall: no task "tsk_x" in this file; `longcall admin ls` shows which there are\n',
    ]);
    expect(await shown('')).toEqual([2, expect.stringMatching(/give an id/)]);
  });
});

describe('longcall admin logs', () => {
  const entries = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({ level: 'info', text: `line ${from + n}`, at: 0 }) as const);

  it('prints the whole log, or its end', async () => {
    const lease = await claimed();
    await store.appendLog(lease, [{ level: 'error', text: 'bad \u001b]0;title\u0007news\rforged', at: 0 }]);
    for (let n = 0; n < 20_000; n += 500) await store.appendLog(lease, entries(n, n + 500));
    const whole = await admin('logs', lease.taskId);
    const lines = whole.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(20_001);
    expect(lines[0]).toBe('1970-01-01T00:00:00.000Z error   forged'); // As a terminal would show it, where it stands.
    expect((await admin('logs', lease.taskId, '--json')).stdout).toContain('"bad \\u001b]0;title\\u0007news\\rforged"');
    expect(lines.at(-1)).toBe('1970-01-01T00:00:00.000Z info    line 19999');
    for (const tail of [1, 3, 15_000, 20_001, 50_000]) {
      const { stdout } = await admin('logs', lease.taskId, '--tail', String(tail));
      expect(stdout.trimEnd().split('\n'), `the last ${tail}`).toEqual(lines.slice(-tail));
    }
    const json = (await admin('logs', lease.taskId, '--tail', '1', '--json')).stdout;
    expect(JSON.parse(json)).toEqual({ level: 'info', text: 'line 19999', at: 0 });
    expect(await admin('logs', 'tsk_unknown')).toMatchObject({ code: 3 });
  });

  it('prints one stream, lines since a time, or the text alone', async () => {
    const lease = await claimed();
    const long = Date.parse('2026-01-31T00:00:00Z');
    await store.appendLog(lease, [
      { level: 'info', text: '\u001b[32mok\u001b[39m', at: 0, stream: 'stdout' },
      { level: 'info', text: '\u001b[31mFAIL\u001b[39m\u001b[2J', at: 1, stream: 'stderr' },
      { level: 'info', text: '10%\r20%', at: long, stream: 'stdout' },
      { level: 'warning', text: 'logged', at: Date.now() },
    ]);
    const shown = async (...args: string[]) => (await admin('logs', lease.taskId, ...args)).stdout;
    expect(await shown('--stream', 'stderr')).toBe('1970-01-01T00:00:00.001Z stderr  FAIL\n');
    expect(await shown('--raw')).toBe('ok\nFAIL\n20%\nlogged\n');
    expect(await shown('--raw', '--since', '2026-01-31')).toBe('20%\nlogged\n');
    expect(await shown('--raw', '--since', '1h')).toBe('logged\n');
    expect(await shown('--raw', '--stream', 'stdout', '-n', '1')).toBe('20%\n');
    expect(await shown('--raw', '--since', '2026-01-01', '--tail', '10')).toBe('20%\nlogged\n');
    const inColours = await run(['admin', 'logs', lease.taskId, '--db', file, '--raw', '-n', '3'], {
      FORCE_COLOR: '1',
    });
    expect(inColours.stdout).toBe('\u001b[31mFAIL\u001b[39m\u001b[0m\n20%\nlogged\n');
    expect(JSON.parse(await shown('--json', '--stream', 'stderr'))).toEqual({
      level: 'info',
      text: '\u001b[31mFAIL\u001b[39m\u001b[2J',
      at: 1,
      stream: 'stderr',
    });
    for (const wrong of [
      ['--stream', 'stdin'],
      ['--raw', '--json'],
      ['--since', 'x'],
      ['--tail', '0'],
    ]) {
      expect((await admin('logs', lease.taskId, ...wrong)).code, wrong.join(' ')).toBe(2);
    }
  });

  it('is longcall logs too, by the id of a task, of the daemon of this user or of a file', async () => {
    const lease = await claimed();
    await store.appendLog(lease, [{ level: 'info', text: 'here', at: 0, stream: 'stdout' }]);
    const expected = { code: 0, stdout: '1970-01-01T00:00:00.000Z stdout  here\n', stderr: '' };
    // The file is called as the daemon's is, and lies where the daemon's would.
    expect(await run(['logs', lease.taskId], { LONGCALL_RUNTIME_DIR: folder.path })).toEqual(expected);
    expect(await run(['logs', lease.taskId.slice(4, 14), '--db', file])).toEqual(expected);
    const elsewhere = { LONGCALL_RUNTIME_DIR: join(folder.path, 'none'), XDG_STATE_HOME: folder.path };
    expect(await run(['logs', lease.taskId], elsewhere)).toMatchObject({ code: 3 });
  });

  it('shows what a tool logged as several lines as one entry, so that it can forge none', async () => {
    const lease = await claimed();
    const text = 'two\n1970-01-01T00:00:00.000Z error   lines\r\nand\u2028more';
    await store.appendLog(lease, [{ level: 'info', text, at: 0 }]);
    const { stdout } = await admin('logs', lease.taskId);
    expect(stdout).toBe(
      '1970-01-01T00:00:00.000Z info    two\n    1970-01-01T00:00:00.000Z error   lines\n    and\n    more\n',
    );
  });

  it('follows a task that runs, until it is over', async () => {
    const lease = await claimed();
    await store.appendLog(lease, entries(0, 3));
    const child = start(['admin', 'logs', '-f', '--tail', '2', '--db', file, lease.taskId]);
    const closed = once(child, 'close');
    const seen: string[] = [];
    let logged = 3;
    for await (const line of createInterface({ input: child.stdout })) {
      seen.push(line.replace(/^\S+ info +/, ''));
      // Each line seen leads to the next, so that nothing but following can bring it.
      if (logged < 6) {
        await store.appendLog(lease, entries(logged, logged + 1));
        logged += 1;
      } else if (seen.at(-1) === 'line 5') await store.finish(lease, DONE);
    }
    expect(seen).toEqual(['line 1', 'line 2', 'line 3', 'line 4', 'line 5']);
    expect((await closed)[0]).toBe(0);
  });
});

describe('longcall admin cancel, requeue and rm', () => {
  it('cancels by id, and says what was over already', async () => {
    const open = await claimed();
    const over = await claimed();
    await store.finish(over, DONE);
    const { code, stdout } = await admin('cancel', open.taskId.slice(0, 14), over.taskId, '--reason', 'not needed');
    expect([code, stdout]).toEqual([0, `cancelled ${open.taskId}\nalready over ${over.taskId}\n`]);
    expect(await store.finish(open, DONE)).toBe('lost');
    expect((await store.inspect(open.taskId))?.cancelReason).toBe('not needed');
    expect(await admin('cancel', 'tsk_unknown')).toMatchObject({ code: 3, stdout: '' });
  });

  it('cancels many by filter, and all only when told so', async () => {
    const a = [await claimed({ name: 'a' }), await claimed({ name: 'a' })].map(({ taskId }) => taskId);
    const b = await claimed({ name: 'b' });
    const some = await admin('cancel', '--tool', 'a', '--json');
    const { cancelled } = JSON.parse(some.stdout) as { cancelled: string[] };
    expect(cancelled.sort()).toEqual(a.sort());
    expect((await admin('cancel', '--all')).stdout).toBe(`cancelled ${b.taskId}\n`);
    expect((await admin('cancel', '--all')).stdout).toBe('nothing to cancel\n');
  });

  it('requeues what is over as a new task, and refuses what is open', async () => {
    const over = await claimed({ input: { n: 7 } });
    await store.finish(over, FAILED);
    const { code, stdout } = await admin('requeue', over.taskId);
    const [, as = ''] = /^requeued \S+ as (tsk_\S+)\n$/.exec(stdout) ?? [];
    expect(code).toBe(0);
    const [again] = await store.claim([as], { workerId: 'w2', leaseMs: 1_000 });
    expect(again?.input).toEqual({ n: 7 });
    expect(await admin('requeue', as)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/still open.*cancel first/),
    });
    expect(await admin('requeue', 'tsk_unknown')).toMatchObject({ code: 3 });
  });

  it('requeues nothing that no handler could run', async () => {
    const held = await claimed({ onWorkerLost: 'held' });
    await store.finish(held, FAILED);
    expect(await admin('requeue', held.taskId)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`has to be called again: ${held.taskId}`),
    });
  });

  it('removes tasks with everything there is of them', async () => {
    const lease = await claimed();
    await store.appendLog(lease, [{ level: 'info', text: 'x', at: 0 }]);
    expect(await admin('rm', lease.taskId)).toEqual({ code: 0, stdout: `removed ${lease.taskId}\n`, stderr: '' });
    expect(await store.inspect(lease.taskId)).toBeUndefined();
    expect(await admin('rm', lease.taskId)).toMatchObject({ code: 3 });
    expect(existsSync(file)).toBe(true);
  });
});

describe('longcall admin on an encrypted file', () => {
  const keys = { one: randomBytes(32).toString('base64'), two: randomBytes(32).toString('base64') };
  const keyFile = (use: keyof typeof keys, known: Partial<typeof keys>) => {
    const path = join(folder.path, `keys-${use}-${Object.keys(known).length}.json`);
    writeFileSync(path, JSON.stringify({ use, keys: known }), { mode: 0o600 });
    return path;
  };
  let encrypted: string;
  let sealing: TaskStore;
  let taskId: string;
  beforeEach(async () => {
    encrypted = join(folder.path, 'encrypted.db');
    const encryption = { file: keyFile('one', { one: keys.one }) };
    ({ store: sealing } = await sqliteStore(encrypted, { encryption }).open(environment));
    const { task } = await sealing.create(aTask({ input: { text: 'hush' }, labels: { team: 'hush' } }));
    ({ taskId } = task);
    const [claim] = await sealing.claim([taskId], { workerId: 'w', leaseMs: 60_000 });
    await sealing.appendLog(claim?.lease as never, [{ level: 'info', text: 'hush', at: 1 }]);
    await sealing.finish(claim?.lease as never, FAILED);
  });
  afterEach(() => sealing.close());

  it('shows what is readable without keys, says which key the rest needs, and takes it by option or environment', async () => {
    const short = taskId.slice(0, 12);
    const shut = await run(['admin', 'show', short, '--db', encrypted]);
    expect(shut).toMatchObject({ code: 0, stderr: '' });
    expect(shut.stdout).toMatch(/status +failed \(done\)/);
    expect(shut.stdout).toMatch(/encrypted +what is missing does not open; it needs key "one" \(--key-file\)/);
    expect(shut.stdout).not.toMatch(/hush|boom/);
    expect((await run(['admin', 'ls', '--db', encrypted])).stdout).toMatch(/failed.*\(encrypted\)/);
    for (const command of [
      ['show', short, '--payloads'],
      ['logs', short],
      ['requeue', short],
    ]) {
      const { code, stdout, stderr } = await run(['admin', ...command, '--db', encrypted]);
      expect([code, stdout]).toEqual([5, '']);
      expect(stderr).toMatch(/key "one".*--key-file|no keys.*--key-file/);
    }
    const path = keyFile('one', { one: keys.one });
    const open = ['admin', 'show', short, '--payloads', '--db', encrypted];
    expect((await run([...open, '--key-file', path])).stdout).toMatch(/boom[\s\S]*"text": "hush"/);
    expect((await run(open, { LONGCALL_KEY_FILE: path })).stdout).toMatch(/boom[\s\S]*"text": "hush"/);
    chmodSync(path, 0o644);
    expect(await run([...open, '--key-file', path])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/chmod 600/),
    });
  });

  it('rotates keys: everything is encrypted with the new one, and then it opens without the old one', async () => {
    const alone = keyFile('two', { two: keys.two });
    const refused = await run(['admin', 'ls', '--db', encrypted, '--key-file', alone]);
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringMatching(/encrypted with key "one"/) });
    const both = keyFile('two', keys);
    const rekeyed = await run(['admin', 'rekey', '--db', encrypted, '--key-file', both]);
    expect(rekeyed).toMatchObject({ code: 0, stderr: '' });
    expect(rekeyed.stdout).toMatch(
      /encrypted \d+ rows anew with key "two"; 0 of them.*\nnothing in the database needs another key/,
    );
    expect((await run(['admin', 'rekey', '--db', encrypted, '--key-file', both, '--json'])).stdout).toBe(
      `${JSON.stringify({ key: 'two', rows: 0, plain: 0, left: {} })}\n`,
    );
    const shown = await run(['admin', 'show', taskId, '--payloads', '--db', encrypted, '--key-file', alone]);
    expect(shown.stdout).toMatch(/boom[\s\S]*"text": "hush"/);
  });

  it('encrypts a file that was not, and says what is left of its text until the file is written anew', async () => {
    await store.create(aTask({ input: 'a word to be found' }));
    const found = () =>
      readdirSync(folder.path).some(
        (name) =>
          name.startsWith('tasks.db') &&
          statSync(join(folder.path, name)).isFile() &&
          readFileSync(join(folder.path, name)).includes('a word to be found'),
      );
    expect(found()).toBe(true);
    const path = keyFile('one', { one: keys.one });
    const { code, stdout, stderr } = await run(['admin', 'rekey', '--db', file, '--key-file', path]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/encrypted (\d+) rows anew with key "one"; \1 of them had not been encrypted/);
    expect(stderr).toMatch(/--vacuum/);
    expect((await run(['admin', 'rekey', '--db', file, '--key-file', path, '--vacuum'])).code).toBe(0);
    expect(found()).toBe(false);
  });
});
