export type DaemonErrorCode =
  | 'DAEMON_FOLDER'
  | 'DAEMON_UNTRUSTED'
  | 'DAEMON_VERSION'
  | 'DAEMON_NOT_STARTED'
  | 'DAEMON_REFUSED'
  | 'DAEMON_LOST';

/** What goes wrong between a front and its daemon; the message says what to do. Callers branch on `code`. */
export class DaemonError extends Error {
  override readonly name = 'DaemonError';
  readonly code: DaemonErrorCode;

  constructor(code: DaemonErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
