/** What will not be done, now or later: the service asks for something that this tool's settings forbid. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly code = 'REFUSED';
  /** The request had left by then, so that what it asks for may have begun. */
  sent = false;
}

/** A service cannot answer now. */
export class HttpTroubleError extends Error {
  override readonly name = 'HttpTroubleError';
  /** `HTTP_503`, or what Node calls it. */
  readonly code: string;
  /** How long it wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
  /** False: what was asked for was certainly not begun. */
  readonly mayHaveStarted: boolean;

  constructor(
    message: string,
    {
      code,
      retryAfterMs,
      mayHaveStarted = true,
      cause,
    }: { code: string; retryAfterMs?: number | undefined; mayHaveStarted?: boolean; cause?: unknown },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    this.mayHaveStarted = mayHaveStarted;
  }
}
