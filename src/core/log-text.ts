/** As much of one line as a log keeps, in bytes of UTF-8: a line is for people to read. */
export const MAX_LOG_LINE_BYTES = 64 * 1024;
/** Room for the words that say how much of a line is missing. */
const NOTE_BYTES = 80;

/**
 * What a log keeps of a line: text, whatever came (bytes that are no UTF-8 become replacement characters), cut at
 * `maxBytes` with a note of how much is missing. A line that was cut is not cut again.
 */
export function logText(line: unknown, maxBytes: number = MAX_LOG_LINE_BYTES): string {
  const text = typeof line === 'string' ? line : asText(line);
  if (text.length * 3 <= maxBytes) return text; // UTF-8 has three bytes per UTF-16 unit at most.
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  const kept = Math.max(maxBytes - NOTE_BYTES, 0);
  // No more units than bytes are looked at, so a line of 20 MB is never copied.
  const head = Buffer.from(text.slice(0, kept));
  let end = Math.min(kept, head.length);
  while (end > 0 && isContinuation(head[end])) end -= 1; // Not in the middle of a character.
  return `${head.toString('utf8', 0, end)} … (${bytes - end} more bytes of this line were dropped)`;
}

const LINE_ENDS = /\r\n?|[\n\u2028\u2029]/g;

/** Text of somebody else's among lines of ours: what follows its first line is indented, and is none of them. */
export function indented(text: string): string {
  return text.replace(LINE_ENDS, '\n    ');
}

/** The same for text that goes into the middle of a sentence. */
export function onOneLine(text: string): string {
  return text.replace(LINE_ENDS, ' ');
}

function asText(line: unknown): string {
  if (line instanceof Uint8Array) return Buffer.from(line).toString('utf8');
  try {
    return String(line);
  } catch {
    return Object.prototype.toString.call(line); // What cannot be said is no reason to fail.
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
