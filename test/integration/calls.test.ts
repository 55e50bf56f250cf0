import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import * as commands from './commands.ts';
import { aPlace, command, listening, type Place, until } from './processes.ts';

// The command as people run it: the built file, as a process, on servers that are processes too.

let place: Place;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  place = aPlace();
  env = {
    ...process.env,
    XDG_STATE_HOME: join(place.folder, 'state'),
    NO_COLOR: '1',
    SHELL: '/bin/sh',
    LONGCALL_JOURNAL: '',
  };
});

const around = () => ({ env });
const longcall = (...args: string[]) => commands.longcall(around(), ...args);
const run = (args: string[], stdin?: string) => commands.cli(around(), args, stdin);
const atTerminal = (...args: string[]) => commands.atTerminal(around(), ...args);
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

async function served(): Promise<string> {
  const { url } = await listening(place);
  expect(await run(['call', 'fx', 'greet', 'name=you', '--url', url])).toMatchObject({
    code: 0,
    stdout: 'hello you\n',
  });
  return url;
}

describe('longcall call', { timeout: 60_000 }, () => {
  it('ends with a code for each end, and keeps its files from others', async () => {
    await served();
    expect(await run(['call', 'fx', 'count', 'to=3'])).toMatchObject({ code: 0, stdout: 'sum 6\n' });
    expect(await run(['call', 'fx', 'count', '-'], '{"to":2}')).toMatchObject({ code: 0, stdout: 'sum 3\n' });
    expect(await run(['call', 'fx', 'report'])).toMatchObject({ code: 1, stdout: 'no such film\n' });
    const broken = await run(['call', 'fx', 'broken']);
    expect(broken).toMatchObject({ code: 1, stdout: '' });
    expect(broken.stderr).toContain('the projector broke');
    expect(await run(['call', 'fx', 'count', 'to=x'])).toMatchObject({ code: 2, stdout: '' });
    expect((await run(['call', 'fx', 'none'])).code).toBe(3);
    expect((await run(['call', 'none', 'count'])).code).toBe(3);
    expect((await run(['wait', 'none'])).code).toBe(3);
    expect((await run(['call', 'dead', 'x', '--url', 'http://127.0.0.1:1/mcp'])).code).toBe(5);
    expect((await run(['ls', '--journal', join(place.folder, 'none.db')])).code).toBe(5);
    const folder = join(place.folder, 'state', 'longcall');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'calls.db')).mode & 0o777).toBe(0o600);
  });

  it('tells programs a line each, and people nothing that moves', async () => {
    await served();
    const { code, stdout, stderr } = await run(['call', 'fx', 'count', 'to=2', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = lines(stdout);
    expect(events[0]).toMatchObject({ event: 'called', call: { server: 'fx', tool: 'count' } });
    expect(events.at(-1)).toMatchObject({ event: 'ended', call: { end: { kind: 'completed' } } });
    const plain = await run(['call', 'fx', 'count', 'to=2']);
    expect(plain.stdout + plain.stderr).not.toContain(String.fromCharCode(27));
  });

  it('goes on after kill -9, and every step ran once', async () => {
    await served();
    const { child, text, ended } = longcall('call', 'fx', 'count', 'to=3', 'waitAt=2');
    const id = await until('the second step', () =>
      place.ran().includes('step 2') && /^working/m.test(text.stderr)
        ? /^(\S+) {2}fx: count/m.exec(text.stderr)?.[1]
        : undefined,
    );
    child.kill('SIGKILL');
    await ended;
    expect(await run(['wait', id, '--timeout', '300ms'])).toMatchObject({ code: 124, stdout: '' });
    expect((await run(['result', id])).code).toBe(124);
    place.go();
    expect(await run(['wait', id])).toMatchObject({ code: 0, stdout: 'sum 6\n' });
    expect(await run(['result', id])).toMatchObject({ code: 0, stdout: 'sum 6\n' });
    expect(place.ran()).toEqual(['step 1', 'step 2', 'step 3']);
  });

  it('finds a server again that is a command, and one of a host by its file', async () => {
    const { command: file, args } = command('stdio', place.database, place.folder);
    const detached = await run(['call', 'near', 'count', 'to=3', '--detach', '--', file, ...args]);
    expect(detached).toMatchObject({ code: 0, stdout: expect.stringMatching(/^call_/) });
    expect(await run(['wait', detached.stdout.trim()])).toMatchObject({ code: 0, stdout: 'sum 6\n' });

    const config = join(place.folder, 'mcp.json');
    writeFileSync(
      config,
      JSON.stringify({ mcpServers: { host: { command: file, args, env: { TOKEN: 'topsecret' } } } }),
    );
    const asked = await run(['call', 'host', 'ask', '--detach', '--config', config]);
    const id = asked.stdout.trim();
    expect((await run(['answer', id, 'color=red'])).stderr).toContain('field "color": there is none of this name');
    expect(await run(['answer', id, 'colour=red'])).toMatchObject({ code: 0 });
    expect(await run(['wait', id])).toMatchObject({ code: 0, stdout: 'painted red\n' });
    const kept = join(place.folder, 'state', 'longcall', 'calls.db.servers');
    const all = readdirSync(kept).map((name) => readFileSync(join(kept, name), 'utf8'));
    expect(all).toHaveLength(2);
    expect(all.join('')).not.toContain('topsecret');
    const other = await run(['call', 'near', 'quick', '--url', 'http://127.0.0.1:1/mcp']);
    expect(other.code).toBe(5); // Another server under a name without open calls.
  });

  it('lists, shows, answers, cancels and removes', async () => {
    const url = await served();
    const id = (await run(['call', 'fx', 'ask', '--detach'])).stdout.trim();
    const short = id.slice(0, 13);
    await until('its question', async () =>
      (await run(['get', short])).stdout.includes('Which colour?') ? true : undefined,
    );
    expect((await run(['answer', short])).stderr).toContain('colour=string');
    expect((await run(['rm', short])).code).toBe(2);
    expect((await run(['call', 'fx', 'quick', '--url', `${url}?other`])).code).toBe(2); // The name has an open call.
    expect(await run(['answer', short, '--decline', '--json'])).toMatchObject({ code: 0 });
    expect(await run(['wait', short])).toMatchObject({ code: 0, stdout: 'not painted: decline\n' });
    expect((await run(['answer', short, 'colour=x'])).code).toBe(3);

    const waiting = (await run(['call', 'fx', 'wait', '--detach'])).stdout.trim();
    expect(lines((await run(['ls', '--open', '--json'])).stdout)[0].calls).toMatchObject([{ id: waiting }]);
    expect(await run(['cancel', waiting])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cancelled/) });
    expect((await run(['wait', waiting])).code).toBe(4);
    expect((await run(['logs', id])).code).toBe(0);
    expect((await run(['rm', id, waiting])).code).toBe(0);
    expect((await run(['result', id])).code).toBe(3);
  });
});

