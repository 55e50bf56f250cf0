import { chownSync, lchownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StoreRefusedError, systemClock, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { Bell } from '../../src/store/sqlite/bell.ts';
import { assertOwn } from '../../src/store/sqlite/ownership.ts';
import { aTask } from '../../src/testing/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { scratchFolder, silent } from '../support/stores.ts';

const me = process.getuid?.() ?? 0;
/** Somebody who is neither us nor root, as far as files can be given away; else everybody but us is. */
const stranger = me === 0 ? 54_321 : me;
const self = me === 0 ? 12_345 : me + 1;

function place(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'tasks.db');
}

describe.skipIf(process.platform === 'win32')('what another user of the machine laid beside a database', () => {
  it.each(['', '-wal', '-shm', '-journal', '.bell'])('is not written to: a file tasks.db%s', (suffix) => {
    const file = place();
    writeFileSync(file + suffix, 'his');
    if (me === 0) chownSync(file + suffix, stranger, stranger);
    expect(() => assertOwn(file, self)).toThrow(StoreRefusedError);
    expect(() => assertOwn(file, self)).toThrow(/belongs to another user \(uid \d+\); run as that user/);
    expect(readFileSync(file + suffix, 'utf8')).toBe('his');
  });

  it('is not written to: a folder of workers', () => {
    const file = place();
    mkdirSync(`${file}.workers`);
    if (me === 0) chownSync(`${file}.workers`, stranger, stranger);
    expect(() => assertOwn(file, self)).toThrow(/tasks\.db\.workers belongs to another user/);
  });

  it('is not followed: a link, whoever has the file it leads to', () => {
    const file = place();
    const ours = `${file}.ours`;
    writeFileSync(ours, '');
    symlinkSync(ours, file);
    if (me === 0) {
      chownSync(ours, self, self);
      lchownSync(file, stranger, stranger);
    }
    expect(() => assertOwn(file, self)).toThrow(/tasks\.db belongs to another user/);
  });

  it('is fine where it is our own, or root looks after it', () => {
    const file = place();
    writeFileSync(file, '');
    if (me === 0) chownSync(file, stranger, stranger);
    expect(() => assertOwn(file, stranger)).not.toThrow();
    expect(() => assertOwn(file, 0)).not.toThrow();
    expect(() => assertOwn(file, undefined)).not.toThrow();
  });
});

describe.skipIf(process.platform === 'win32')('a link that lies where files of a store go', () => {
  it('is no way to have a file of ours emptied', () => {
    const file = place();
    writeFileSync(file, 'dear diary');
    symlinkSync(file, `${file}.bell`);
    expect(() => new Bell(`${file}.bell`, () => {}, silent)).toThrow(/ELOOP/);
    expect(readFileSync(file, 'utf8')).toBe('dear diary');
  });

  it('keeps no store from working: other changes are polled for', async () => {
    const file = place();
    const diary = `${file}.diary`;
    writeFileSync(diary, 'dear diary');
    symlinkSync(diary, `${file}.bell`);
    const { logger, lines } = recordingLogger();
    const { store, dispatcher } = await sqliteStore(file).open({ clock: systemClock, random: systemRandom, logger });
    dispatcher.onBell(() => {});
    expect(await store.create(aTask())).toMatchObject({ outcome: 'created' });
    expect(lines.map(({ level, message }) => `${level}: ${message}`)).toContain(
      'warn: the bell file cannot be used; polling for changes instead',
    );
    await store.close();
    expect(readFileSync(diary, 'utf8')).toBe('dear diary');
  });

  it('may be our own: a database behind it is opened', async () => {
    const file = place();
    symlinkSync(`${file}.elsewhere`, file);
    const { store } = await sqliteStore(file).open({ clock: systemClock, random: systemRandom, logger: silent });
    expect(await store.create(aTask())).toMatchObject({ outcome: 'created' });
    await store.close();
    expect(readFileSync(`${file}.elsewhere`).subarray(0, 15).toString()).toBe('SQLite format 3');
  });
});
