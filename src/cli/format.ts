/**
 * Text from tasks as a terminal may see it. Tools, clients and jobs wrote it: control characters could move the cursor,
 * set the title, or forge lines. Escape sequences go as a whole.
 */
export function safe(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go
      .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g, '')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: and these are what is left of it
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
  );
}

/** The same on one line. */
export function oneLine(text: string): string {
  return safe(text.replace(/\s*[\r\n]+\s*/g, ' ⏎ ')).replaceAll('\t', ' ');
}

/**
 * JSON that a terminal may see as well: a program reads the same values from it. JSON by itself escapes only the oldest
 * control characters.
 */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

export function iso(at: number): string {
  return new Date(at).toISOString();
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `3h 5m`, `12s`, `0.4s`: the two largest units that matter. */
export function duration(ms: number): string {
  if (ms < 10_000) return `${Math.round(ms / 100) / 10}s`;
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[first] ?? ['s', 1_000];
  const next = UNITS[first + 1];
  const whole = `${Math.floor(ms / size)}${unit}`;
  const rest = next === undefined ? 0 : Math.floor((ms % size) / next[1]);
  return rest === 0 || next === undefined ? whole : `${whole} ${rest}${next[0]}`;
}

/** `5m ago`, `in 3d 2h`. */
export function relative(at: number, now: number): string {
  return at <= now ? `${duration(now - at)} ago` : `in ${duration(at - now)}`;
}

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = count / 1_024;
  let unit = 0;
  for (; value >= 1_024 && unit < units.length - 1; unit += 1) value /= 1_024;
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** Columns, as wide as what is in them; the last one takes what is left of `width`. */
export function table(rows: readonly (readonly string[])[], width: number): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, n) => Math.max(...rows.map((row) => (row[n] ?? '').length)));
  return rows.map((row) => {
    const padded = row.map((cell, n) => (n === row.length - 1 ? cell : cell.padEnd(widths[n] ?? 0)));
    return cut(padded.join('  ').trimEnd(), width);
  });
}
