/** When to try again: by then another process may serve the same tasks. */
const RETRY_AFTER_SEC = 1;

/** The answer to whatever comes once a server is being closed, while the HTTP server it is in still listens. */
export function closedResponse(): Response {
  const error = { code: -32_000, message: 'This server is closing; try again' };
  return Response.json({ jsonrpc: '2.0', error }, { status: 503, headers: { 'retry-after': String(RETRY_AFTER_SEC) } });
}
