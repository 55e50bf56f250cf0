/** One line that operators are told. */
export interface LogLine {
  level: string;
  fields: object;
  message: string;
}

/** What may be said at a level that calls for somebody to look, and is meant. */
const meant: readonly { message: string; error?: RegExp }[] = [
  { message: 'a caller asks for many tasks that are not there' },
  { message: 'a tool failed', error: /^InputNotSupportedError$/ }, // The fuzzed tool asks whoever calls it.
  {
    message: 'a request could not be served',
    error: /^(LimitExceededError|RateLimitedError|UnidentifiedCallerError)$/,
  },
];

/** What is wrong with a line: what the server itself calls an error is one, unless it was asked for. */
export function logProblems({ level, fields, message }: LogLine): string[] {
  if (level !== 'error' && level !== 'warn') return [];
  const { error, kind = error?.type ?? '' } = fields as { error?: { type?: string; stack?: string }; kind?: string };
  const fits = meant.some((one) => one.message === message && (one.error?.test(kind) ?? true));
  return fits ? [] : [`${level}: ${message}: ${JSON.stringify(fields)} ${error?.stack ?? ''}`];
}
