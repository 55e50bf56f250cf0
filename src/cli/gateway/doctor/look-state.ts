import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../core/index.ts';
import { privateFolder } from '../../../gateway/daemon/private-folder.ts';
import { logPath, oldLogPath } from '../../../gateway/daemon/rotating-log.ts';
import { probeLocks } from '../../../store/sqlite/lock-probe.ts';
import { lookAtStore } from '../../../store/sqlite/look.ts';
import { networkFileSystem } from '../../../store/sqlite/open.ts';
import type { StateFacts } from './facts.ts';

/** File systems that do not last, by `statfs` magic number. */
const PASSING = new Map<number, NonNullable<StateFacts['fileSystem']>>([
  [0x01021994, { name: 'tmpfs', kind: 'memory' }],
  [0x858458f6, { name: 'ramfs', kind: 'memory' }],
  [0x794c7630, { name: 'overlayfs', kind: 'container' }],
]);

/**
 * Looks at the folder of the state. What is tried is tried in a folder of its own in it, which is removed again; nothing that is
 * there is touched.
 */
export async function lookAtState(folder: string, of: StateFacts['of'], clock: Clock): Promise<StateFacts> {
  const exists = existsSync(folder);
  const place = nearest(folder);
  const disk = statfsSync(place);
  const fileSystem = fileSystemOf(disk.type);
  const refused = exists ? refusalOf(folder) : undefined;
  const writable = canWrite(place);
  const sizes = {
    tasks: sizeOf(join(folder, 'tasks.db')) + sizeOf(join(folder, 'tasks.db-wal')),
    calls: sizeOf(join(folder, 'calls.db')) + sizeOf(join(folder, 'calls.db-wal')),
    log: sizeOf(logPath(folder)) + sizeOf(oldLogPath(folder)),
  };
  return {
    folder,
    exists,
    of,
    writable,
    freeBytes: disk.bavail * disk.bsize,
    sizes,
    ...(refused !== undefined && { refused }),
    ...(fileSystem !== undefined && { fileSystem }),
    ...(exists && writable && (refused === undefined || of === 'gateway') && (await tried(folder, clock))),
    ...stored(folder, exists),
  };
}

/** The folder, or the one above it in which it would be made. */
function nearest(folder: string): string {
  let place = folder;
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place);
  return place;
}

function fileSystemOf(type: number): StateFacts['fileSystem'] {
  const network = networkFileSystem(type);
  return network === undefined ? PASSING.get(type >>> 0) : { name: network, kind: 'network' };
}

function refusalOf(folder: string): string | undefined {
  try {
    privateFolder(folder);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function canWrite(place: string): boolean {
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function stored(folder: string, exists: boolean): Pick<StateFacts, 'store' | 'unreadable'> {
  try {
    if (exists) accessSync(folder, constants.R_OK | constants.X_OK); // Else it would look empty.
    const store = lookAtStore(join(folder, 'tasks.db'));
    return store === undefined ? {} : { store };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

async function tried(folder: string, clock: Clock): Promise<Pick<StateFacts, 'locks' | 'fsync'>> {
  let own: string | undefined;
  try {
    own = mkdtempSync(join(folder, '.doctor-'));
    return { locks: await probeLocks(own), fsync: flushed(own, clock) };
  } catch (error) {
    return { fsync: { failed: (error as Error).message } };
  } finally {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
  }
}

function flushed(folder: string, clock: Clock): StateFacts['fsync'] & object {
  const fd = openSync(join(folder, 'flushed'), 'wx', 0o600);
  try {
    writeSync(fd, 'x'.repeat(4_096));
    const began = clock.monotonic();
    fsyncSync(fd);
    return { ms: clock.monotonic() - began };
  } catch (error) {
    return { failed: (error as Error).message };
  } finally {
    closeSync(fd);
  }
}
