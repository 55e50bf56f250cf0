import { InputError } from './input-error.ts';

/** How much a system takes of words and variables when it starts a command, in bytes. */
export interface Bounds {
  /** Of one word, or of one variable with its name. */
  word: number;
  /** Of all of them, with what the system needs for each. */
  total: number;
}

/**
 * Below what the system itself refuses, in words that say nothing of the input. Linux takes 128 KiB for a word and, by its usual limit
 * for the stack, 2 MiB for all; macOS 1 MiB for all; Windows 32767 characters for a command line.
 */
export function boundsOf(platform: NodeJS.Platform): Bounds {
  return platform === 'win32' ? { word: 30_000, total: 30_000 } : { word: 131_071, total: 768 * 1024 };
}

/** A word or a variable, and which field of the input it came from, if it did. */
export interface Sized {
  text: string;
  field?: string;
}

/** The end of a text, and a pointer to it. */
const OVERHEAD = 9;
const INSTEAD = 'what is large goes through stdin or a file';

/** @throws {InputError} naming the field that takes the most room */
export function checkSize(all: readonly Sized[], bounds: Bounds): void {
  const byField = new Map<string, number>();
  let total = 0;
  for (const { text, field } of all) {
    const bytes = Buffer.byteLength(text);
    total += bytes + OVERHEAD;
    if (field === undefined) continue;
    const whole = field.replace(/\.\d+$/, '');
    byField.set(whole, (byField.get(whole) ?? 0) + bytes + OVERHEAD);
    if (bytes > bounds.word) {
      throw new InputError(field, `expected at most ${bounds.word} bytes in a word, got ${bytes}; ${INSTEAD}`);
    }
  }
  if (total <= bounds.total) return;
  const [largest = 'the input'] = [...byField].sort(([, a], [, b]) => b - a)[0] ?? [];
  const whole = `the command and its environment would have ${total} bytes, expected at most ${bounds.total}`;
  throw new InputError(largest, `${whole}; ${INSTEAD}`);
}
