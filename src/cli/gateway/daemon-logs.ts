import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { isJsonObject, systemClock } from '../../core/index.ts';
import { FolderNews } from '../../gateway/daemon/folder-news.ts';
import { daemonFolder, privateFolder } from '../../gateway/daemon/private-folder.ts';
import { logPath, oldLogPath } from '../../gateway/daemon/rotating-log.ts';
import { CliError, EXIT } from '../errors.ts';
import { iso, safe, safeJson } from '../format.ts';
import type { Output } from '../output.ts';
import type { DaemonCommandOptions } from './daemon.ts';

const PIECE_BYTES = 64 * 1024;
const LOOK_AGAIN_MS = 500;
/** As pino numbers them. */
const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

export async function showLogs(options: DaemonCommandOptions & { follow?: boolean }, output: Output): Promise<void> {
  const path = daemonFolder(options.state, process.env);
  const folder = existsSync(path) ? privateFolder(path) : path;
  if (!existsSync(logPath(folder))) throw new CliError(`no daemon has ever run in ${folder}`, EXIT.notFound);
  const print = (line: string): Promise<void> => output.write(`${options.json ? jsonOf(line) : textOf(line)}\n`);
  if (existsSync(oldLogPath(folder))) await new Reading(oldLogPath(folder)).to(print);
  const reading = new Reading(logPath(folder));
  await reading.to(print);
  if (options.follow !== true) return;
  const news = new FolderNews(logPath(folder), systemClock);
  while (!output.isGone) {
    await news.next(LOOK_AGAIN_MS);
    await reading.to(print);
  }
  news.close();
}

/** Reads the lines of a file as it grows, and from its beginning when it was cut. */
class Reading {
  readonly #path: string;
  #at = 0;
  #rest = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** All lines that are whole by now. */
  async to(print: (line: string) => Promise<void>): Promise<void> {
    const fd = openSync(this.#path, 'r');
    try {
      if (fstatSync(fd).size < this.#at) this.#at = 0;
      const piece = Buffer.alloc(PIECE_BYTES);
      for (let read = readSync(fd, piece, 0, PIECE_BYTES, this.#at); read > 0; ) {
        this.#at += read;
        const lines = Buffer.concat([this.#rest, piece.subarray(0, read)]);
        const end = lines.lastIndexOf(10) + 1;
        this.#rest = Buffer.from(lines.subarray(end));
        if (end > 0) for (const line of lines.toString('utf8', 0, end - 1).split('\n')) await print(line);
        read = readSync(fd, piece, 0, PIECE_BYTES, this.#at);
      }
    } finally {
      closeSync(fd);
    }
  }
}

/** What Node itself writes when it breaks down is no JSON. */
function jsonOf(line: string): string {
  return safeJson(entryOf(line) ?? { text: line });
}

function textOf(line: string): string {
  const entry = entryOf(line);
  if (entry === undefined) return safe(line);
  const { time, level, msg, pid, ...fields } = entry;
  const when = typeof time === 'number' ? iso(time) : '';
  const more = Object.keys(fields).length === 0 ? '' : ` ${safeJson(fields)}`;
  return safe(`${when} ${(LEVELS[Number(level)] ?? '').padEnd(5)} ${String(pid)} ${String(msg)}${more}`);
}

function entryOf(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
