/**
 * A progress token as its task keeps it. It means something only in the session that gave it: others number their own
 * requests, and may well have the same.
 * @param sessionId empty where there is no session
 * @see 2025-11-25 progress, "Progress Flow"
 */
export function keepToken(sessionId: string, token: string | number): string {
  return JSON.stringify([sessionId, token]);
}

/** The token that a task's progress goes under in this session; `undefined` when it is none of its tokens. */
export function keptToken(sessionId: string, kept: string | number | undefined): string | number | undefined {
  if (typeof kept !== 'string') return undefined;
  const start = `[${JSON.stringify(sessionId)},`;
  return kept.startsWith(start) ? (JSON.parse(kept) as [string, string | number])[1] : undefined;
}