describe('at a terminal', { timeout: 60_000 }, () => {
  it('leaves at Ctrl-C and says how to go on', async () => {
    await served();
    const { type, shows, screen, ended } = atTerminal('call', 'fx', 'count', 'to=3', 'waitAt=2');
    await shows('1/3');
    expect(screen.stdout).toMatch(/\[#+\.+\] 33%/);
    type('\u0003');
    await shows('longcall wait ');
    expect(await ended).toBe(124);
    const id = /longcall wait (\S+)/.exec(screen.stdout)?.[1] ?? '';
    place.go();
    expect(await run(['wait', id])).toMatchObject({ code: 0, stdout: 'sum 6\n' });
  });

  it('cancels at the second Ctrl-C', async () => {
    await served();
    const { type, shows, ended } = atTerminal('call', 'fx', 'wait');
    await shows('working');
    type('\u0003');
    await shows('Ctrl-C again');
    type('\u0003');
    await shows('cancelling');
    expect(await ended).toBe(4);
  });

  it('asks in a form what the tool asks', async () => {
    await served();
    const { type, shows, ended, screen } = atTerminal('call', 'fx', 'ask');
    await shows('What now?');
    expect(screen.stdout).toContain('Which colour?');
    type('\r');
    await shows(`${String.fromCharCode(0x25c6)}  colour`); // The field, to be filled in now.
    type('green\r');
    await shows('painted green');
    expect(await ended).toBe(0);
  });
});
