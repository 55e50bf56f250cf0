import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallerAuth } from '../principal.ts';
import { ConnectionClosedError, type Transport } from '../sdk.ts';

// What a transport of the SDK keeps to itself: which messages came with which HTTP request, and when its client hangs up.

/**
 * Called when a stream opens by GET, for what nobody asked for.
 * @param room resolves when another message would be read soon
 * @returns called when it ends
 */
export type Listening = (auth: CallerAuth | undefined, room: () => Promise<void>) => () => void;

const served = new AsyncLocalStorage<AbortSignal>();

/** Tells when the client hangs up on the HTTP request that is being served; `undefined` where there is none. */
export function hangUp(): AbortSignal | undefined {
  return served.getStore();
}

type NodeRequest = [IncomingMessage & { auth?: CallerAuth }, ServerResponse, unknown?];
type WebRequest = [Request, ({ authInfo?: CallerAuth } | undefined)?];

/** Looks at the HTTP requests of a transport, which has them by either name that Node's world has for requests. In place. */
export function watchRequests(transport: Transport, listening: Listening): void {
  const handling = transport as Transport & { handleRequest?: (...args: never[]) => Promise<unknown> };
  const handle = handling.handleRequest?.bind(transport) as
    | ((...args: NodeRequest | WebRequest) => Promise<unknown>)
    | undefined;
  if (handle === undefined) return;
  handling.handleRequest = (async (...args: NodeRequest | WebRequest) => {
    const gone = new AbortController();
    const over = (): void => gone.abort(new ConnectionClosedError());
    if (isNode(args)) {
      const [request, response] = args;
      response.once('close', over);
      if (request.method === 'GET') {
        onStream(response, () =>
          response.once(
            'close',
            listening(request.auth, () => drained(response)),
          ),
        );
      }
      return served.run(gone.signal, () => handle(...args));
    }
    const [request, options] = args;
    const ends = [over];
    request.signal.addEventListener('abort', over, { once: true });
    const response = (await served.run(gone.signal, () => handle(...args))) as Response;
    const reader = watched(response, () => {
      request.signal.removeEventListener('abort', over);
      for (const end of ends) end();
    });
    if (request.method === 'GET' && response.ok) ends.push(listening(options?.authInfo, reader.room));
    return reader.response;
  }) as never;
}

function isNode(args: NodeRequest | WebRequest): args is NodeRequest {
  return typeof (args[1] as Partial<ServerResponse> | undefined)?.writeHead === 'function';
}

/** A response says nothing when its head is written, before which nothing can go out on its stream. */
function onStream(response: ServerResponse, opened: () => void): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = ((...args: unknown[]) => {
    const written = writeHead(...args);
    if (response.statusCode === 200) opened();
    return written;
  }) as typeof response.writeHead;
}

function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.once('drain', go).once('close', go);
  });
}

/** The same response, whose reader is missed when he goes, and no more once all is read. */
function watched(response: Response, over: () => void): { response: Response; room: () => Promise<void> } {
  if (response.body === null) {
    over();
    return { response, room: () => Promise.resolve() };
  }
  const reader = response.body.getReader();
  let state: 'reads' | 'busy' | 'over' = 'busy';
  const waiting: (() => void)[] = [];
  const become = (next: typeof state): void => {
    state = next;
    if (state !== 'busy') for (const proceed of waiting.splice(0)) proceed();
    if (state === 'over') over();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        become('reads');
        const { done, value } = await reader.read();
        if (!done) {
          become('busy');
          controller.enqueue(value);
          return;
        }
        become('over');
        controller.close();
      },
      cancel(reason) {
        become('over');
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // Nothing is taken that nobody asks for.
  );
  const { status, statusText, headers } = response;
  return {
    response: new Response(body, { status, statusText, headers }),
    room: () => (state === 'busy' ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
  };
}
