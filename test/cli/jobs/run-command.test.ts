import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandLine, runCommand } from '../../../src/cli/jobs/run-command.ts';
import { scratchFolder } from '../../support/stores.ts';

let folder: string;
beforeEach(() => {
  const scratch = scratchFolder();
  onTestFinished(scratch.remove);
  folder = scratch.path;
});

const env = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({ PATH: '/bin:/usr/bin', ...more });

describe('what longcall run hands over', () => {
  it('is the command, its folder, and the environment of the terminal', () => {
    const given = env({ HOME: '/home/me', TERM: 'xterm', PWD: '/elsewhere', _: '/usr/bin/longcall' });
    const { handed, words } = runCommand(['sh', '-c', 'echo $HOME'], { cwd: folder }, given);
    const { id, ...rest } = handed;
    expect(id).toMatch(/^[\w-]{20,}$/);
    expect(rest).toEqual({
      file: 'sh',
      args: ['-c', 'echo $HOME'],
      cwd: folder,
      env: { PATH: '/bin:/usr/bin', HOME: '/home/me', TERM: 'xterm', PWD: folder },
      secrets: [],
    });
    expect(words).toEqual(['sh', '-c', 'echo $HOME']);
    expect(runCommand(['sh'], {}, given).handed.cwd).toBe(process.cwd());
    expect(runCommand(['sh'], {}, given, 'typed\n').handed.stdin).toBe('typed\n');
    expect(runCommand(['sh'], {}, given).handed.id).not.toBe(id);
  });

  it('has variables as they are named, and nothing of a task that it is started in', () => {
    const given = env({
      MINE: 'here',
      LONGCALL_ASK_URL: 'u',
      LONGCALL_ASK_TOKEN: 't',
      LONGCALL_JOB: 'j',
      LONGCALL_JOURNAL: 'c',
    });
    const { handed } = runCommand(['sh'], { cwd: folder, env: ['A=1', 'B=x=y', 'EMPTY=', 'MINE', 'PATH=/bin'] }, given);
    expect(handed.env).toEqual({
      PATH: '/bin',
      MINE: 'here',
      A: '1',
      B: 'x=y',
      EMPTY: '',
      LONGCALL_JOURNAL: 'c',
      PWD: folder,
    });
    expect(() => runCommand(['sh'], { env: ['NONE'] }, given)).toThrow(
      '--env NONE: the environment variable is not set',
    );
    expect(() => runCommand(['sh'], { env: ['=x'] }, given)).toThrow('--env: expected NAME or NAME=VALUE');
  });

  it('has secrets that stand in no word that is kept', () => {
    const given = env({ TOKEN: 's3cr3t-value', SHORT: 'abc' });
    const { handed, words } = runCommand(['sh', '--token=s3cr3t-value'], { secretEnv: ['TOKEN'] }, given);
    expect(handed).toMatchObject({ args: ['--token=s3cr3t-value'], secrets: ['s3cr3t-value'] });
    expect(words).toEqual(['sh', '--token=[redacted]']);
    const named = { secretEnv: ['TOKEN'], env: ['TOKEN=another'] };
    expect(runCommand(['sh'], named, given).handed.secrets).toEqual(['another']);
    expect(() => runCommand(['sh'], { secretEnv: ['NONE'] }, given)).toThrow('--secret-env NONE: the environment');
    expect(() => runCommand(['sh'], { secretEnv: ['SHORT'] }, given)).toThrow('less than 4 letters');
  });

  it('is looked for before anything is started, as a shell does', () => {
    const tools = join(folder, 'tools');
    mkdirSync(tools);
    writeFileSync(join(tools, 'mine'), '#!/bin/sh\n');
    const given = env({ PATH: `${tools}:/bin` });
    expect(() => runCommand(['mine'], {}, given)).toThrow(expect.objectContaining({ exitCode: 126 }));
    chmodSync(join(tools, 'mine'), 0o755);
    expect(runCommand(['mine'], {}, given).handed.file).toBe('mine');
    expect(runCommand(['./mine'], { cwd: tools }, env()).handed.file).toBe('./mine');
    expect(runCommand(['mine'], { env: [`PATH=${tools}`] }, env()).handed.file).toBe('mine');
    const none = expect.objectContaining({ message: 'mine: no such program', exitCode: 127 });
    expect(() => runCommand(['mine'], {}, env())).toThrow(none);
    expect(() => runCommand(['./mine'], { cwd: folder }, env())).toThrow(expect.objectContaining({ exitCode: 127 }));
    expect(() => runCommand([tools], {}, env())).toThrow(expect.objectContaining({ exitCode: 127 }));
  });

  it('is a command, in a folder that there is', () => {
    expect(() => runCommand([], {}, env())).toThrow(expect.objectContaining({ exitCode: 2 }));
    const tooMuch = expect.objectContaining({ message: expect.stringContaining('read a file'), exitCode: 2 });
    expect(() => runCommand(['sh'], {}, env(), 'x'.repeat(4 * 1024 * 1024))).toThrow(tooMuch);
    expect(() => runCommand(['sh'], { cwd: join(folder, 'none') }, env())).toThrow('--cwd: there is no folder');
  });

  it('is shown as it could be typed', () => {
    expect(commandLine(['npx', 'vitest', 'run', '--bail=1', 'a b', "it's", '', '$x'])).toBe(
      `npx vitest run --bail=1 'a b' 'it'\\''s' '' '$x'`,
    );
  });
});
