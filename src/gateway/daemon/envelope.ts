const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST, COLON, COMMA] = [0x7b, 0x7d, 0x5b, 0x5d, 0x3a, 0x2c];

/** What a message says on its outside. */
export interface Envelope {
  /** Spelled as JSON spells it, so that equal ids are equal texts; and where it lies in the line. */
  id?: { text: string; from: number; to: number };
  method?: string;
}

/**
 * Reads a message's id and method without reading the message, which may be large.
 * @returns nothing where the line is no JSON object
 */
export function envelopeOf(line: Buffer): Envelope | undefined {
  const envelope: Envelope = {};
  let at = afterSpace(line, 0);
  if (line[at] !== OPEN_OBJECT) return undefined;
  at = afterSpace(line, at + 1);
  while (line[at] !== CLOSE_OBJECT) {
    if (line[at] !== QUOTE) return undefined;
    const keyEnd = afterString(line, at);
    const key = parsed(line, at, keyEnd);
    at = afterSpace(line, keyEnd);
    if (line[at] !== COLON) return undefined;
    at = afterSpace(line, at + 1);
    const end = afterValue(line, at);
    if (end === at) return undefined;
    if (key === 'id') note(envelope, parsed(line, at, end), at, end);
    else if (key === 'method') {
      const method = parsed(line, at, end);
      if (typeof method === 'string') envelope.method = method;
    }
    at = afterSpace(line, end);
    if (line[at] === COMMA) at = afterSpace(line, at + 1);
    else if (line[at] !== CLOSE_OBJECT) return undefined;
  }
  return envelope;
}

/** The same line with another id. */
export function withId(line: Buffer, { from, to }: { from: number; to: number }, text: string): Buffer {
  return Buffer.concat([line.subarray(0, from), Buffer.from(text), line.subarray(to)]);
}

function note(envelope: Envelope, id: unknown, from: number, to: number): void {
  if (typeof id === 'string' || typeof id === 'number') envelope.id = { text: JSON.stringify(id), from, to };
}

function parsed(line: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(line.toString('utf8', from, to));
  } catch {
    return undefined;
  }
}

function afterSpace(line: Buffer, from: number): number {
  let at = from;
  while (at < line.length && (line[at] as number) <= 0x20) at += 1;
  return at;
}

/** @param from where its first quote is */
function afterString(line: Buffer, from: number): number {
  let end = line.indexOf(QUOTE, from + 1);
  while (end >= 0) {
    let before = end;
    while (line[before - 1] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
    end = line.indexOf(QUOTE, end + 1);
  }
  return line.length;
}

function afterValue(line: Buffer, from: number): number {
  if (line[from] === QUOTE) return afterString(line, from);
  let depth = 0;
  let at = from;
  while (at < line.length) {
    const byte = line[at] as number;
    if (byte === QUOTE) {
      at = afterString(line, at);
      continue;
    }
    const closes = byte === CLOSE_OBJECT || byte === CLOSE_LIST;
    if (depth === 0 && (closes || byte === COMMA || byte <= 0x20)) return at;
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (closes) depth -= 1;
    at += 1;
    if (closes && depth === 0) return at;
  }
  return at;
}
