import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Clock } from '../../core/index.ts';
import { LISTEN_METHOD } from '../../wire/rev2026-07-28/index.ts';
import { isEventStream } from '../event-stream.ts';
import { METHOD_HEADER } from '../legacy-front.ts';

/**
 * A stream that only brings news ends when its token does: whoever may still hear them comes again with a new one. The
 * stream of a call goes on to its answer, which was owed when the token was good.
 */
export function endingWithToken(clock: Clock, request: Request, response: Response, { expiresAt }: AuthInfo): Response {
  const { body, status, headers } = response;
  if (expiresAt === undefined || body === null || !isEventStream(response) || !bringsNews(request)) return response;
  const reader = body.getReader();
  const timer = clock.setTimer(expiresAt * 1_000 - Date.now(), () => {
    reader.cancel().catch(() => {}); // The read that waits sees the end of the stream.
  });
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        timer.cancel();
        return controller.close();
      },
      cancel(reason) {
        timer.cancel();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}

function bringsNews({ method, headers }: Request): boolean {
  return method === 'GET' || headers.get(METHOD_HEADER)?.trim() === LISTEN_METHOD;
}
