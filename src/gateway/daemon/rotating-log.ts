import { copyFileSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Logger } from '../../core/index.ts';

const MAX_BYTES = 1024 * 1024;

export function logPath(folder: string): string {
  return join(folder, 'daemon.log');
}

/** The log as it was before it was last cut. */
export function oldLogPath(folder: string): string {
  return `${logPath(folder)}.1`;
}

/** Opened so that several may write to it, and what is written after it was cut goes to its beginning. */
export function openLog(folder: string): number {
  return openSync(logPath(folder), 'a+', 0o600);
}

/**
 * A log that never grows beyond its size: what is in it is then copied beside it and cut away. It stays the same file, since
 * the daemon's own standard error is that file too.
 */
export function rotatingLogger(folder: string, maxBytes: number = MAX_BYTES): Logger {
  const fd = openLog(folder);
  const write = (line: string): void => {
    try {
      if (fstatSync(fd).size + line.length > maxBytes) {
        copyFileSync(logPath(folder), oldLogPath(folder));
        ftruncateSync(fd, 0);
      }
      writeSync(fd, line);
    } catch {
      // A full disk: there is nowhere to say so, and tasks can go on without a log.
    }
  };
  return pino({ base: { pid: process.pid }, serializers: { error: pino.stdSerializers.err } }, { write });
}
