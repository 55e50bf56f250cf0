/** Requests that were refused for now, and for how long: the SDK answers every JSON-RPC error with 200. */
const refused = new WeakMap<Request, number>();

export function refuseForNow(request: Request | undefined, retryAfterMs: number): void {
  if (request !== undefined) refused.set(request, retryAfterMs);
}

/** The response, as 429 with `Retry-After` where its request was refused for now. */
export function withRetryAfter(request: Request, response: Response): Response {
  const retryAfterMs = refused.get(request);
  if (retryAfterMs === undefined) return response;
  const headers = new Headers(response.headers);
  headers.set('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))));
  return new Response(response.body, { status: 429, headers });
}
