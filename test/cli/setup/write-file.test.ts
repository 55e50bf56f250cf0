import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readText, replaceFile } from '../../../src/cli/gateway/setup/write-file.ts';
import { scratchFolder } from '../../support/stores.ts';

const now = Date.parse('2026-11-30T09:15:00.123Z');
let folder: ReturnType<typeof scratchFolder>;
let file: string;
beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'mcp.json');
});
afterEach(() => folder.remove());

const mode = (path: string): number => statSync(path).mode & 0o777;

describe('a file that is replaced', () => {
  it.each([
    [0o644, false, 0o644],
    [0o644, true, 0o600],
    [0o600, true, 0o600],
    [0o666, false, 0o666],
    [0o400, true, 0o400],
  ])('keeps its mode %o, and its copy (secrets: %s) has %o', (before, secret, copied) => {
    writeFileSync(file, 'old');
    chmodSync(file, before);
    const copy = replaceFile(file, { before: 'old', text: 'new', secret, now });
    expect(copy).toBe(`${file}.longcall-backup-20261130T091500Z`);
    expect([readFileSync(file, 'utf8'), mode(file)]).toEqual(['new', before]);
    expect([readFileSync(copy ?? '', 'utf8'), mode(copy ?? '')]).toEqual(['old', copied]);
    expect(readdirSync(folder.path)).toHaveLength(2);
  });

  it('leaves copies that are there alone', () => {
    writeFileSync(file, '1');
    const first = replaceFile(file, { before: '1', text: '2', secret: false, now });
    const second = replaceFile(file, { before: '2', text: '3', secret: false, now });
    expect(second).toBe(`${first}-2`);
    expect([first, second].map((copy) => readFileSync(copy ?? '', 'utf8'))).toEqual(['1', '2']);
  });

  it('stays what a link points to', () => {
    mkdirSync(join(folder.path, 'dotfiles'));
    const target = join(folder.path, 'dotfiles', 'real.json');
    writeFileSync(target, 'old', { mode: 0o640 });
    symlinkSync(target, file);
    const copy = replaceFile(file, { before: 'old', text: 'new', secret: false, now });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect([readFileSync(target, 'utf8'), mode(target)]).toEqual(['new', 0o640]);
    expect(copy?.endsWith('real.json.longcall-backup-20261130T091500Z')).toBe(true);
  });

  it('is another file afterwards, so that who reads the old one reads it to its end', () => {
    writeFileSync(file, 'old');
    const before = statSync(file).ino;
    replaceFile(file, { before: 'old', text: 'new', secret: false, now });
    expect(statSync(file).ino).not.toBe(before);
  });

  it('is left alone when somebody else has changed it', () => {
    writeFileSync(file, 'theirs');
    expect(() => replaceFile(file, { before: 'old', text: 'new', secret: false, now })).toThrow(
      'was changed meanwhile',
    );
    expect(() => replaceFile(file, { before: undefined, text: 'new', secret: false, now })).toThrow('was changed');
    expect([readdirSync(folder.path), readFileSync(file, 'utf8')]).toEqual([['mcp.json'], 'theirs']);
  });

  it('is made for its owner when there is none', () => {
    expect(replaceFile(file, { before: undefined, text: 'new', secret: false, now })).toBeUndefined();
    expect([readFileSync(file, 'utf8'), mode(file)]).toEqual(['new', 0o600]);
  });

  it('is not made in the place of a link that points to nothing', () => {
    symlinkSync(join(folder.path, 'gone.json'), file);
    expect(() => replaceFile(file, { before: undefined, text: 'new', secret: false, now })).toThrow(
      'is a link to a file',
    );
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  });

  it('leaves nothing behind when it cannot be written', () => {
    const inNoFolder = join(folder.path, 'none', 'mcp.json');
    expect(() => replaceFile(inNoFolder, { before: undefined, text: 'x', secret: false, now })).toThrow(
      /none\/mcp\.json: cannot be written: ENOENT/,
    );
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe('a file that is read', () => {
  it('keeps its byte order mark, is told when it is not UTF-8, and may not be there', () => {
    writeFileSync(file, '\ufeff{}');
    expect(readText(file)).toBe('\ufeff{}');
    writeFileSync(file, Buffer.from([0x7b, 0xe9, 0x7d]));
    expect(() => readText(file)).toThrow('is no text in UTF-8');
    expect(readText(join(folder.path, 'none'))).toBeUndefined();
    expect(() => readText(folder.path)).toThrow('EISDIR');
  });
});
