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

/**
 * Beyond this many bytes that wait behind the message that is being read, a stream is given up, and what it holds is dropped.
 * One message may be larger than that.
 */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;

/**
 * A reader that takes nothing for as long, though there is something, is gone or of no use. Whoever reads slowly takes a
 * piece now and then.
 */
const STALLED_MS = 120_000;
const PIECE_BYTES = 256 * 1024;

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

/**
 * A response whose headers leave at once, with a comment every fifteen seconds so that it is not taken for dead. What is
 * written waits here until it is asked for, so that it is known whether somebody reads.
 * @param request the one that is answered; it is kept as long, since one that is collected is not told that it was aborted
 */
export function eventStream(clock: Clock, request?: Request): EventStream {
  const unread: Uint8Array[] = [];
  /** Bytes that are left of each message. */
  const messages: number[] = [];
  let unreadBytes = 0;
  let takenAt = clock.monotonic();
  let state: 'open' | 'ending' | 'over' = 'open';
  let wanted = false;
  let timer: Timer | undefined;
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const waiting: (() => void)[] = [];
  let settle = (): void => {};
  const closed = new Promise<void>((resolve) => {
    settle = resolve;
  });

  const want = (): void => {
    wanted = true;
    for (const proceed of waiting.splice(0)) proceed();
  };
  /** Takes nothing in any more. */
  const shut = (next: 'ending' | 'over'): void => {
    state = next;
    timer?.cancel();
    if (next === 'over') request?.signal.removeEventListener('abort', leave);
    settle(); // Before those who wait for room go on: there is none.
    want();
  };
  const give = (): void => {
    const piece = unread.shift();
    if (piece === undefined) return;
    takenAt = clock.monotonic();
    unreadBytes -= piece.byteLength;
    messages[0] = (messages[0] ?? 0) - piece.byteLength;
    if (messages[0] <= 0) messages.shift();
    controller.enqueue(piece);
  };
  const end = (): void => {
    if (state !== 'open') return;
    if (unread.length > 0) {
      shut('ending');
      arm();
    } else {
      shut('over');
      controller.close();
    }
  };
  /** The connection is gone. Whoever holds the stream may still read what there is. */
  const leave = (): void => {
    if (state === 'over') return;
    shut('over');
    while (unread.length > 0) give();
    controller.close();
  };
  const drop = (): void => {
    unread.length = 0;
    messages.length = 0;
    unreadBytes = 0;
  };
  const giveUp = (): void => {
    shut('over');
    drop();
    controller.error(new SlowReaderError());
  };
  const write = (text: string | Uint8Array): void => {
    if (state !== 'open') return;
    if (unreadBytes - (messages[0] ?? 0) > MAX_UNREAD_BYTES || isStalled()) {
      giveUp();
      return;
    }
    if (unread.length === 0) takenAt = clock.monotonic();
    const bytes = typeof text === 'string' ? encoder.encode(text) : text;
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) unread.push(bytes.subarray(at, at + PIECE_BYTES));
    if (bytes.byteLength > 0) messages.push(bytes.byteLength);
    unreadBytes += bytes.byteLength;
    if (wanted) give();
    wanted = false;
    arm();
  };
  const isStalled = (): boolean => unread.length > 0 && clock.monotonic() - takenAt >= STALLED_MS;
  const look = (): void => {
    if (isStalled()) giveUp();
    else if (state === 'open' && unread.length === 0) write(': keep-alive\n\n');
    else arm();
  };
  const arm = (): void => {
    timer?.cancel();
    timer = clock.setTimer(KEEP_ALIVE_MS, look);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(made) {
        controller = made;
      },
      pull() {
        if (unread.length === 0) want();
        else give();
        if (state !== 'ending' || unread.length > 0) return;
        shut('over');
        controller.close();
      },
      cancel() {
        shut('over');
        drop();
      },
    },
    { highWaterMark: 0 },
  );
  request?.signal.addEventListener('abort', leave, { once: true });
  write(': open\n\n');
  if (request?.signal.aborted) leave();
  const response = new Response(body, { headers: EVENT_STREAM_HEADERS });
  ours.add(response);
  return {
    response,
    send: (message) => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
    write,
    room: () => (wanted || state !== 'open' ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    end,
    closed,
  };
}

/** What a stream that was given up ends with. */
class SlowReaderError extends Error {
  override readonly name = 'SlowReaderError';
  /** How `@hono/node-server` knows that it is no fault of the server, and need not print where it came from. */
  readonly code = 'ERR_STREAM_PREMATURE_CLOSE';
  constructor() {
    super('the reader of an event stream takes nothing, or too little; the stream is given up');
  }
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
