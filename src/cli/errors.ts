export const EXIT = {
  ok: 0,
  fault: 1,
  usage: 2,
  notFound: 3,
  cancelled: 4,
  infrastructure: 5,
  /** As `timeout(1)`: the wait is over, and what was waited for goes on. */
  waitEnded: 124,
} as const;

/** Something the person at the terminal can do something about: a message, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  constructor(message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}
