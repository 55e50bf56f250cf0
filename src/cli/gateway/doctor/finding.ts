/** One thing that was looked at, and what to do about it. */
export interface Finding {
  level: 'ok' | 'warn' | 'fail';
  about: 'upstream' | 'command' | 'api' | 'client' | 'daemon' | 'state' | 'machine';
  /** Of the upstream, the command, the API or the client. */
  name?: string;
  /** Which of the upstreams, commands, APIs or clients: names may come twice. */
  at?: number;
  /** For programs: stays the same when the words change. */
  code: string;
  message: string;
  /** What to do next. */
  advice?: string;
}

export type Found = Omit<Finding, 'about' | 'name' | 'at'>;

export function ok(code: string, message: string, advice?: string): Found {
  return found('ok', code, message, advice);
}

export function warn(code: string, message: string, advice: string): Found {
  return found('warn', code, message, advice);
}

export function fail(code: string, message: string, advice: string): Found {
  return found('fail', code, message, advice);
}

function found(level: Finding['level'], code: string, message: string, advice?: string): Found {
  return { level, code, message, ...(advice !== undefined && { advice }) };
}

/** `1 task`, `2 tasks`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** The state itself cannot be read, so that nothing can be said of it. */
export const UNREADABLE = 'state-unreadable';
