import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemRandom } from '../../../src/core/index.ts';
import { socketPath } from '../../../src/gateway/daemon/address.ts';
import { daemonFolder, privateFolder } from '../../../src/gateway/daemon/private-folder.ts';
import { ensureSecret, readSecret } from '../../../src/gateway/daemon/secret.ts';
import { scratchFolder } from '../../support/stores.ts';

const isRoot = process.getuid?.() === 0;
const modeOf = (path: string): number => statSync(path).mode & 0o7777;

function scratch(): string {
  const { path, remove } = scratchFolder();
  onTestFinished(remove);
  return path;
}

describe('the folder of a daemon', () => {
  it('is the one that was named, or lies in the state folder', () => {
    expect(daemonFolder('/named', { LONGCALL_RUNTIME_DIR: '/variable' })).toBe('/named');
    expect(daemonFolder(undefined, { LONGCALL_RUNTIME_DIR: '/variable', XDG_STATE_HOME: '/state' })).toBe('/variable');
    expect(daemonFolder('', { LONGCALL_RUNTIME_DIR: '', XDG_STATE_HOME: '/state' })).toBe('/state/longcall/gateway');
    expect(daemonFolder(undefined, { XDG_STATE_HOME: 'relative' })).toBe(
      join(homedir(), '.local/state/longcall/gateway'),
    );
  });

  it('is made for its owner alone', () => {
    const path = join(scratch(), 'a', 'b');
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    expect(privateFolder(path)).toBe(path);
    expect(modeOf(path)).toBe(0o700);
    expect(modeOf(join(path, '..'))).toBe(0o700);
    expect(privateFolder(path)).toBe(path);
  });

  it.each([0o750, 0o701, 0o777, 0o720])('is refused when it is open to others: %o', (mode) => {
    const path = join(scratch(), 'open');
    mkdirSync(path);
    chmodSync(path, mode);
    expect(() => privateFolder(path)).toThrow(`mode ${mode.toString(8)}): chmod 700 ${path}`);
    expect(readdirSync(path)).toEqual([]);
  });

  it('is refused when it is a link, also to a good one, or a file', () => {
    const place = scratch();
    privateFolder(join(place, 'good'));
    symlinkSync(join(place, 'good'), join(place, 'link'));
    symlinkSync(join(place, 'nothing'), join(place, 'dangling'));
    writeFileSync(join(place, 'file'), '');
    for (const name of ['link', 'dangling', 'file']) {
      expect(() => privateFolder(join(place, name))).toThrow(expect.objectContaining({ code: 'DAEMON_FOLDER' }));
    }
    expect(existsSync(join(place, 'nothing'))).toBe(false);
  });

  it('is found through links above it, and then named without them', () => {
    const place = scratch();
    mkdirSync(join(place, 'real'), { mode: 0o700 });
    symlinkSync(join(place, 'real'), join(place, 'link'));
    expect(privateFolder(join(place, 'link', 'state'))).toBe(join(place, 'real', 'state'));
  });

  it('is refused where everybody could put another in its place', () => {
    const place = scratch();
    mkdirSync(join(place, 'shared'));
    chmodSync(join(place, 'shared'), 0o777);
    const path = join(place, 'shared', 'state');
    expect(() => privateFolder(path)).toThrow('others can replace it');
    chmodSync(join(place, 'shared'), 0o1777); // As /tmp: only its owner removes what is in it.
    expect(privateFolder(path)).toBe(path);
  });

  it.runIf(isRoot)("is refused when it is somebody else's, or lies in what is", () => {
    const place = scratch();
    const path = privateFolder(join(place, 'theirs', 'state'));
    chownSync(join(place, 'theirs'), 12_345, 12_345);
    expect(() => privateFolder(path)).toThrow('belongs to another user (12345)');
    chownSync(join(place, 'theirs'), 0, 0);
    chownSync(path, 12_345, 12_345);
    expect(() => privateFolder(path)).toThrow('it belongs to another user (12345)');
  });
});

describe('the secret of a daemon', () => {
  it('is made once, for its owner alone, and whole', () => {
    const folder = privateFolder(join(scratch(), 'state'));
    expect(readSecret(folder)).toBeUndefined();
    const secret = ensureSecret(folder, systemRandom);
    expect(secret).toHaveLength(32);
    expect(ensureSecret(folder, systemRandom)).toEqual(secret);
    expect(readSecret(folder)).toEqual(secret);
    expect(readdirSync(folder)).toEqual(['secret']);
    expect(modeOf(join(folder, 'secret'))).toBe(0o600);
  });

  it('is refused when it is open to others or damaged, and not made anew', () => {
    const folder = privateFolder(join(scratch(), 'state'));
    ensureSecret(folder, systemRandom);
    const path = join(folder, 'secret');
    chmodSync(path, 0o640);
    expect(() => readSecret(folder)).toThrow(`chmod 600 ${path}`);
    chmodSync(path, 0o600);
    writeFileSync(path, 'abc');
    expect(() => ensureSecret(folder, systemRandom)).toThrow('is damaged');
  });
});

describe('the socket of a daemon', () => {
  const long = `/${'x'.repeat(100)}`;

  it('lies in its folder, or where that is too long for a socket, among those of the user', () => {
    expect(socketPath('/state', {})).toBe('/state/daemon.sock');
    const XDG_RUNTIME_DIR = privateFolder(join(scratch(), 'run'));
    const path = socketPath(long, { XDG_RUNTIME_DIR });
    expect(path).toMatch(/\/run\/longcall-[0-9a-f]{16}\.sock$/);
    expect(socketPath(`${long}y`, { XDG_RUNTIME_DIR })).not.toBe(path);
  });

  it('has no place where neither will do, and the error says what would', () => {
    const open = join(scratch(), 'run');
    mkdirSync(open);
    chmodSync(open, 0o755);
    expect(() => socketPath(long, {})).toThrow(/103 bytes.*--state or LONGCALL_RUNTIME_DIR, or set XDG_RUNTIME_DIR/);
    expect(() => socketPath(long, { XDG_RUNTIME_DIR: 'relative' })).toThrow('103 bytes');
    expect(() => socketPath(long, { XDG_RUNTIME_DIR: open })).toThrow('open to others');
  });
});
