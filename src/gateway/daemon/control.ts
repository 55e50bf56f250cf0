import { existsSync, rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { isAlive, type ProcessIdentity } from '../../adapters/processes/process-table.ts';
import type { Clock, JsonObject, RandomSource } from '../../core/index.ts';
import { FileLock } from '../../store/sqlite/file-lock.ts';
import { connectDaemon } from './connect.ts';
import { lockPath } from './daemon.ts';
import { DaemonError } from './errors.ts';
import { FolderNews } from './folder-news.ts';
import type { DaemonRequest } from './hello.ts';
import { privateFolder } from './private-folder.ts';
import { HungUpError } from './read-line.ts';
import { type DaemonRecord, readRecord, recordPath, removeRecord } from './record.ts';
import { logPath } from './rotating-log.ts';

/** How long a daemon may take to hand over what is open. */
const PATIENCE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

export interface ControlOptions {
  folder: string;
  version: string;
  clock: Clock;
  random: RandomSource;
}

/**
 * What the daemon of a folder says of itself.
 * @returns nothing where none runs
 * @throws {DaemonError} when the folder cannot be used, or what listens there is not our daemon.
 */
export async function daemonStatus(options: ControlOptions): Promise<JsonObject | undefined> {
  return existsSync(options.folder) ? ask({ want: 'status' }, options) : undefined;
}

/**
 * Has the daemon of a folder hand over what is open and end, and waits for it.
 * @returns whether there was one
 * @throws {DaemonError} when it does not end.
 */
export async function stopDaemon(options: ControlOptions): Promise<boolean> {
  if (!existsSync(options.folder)) return false;
  const folder = privateFolder(options.folder);
  const record = readRecord(folder); // Which it takes away before it ends.
  const there = (await ask({ want: 'stop' }, options)) !== undefined || FileLock.isHeld(lockPath(folder));
  if (there) await ended(folder, options.clock, record?.process);
  if (record !== undefined) clearAway(folder, record); // Of one that was killed before.
  return there;
}

/**
 * Kills the daemon of a folder, whatever it is doing, and clears away what it leaves. Its tasks are found by the next.
 * @returns its process, or nothing where none runs
 * @throws {DaemonError} when it cannot be told which process it is.
 */
export async function killDaemon({ folder: path, clock }: ControlOptions): Promise<number | undefined> {
  if (!existsSync(path)) return undefined;
  const folder = privateFolder(path);
  const record = readRecord(folder);
  if (record === undefined || !FileLock.isHeld(lockPath(folder))) return undefined;
  // Its number may be another's by now, or mean somebody else in this container.
  if (record.process === undefined || !isAlive(record.process)) {
    throw new DaemonError(
      'DAEMON_LOST',
      `the daemon says it is process ${record.pid}, which cannot be made sure of here`,
    );
  }
  process.kill(record.pid, 'SIGKILL');
  await ended(folder, clock, record.process);
  clearAway(folder, record);
  return record.pid;
}

/** What a daemon leaves that could not do so itself; nothing where another is there already. */
function clearAway(folder: string, { socket }: DaemonRecord): void {
  const lock = FileLock.take(lockPath(folder));
  if (lock === undefined) return;
  removeRecord(folder);
  if (process.platform !== 'win32') rmSync(socket, { force: true });
  lock.release();
}

async function ask(request: DaemonRequest, options: ControlOptions): Promise<JsonObject | undefined> {
  const connected = await connectDaemon(privateFolder(options.folder), options);
  try {
    return await connected?.ask(request);
  } catch (error) {
    if (error instanceof HungUpError) return undefined; // It ended just then.
    throw error;
  } finally {
    connected?.socket.destroy();
  }
}

/** Its lock goes with it, however it ends; after a good end the process is a moment longer there. */
async function ended(folder: string, clock: Clock, identity: ProcessIdentity | undefined): Promise<void> {
  const other = identity?.pid === process.pid ? undefined : identity;
  const isThere = (): boolean => FileLock.isHeld(lockPath(folder)) || (other !== undefined && isAlive(other));
  // One that was just being started has taken the place that was free: it is not the one that was told to end.
  const isReplaced = (): boolean => {
    const next = readRecord(folder)?.process;
    return other !== undefined && !isAlive(other) && next !== undefined && !isDeepStrictEqual(next, other);
  };
  const news = new FolderNews(recordPath(folder), clock);
  const deadline = clock.monotonic() + PATIENCE_MS;
  try {
    while (isThere() && !isReplaced()) {
      if (clock.monotonic() >= deadline) {
        throw new DaemonError(
          'DAEMON_LOST',
          `the daemon has not ended after ${PATIENCE_MS} ms; --now kills it, and its log is ${logPath(folder)}`,
        );
      }
      await news.next(LOOK_AGAIN_MS);
    }
  } finally {
    news.close();
  }
}
