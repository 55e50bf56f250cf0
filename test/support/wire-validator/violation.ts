export interface Problem {
  /** JSON pointer into the message. */
  path: string;
  reason: string;
}

export interface Violation extends Problem {
  /** The method of the request it answers, or its own. */
  method: string;
  message: unknown;
}

/** A message of ours broke the rules of its revision. */
export class WireViolationError extends Error {
  override readonly name = 'WireViolationError';
  readonly violations: readonly Violation[];

  constructor(violations: readonly Violation[]) {
    super(violations.map(describe).join('\n'));
    this.violations = violations;
  }
}

function describe({ method, path, reason, message }: Violation): string {
  const text = JSON.stringify(message) ?? String(message);
  return `${method} ${path || '/'}: ${reason}\n  in ${text.length > 1500 ? `${text.slice(0, 1500)} ...` : text}`;
}
