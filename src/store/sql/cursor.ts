/** A place in the order in which tasks are listed. */
export interface Position {
  at: number;
  id: string;
}

/** Before everything there is: the newest task comes next. */
export function newest(until: number = Number.MAX_SAFE_INTEGER): Position {
  return { at: until, id: '' };
}

/** Opaque, so that nobody builds on what is in it. */
export function encodeCursor({ at, id }: Position): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url');
}

/** @throws {TypeError} when it is not a cursor */
export function decodeCursor(cursor: string): Position {
  try {
    const [at, id, ...rest] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    if (Number.isSafeInteger(at) && typeof id === 'string' && rest.length === 0) return { at: at as number, id };
  } catch {
    // Said below.
  }
  throw new TypeError(
    `list: ${JSON.stringify(cursor).slice(0, 100)} is not a cursor that an earlier page gave; begin without one`,
  );
}
