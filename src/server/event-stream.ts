import type { Clock, Timer } from '../core/index.ts';

/** Proxies cut what is silent for a minute; the SDK writes as often. */
const KEEP_ALIVE_MS = 15_000;

const EVENT_STREAM = 'text/event-stream';

const EVENT_STREAM_HEADERS = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
} as const;

/** Beyond this many bytes that nobody has read, a stream is given up: its reader is gone, or too slow to be of use. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;

const encoder = new TextEncoder();
const ours = new WeakSet<Response>();

export interface EventStream {
  response: Response;
  /** Writes one message. What a closed stream is sent is dropped. */
  send(message: object): void;
  /** Writes text that is an event stream already. */
  write(text: string | Uint8Array): void;
  /** Resolves as soon as the reader has read everything and waits for more, or reads no more at all. */
  room(): Promise<void>;
  /** Ends the stream after what was written. */
  end(): void;
  /** Resolves when nobody reads any more, or it was ended. */
  closed: Promise<void>;
}

/** A response whose headers leave at once, with a comment every fifteen seconds so that it is not taken for dead. */
export function eventStream(clock: Clock, signal?: AbortSignal): EventStream {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let open = true;
  let timer: Timer | undefined;
  let wanted = false;
  const waiting: (() => void)[] = [];
  let settle = (): void => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const want = (): void => {
    wanted = true;
    for (const proceed of waiting.splice(0)) proceed();
  };
  const shut = (): void => {
    open = false;
    timer?.cancel();
    signal?.removeEventListener('abort', end);
    want();
    settle();
  };
  const end = (): void => {
    if (!open) return;
    shut();
    controller.close();
  };
  const write = (text: string | Uint8Array): void => {
    if (!open) return;
    wanted = false;
    controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text);
    arm();
    if ((controller.desiredSize ?? 0) < -MAX_UNREAD_BYTES) end();
  };
  const arm = (): void => {
    timer?.cancel();
    timer = clock.setTimer(KEEP_ALIVE_MS, () => write(': keep-alive\n\n'));
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(made) {
        controller = made;
      },
      pull: want,
      cancel: shut,
    },
    { highWaterMark: 0, size: (chunk) => chunk?.byteLength ?? 0 },
  );
  signal?.addEventListener('abort', end, { once: true });
  write(': open\n\n');
  if (signal?.aborted) end();
  const response = new Response(body, { headers: EVENT_STREAM_HEADERS });
  ours.add(response);
  return {
    response,
    send: (message) => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
    write,
    room: () => (wanted || !open ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    end,
    closed,
  };
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith(EVENT_STREAM) === true;
}

/** Whether a request may be answered by one. */
export function takesEventStream({ headers }: Request): boolean {
  return headers.get('accept')?.includes(EVENT_STREAM) === true;
}

/** Whether it is a stream of ours, which has something to read from the start. */
export function isOpen(response: Response): boolean {
  return ours.has(response);
}
