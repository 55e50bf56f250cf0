import { TaskError } from './errors.ts';
import type { Logger } from './logger.ts';

/** On an error of ours: what may be logged of its message. */
const LOGGED: unique symbol = Symbol('logged');

/** Lets the log say something of an error that has to be told to a peer in full. */
export function loggedAs<Fault extends Error>(error: Fault, words: string): Fault {
  return Object.assign(error, { [LOGGED]: words });
}

/** An error as it is logged. */
interface LoggedError {
  /** Its class. */
  type: string;
  code?: number | string;
  message?: string;
  /** Where it was thrown: the frames, without the message that a stack begins with. */
  stack?: string;
  cause?: LoggedError;
}

/**
 * A logger that keeps what errors say to itself. What a handler threw is the outcome of its task, and may quote anything of
 * it; so may what a schema, a parser, a client or a database driver says. Kind, code and place remain; of our own errors
 * about the store, and only of them, also the message.
 */
export function withoutMessages(logger: Logger): Logger {
  const at =
    (level: keyof Logger) =>
    (fields: object, message: string): void =>
      logger[level](redacted(fields), message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function redacted(fields: object): object {
  if (!('error' in fields)) return fields;
  const { error } = fields;
  return isOurs(error) ? fields : { ...fields, error: error instanceof Error ? loggedError(error) : typeof error };
}

function isOurs(error: unknown): boolean {
  return error instanceof TaskError && error.code.startsWith('STORE_');
}

function loggedError(error: Error, depth = 0): LoggedError {
  const { cause, [LOGGED]: words } = error as Error & { [LOGGED]?: string };
  const code = codeOf(error);
  const stack = framesOf(error);
  return {
    type: typeOf(error),
    ...(code !== undefined && { code }),
    ...(words !== undefined && { message: words }),
    ...(stack !== '' && { stack }),
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: loggedError(cause, depth + 1) }),
  };
}

/** What kind of error it is, in a word that nobody can choose at run time. */
export function errorKind(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = codeOf(error);
  return typeof code === 'string' ? code : typeOf(error);
}

/** Its class; `name` is any text. */
function typeOf(error: Error): string {
  return NAME.exec(error.constructor?.name ?? '')?.[0] ?? 'Error';
}

function codeOf(error: Error): number | string | undefined {
  const { code } = error as { code?: unknown };
  if (Number.isSafeInteger(code)) return code as number;
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

const NAME = /^[A-Za-z_$][\w$]{0,63}$/;
/** As Node, SQLite and this package spell theirs. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/;
const FRAME = /^ {4}at .+(?::\d+:\d+\)?|\(<anonymous>\)|\(native\))$/;
const MAX_CAUSES = 3;

/** Looked for after the message, which may hold lines that look like frames. */
function framesOf({ stack, message }: Error): string {
  if (typeof stack !== 'string') return '';
  const said = message === '' ? -1 : stack.indexOf(message);
  const rest = said === -1 ? stack : stack.slice(said + message.length);
  return rest
    .split('\n')
    .filter((line) => FRAME.test(line))
    .join('\n');
}
