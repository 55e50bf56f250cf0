import type { RpcErrorObject } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import {
  grantedBy,
  isListenRequest,
  LISTEN_METHOD,
  type Listen,
  withTasksGranted,
} from '../wire/rev2026-07-28/index.ts';
import { eventFrames } from './event-frames.ts';
import { type EventStream, eventStream, isEventStream } from './event-stream.ts';
import { type Fetch, METHOD_HEADER, readOnce } from './legacy-front.ts';
import { ListenDesk, type OpenListen } from './listen-desk.ts';
import { tellListening } from './listening.ts';
import type { CallerAuth } from './principal.ts';
import type { Serving } from './serving.ts';

export interface ListenFront {
  fetch: Fetch;
  /** Ends every subscription with its result. The SDK's handler has to be closed before. */
  close(): Promise<void>;
}

interface Stream {
  /** Ends it as soon as the SDK has said how. */
  close(): void;
  closed: Promise<void>;
}

/**
 * Subscriptions to tasks over HTTP. The SDK answers `subscriptions/listen` by itself and knows nothing of tasks, so it is
 * asked first, without them: what it refuses is refused, and what it acknowledges and tells goes out on a stream of ours
 * that tells of the tasks too.
 */
export function listenFront(
  tasks: Tasks,
  serving: Serving,
  { maxBytes, inner }: { maxBytes: number; inner: Fetch },
): ListenFront {
  const desk = new ListenDesk(tasks, serving);
  const streams = new Set<Stream>();
  let closing = false;
  const end = (): void => {
    closing = true;
    for (const stream of streams) stream.close();
  };
  tasks.engine.onClose(end);

  const answer = async (listen: Listen, response: Response, auth: CallerAuth | undefined, request: Request) => {
    if (response.status !== 200) return response; // Headers, version, envelope: all that comes before the request itself.
    const refuse = (error: RpcErrorObject, status: number): Response => {
      response.body?.cancel().catch(() => {}); // Nobody else reads it.
      return Response.json({ jsonrpc: '2.0', id: listen.id, error }, { status });
    };
    const missing = desk.missing(listen);
    if (missing !== undefined) return refuse(missing, 400);
    if (!isEventStream(response) || response.body === null) return response;
    let stream: EventStream | undefined;
    let merged: Merged | undefined;
    const outlet = {
      room: async () => stream?.room(),
      send: (message: object) => stream?.send(message),
    };
    let opened: OpenListen;
    try {
      opened = await desk.open(listen, auth, outlet, () => merged?.over());
    } catch (error) {
      return refuse(desk.refusal(error), 200);
    }
    request.body?.cancel().catch(() => {}); // What was read of it need not be kept.
    stream = eventStream(tasks.engine.clock, request);
    merged = merge(response.body.getReader(), stream, opened);
    const { close } = merged;
    const entry = { close, closed: stream.closed.then(() => void streams.delete(entry)) };
    streams.add(entry);
    if (closing) close();
    return stream.response;
  };

  return {
    fetch: async (request, options) => {
      if (request.method !== 'POST' || request.headers.get(METHOD_HEADER)?.trim() !== LISTEN_METHOD) {
        return inner(request, options);
      }
      const read = await readOnce(request, options, maxBytes);
      if ('refused' in read) return read.refused;
      if ('unread' in read) return inner(read.unread, options);
      const listen = desk.read(read.body);
      const response = await inner(request, { ...options, parsedBody: listen?.rest ?? read.body });
      if (response.status === 200 && isListenRequest(read.body)) {
        const left = tellListening(read.body, serving, options?.authInfo);
        if (request.signal.aborted) left();
        else request.signal.addEventListener('abort', left, { once: true });
      }
      return listen === undefined ? response : answer(listen, response, options?.authInfo, request);
    },
    close: async () => {
      end();
      await Promise.all([...streams].map(({ closed }) => closed));
    },
  };
}

interface Merged {
  /** Nothing more will come of any task. */
  over(): void;
  close(): void;
}

/**
 * What the SDK writes, with tasks in it. Where the SDK itself has nothing to tell it ends its stream at once: its result
 * is kept until the tasks are over too.
 */
function merge(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stream: EventStream,
  { granted, start, close }: OpenListen,
): Merged {
  let result: object | undefined;
  let ending = false;
  const endIfDue = (): void => {
    if (result === undefined || !ending) return;
    stream.send(result);
    stream.end();
  };
  const end = (): void => {
    ending = true;
    endIfDue();
  };
  const relay = async (): Promise<void> => {
    let nothingElse = false;
    for await (const { text, message } of eventFrames(reader)) {
      if (message === undefined) continue; // Our stream has comments of its own.
      const others = grantedBy(message);
      if (others !== undefined) {
        nothingElse = Object.keys(others).length === 0;
        stream.send(withTasksGranted(message, granted));
        start();
      } else if ('result' in message) result = message;
      else stream.write(text);
    }
    if (result === undefined) stream.end();
    else if (!nothingElse) ending = true; // The SDK was telling something, and ends that.
    endIfDue();
  };
  relay().catch(() => stream.end());
  void stream.closed.then(() => {
    close();
    reader.cancel().catch(() => {});
  });
  return { over: end, close: end };
}
