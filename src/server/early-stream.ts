import type { Clock, Timer } from '../core/index.ts';
import { type EventStream, eventStream, isEventStream, isOpen, takesEventStream } from './event-stream.ts';
import { METHOD_HEADER, SESSION_HEADER } from './legacy-front.ts';

/**
 * Hosts give up after a minute on a request that has not even sent its headers, and wait far longer for one that has. A
 * request that takes longer than this is answered by an event stream, whose first bytes leave at once.
 */
const OPEN_AFTER_MS = 1_000;

/**
 * Serves a request, and opens the stream of its answer early where the answer takes its time. A quick answer goes out as
 * it is, with whatever status it has.
 */
export async function openEarly(clock: Clock, request: Request, served: Promise<Response>): Promise<Response> {
  const { method, headers } = request;
  if (method !== 'POST' || !takesEventStream(request)) return served;
  // The answer to a request that may begin a session has a header of its own to carry.
  const mayBegin = !headers.has(SESSION_HEADER) && !headers.has(METHOD_HEADER);
  const quick = mayBegin ? await served : await within(OPEN_AFTER_MS, clock, served);
  if (quick === undefined) return openedBefore(clock, served, request);
  return isEventStream(quick) && !isOpen(quick) ? openedNow(clock, quick, request) : quick;
}

async function within(ms: number, clock: Clock, served: Promise<Response>): Promise<Response | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = clock.setTimer(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([served, late]);
  } finally {
    timer?.cancel();
  }
}

/** The answer is not there yet: its stream is ours, and it follows on it. */
function openedBefore(clock: Clock, served: Promise<Response>, request: Request): Response {
  const stream = eventStream(clock, request);
  served
    .then(async (answer) => {
      if (isEventStream(answer) && answer.body !== null) {
        await copy(answer.body, stream);
        return;
      }
      const text = await answer.text(); // Notifications have none.
      if (text !== '') stream.write(`event: message\ndata: ${text}\n\n`);
    })
    .catch(() => {}) // Who serves has told its operator; the client sees a stream that ends without an answer.
    .finally(() => stream.end());
  return stream.response;
}

/** Until it ends, or nobody reads the copy any more. */
async function copy(body: ReadableStream<Uint8Array>, stream: EventStream): Promise<void> {
  const reader = body.getReader();
  void stream.closed.then(() => reader.cancel().catch(() => {}));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    stream.write(value);
  }
}

/** The stream is there, but its headers would leave with its first event only, and it has no bound. */
function openedNow(clock: Clock, { body, status, headers }: Response, request: Request): Response {
  if (body === null) return new Response(body, { status, headers });
  const stream = eventStream(clock, request);
  copy(body, stream)
    .catch(() => {}) // As above.
    .finally(() => stream.end());
  return new Response(stream.response.body, { status, headers });
}
