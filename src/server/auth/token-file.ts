import { statSync } from 'node:fs';
import { isJsonObject } from '../../core/index.ts';
import { readPrivateFile } from '../../store/index.ts';
import { type KnownToken, knownTokens } from './token-list.ts';

/** A file that was changed so shortly before it was read may change again without looking any different. */
const SETTLED_MS = 100;

/**
 * The tokens of a file, which is looked at for every request: what is taken out of it stops at once. That is a few
 * microseconds, and unlike a watcher it misses no way in which files are replaced.
 */
export class TokenFile {
  readonly #path: string;
  readonly #now: () => number;
  #read: { stamp: string; settled: boolean; tokens: readonly KnownToken[] };

  /** @throws {Error} when the file cannot be used, saying why and what to do. */
  constructor(path: string, now: () => number = Date.now) {
    this.#path = path;
    this.#now = now;
    this.#read = read(path, now());
  }

  /** @throws {Error} as the constructor: a list that is in doubt lets nobody in. */
  tokens(): readonly KnownToken[] {
    if (!this.#read.settled || stampOf(statSync(this.#path, { bigint: true })) !== this.#read.stamp) {
      this.#read = read(this.#path, this.#now());
    }
    return this.#read.tokens;
  }
}

function read(path: string, now: number): { stamp: string; settled: boolean; tokens: readonly KnownToken[] } {
  const { text, stats } = readPrivateFile(path, 'token file');
  const settled = now - Number(stats.ctimeMs) > SETTLED_MS;
  return { stamp: stampOf(stats), settled, tokens: parse(path, text) };
}

function parse(path: string, text: string): KnownToken[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`token file ${path} is not JSON`); // What the parser says quotes the file.
  }
  if (!isJsonObject(body)) throw new Error(`token file ${path} must be { "tokens": [ … ] }`);
  try {
    return knownTokens(body.tokens);
  } catch (error) {
    throw new Error(`token file ${path}: ${(error as Error).message}`);
  }
}

interface Stats {
  ino: bigint;
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
}

function stampOf({ ino, size, mtimeNs, ctimeNs }: Stats): string {
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}
