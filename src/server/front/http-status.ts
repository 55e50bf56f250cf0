/** Of requests whose error is one that HTTP tells too. */
const statuses = new WeakMap<Request, number>();

/**
 * Has an error answered with an HTTP status of its own. The SDK does so by itself only for what it refuses before any handler is
 * asked, and what is served here is known to nobody but the handler.
 * @see 2026-07-28 transports, "HTTP status codes"
 */
export function refuseWith(status: number, request: Request | undefined): void {
  if (request !== undefined) statuses.set(request, status);
}

/** The answer to a request, once it has one; where it has begun to be a stream, it has said 200 already. */
export function withRefusal(request: Request, response: Response): Response {
  const status = statuses.get(request);
  const isWhole = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (status === undefined || response.status !== 200 || !isWhole) return response;
  return new Response(response.body, { status, headers: response.headers });
}
