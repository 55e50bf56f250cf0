/** More of a line is never looked at: nothing a test runner says about itself is that long. */
export const MAX_LINE = 4096;

/** How long a name or a message gets, in characters. */
const MAX_WORDS = 300;

const ESC = 0x1b;

/**
 * `text` without the escape sequences of terminals. One pass, whatever the text: the output of a command is nobody's friend, and
 * the usual expressions for this are neither complete nor linear.
 */
export function withoutEscapes(text: string): string {
  let at = text.indexOf('\u001b');
  if (at === -1) return text;
  let visible = '';
  let from = 0;
  while (at !== -1) {
    visible += text.slice(from, at);
    from = endOfEscape(text, at);
    at = text.indexOf('\u001b', from);
  }
  return visible + text.slice(from);
}

/** Where the escape sequence that begins at `at` is over. */
export function endOfEscape(text: string, at: number): number {
  const kind = text.charCodeAt(at + 1);
  if (kind === 0x5b /* [ */) {
    let end = at + 2;
    while (end < text.length && !isFinal(text.charCodeAt(end))) end += 1;
    return Math.min(end + 1, text.length);
  }
  if (kind === 0x5d /* ] */) {
    // A title or a link: up to BEL or ESC \. Without an end it takes the rest of the line, as in a terminal.
    for (let end = at + 2; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (code === 0x07) return end + 1;
      if (code === ESC) return text.charCodeAt(end + 1) === 0x5c ? end + 2 : end;
    }
    return text.length;
  }
  return Math.min(at + 2, text.length);
}

function isFinal(code: number): boolean {
  return code >= 0x40 && code <= 0x7e;
}

/** What a command calls something, as it may be kept and shown: on one line, of printable characters, and not long. */
export function words(text: string): string {
  const plain = text.replace(/\p{Cc}+/gu, ' ').trim();
  if (plain.length <= MAX_WORDS) return plain;
  const cut = plain.slice(0, MAX_WORDS - 1);
  const last = cut.charCodeAt(cut.length - 1);
  return `${last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut}…`; // Half a character would be none.
}

/** @returns the whole number that `digits` are; `undefined` if they are anything else, or a number nobody counts to. */
export function whole(digits: string | undefined): number | undefined {
  return digits !== undefined && digits.length <= 15 && /^\d+$/.test(digits) ? Number(digits) : undefined;
}

/** `2 failed | 10 passed`, `2 failed, 10 passed`: numbers by their words. `undefined` if anything else is in it. */
export function countsIn(text: string): Map<string, number> | undefined {
  const counts = new Map<string, number>();
  for (const part of text.split(/[|,]/, 20)) {
    const [, digits, word] = /^ ?(\d{1,15}) ([a-z]{1,20}(?: [a-z]{1,20})?) ?$/.exec(part) ?? [];
    const count = whole(digits);
    if (count === undefined || word === undefined) return undefined;
    counts.set(word, count);
  }
  return counts;
}
