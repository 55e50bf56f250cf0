// The two ways by which a replayed host reaches the server under test.
import type { Json } from '../support/messages.ts';

export interface Outgoing {
  /** As in the recording: one HTTP exchange, or one server process. */
  channel: number;
  method?: string;
  headers?: Record<string, string>;
  message?: Json;
}

export interface Incoming {
  channel: number;
  /** HTTP: the head of the answer, before any message of it. */
  head?: { status: number; headers: Headers };
  message?: Json;
  /** Nothing more will come on this channel. */
  ended?: true;
}

export interface Peer {
  send(outgoing: Outgoing): void;
  /** HTTP: closes the exchange; stdio: closes the process's stdin. */
  close(channel: number): void;
  /** Closes whatever is open. @throws what a channel broke with, other than by closing it */
  end(): Promise<void>;
}

export type OpenPeer = (deliver: (incoming: Incoming) => void) => Peer;

/** @param fetch a server's own, or one that goes over the network; wrap it in a wire validator */
export function overHttp(fetch: (request: Request) => Promise<Response>, url = 'http://127.0.0.1/mcp'): OpenPeer {
  return (deliver) => {
    /** With its request: Node forgets how to abort one that nobody holds. */
    const open = new Map<number, { abort: AbortController; request: Request }>();
    const running: Promise<void>[] = [];
    const failures: unknown[] = [];
    const exchange = async ({ channel, method = 'POST', headers = {}, message }: Outgoing): Promise<void> => {
      const abort = new AbortController();
      const body = message === undefined ? {} : { body: JSON.stringify(message) };
      const request = new Request(url, { method, headers, signal: abort.signal, ...body });
      open.set(channel, { abort, request });
      try {
        const response = await fetch(request);
        deliver({ channel, head: { status: response.status, headers: response.headers } });
        for await (const received of messagesOf(response)) deliver({ channel, message: received });
      } catch (error) {
        if (!abort.signal.aborted) failures.push(error);
      } finally {
        open.delete(channel);
        deliver({ channel, ended: true });
      }
    };
    return {
      send: (outgoing) => void running.push(exchange(outgoing)),
      close: (channel) => open.get(channel)?.abort.abort(),
      async end() {
        for (const { abort } of open.values()) abort.abort();
        await Promise.all(running);
        if (failures.length > 0) throw failures[0];
      },
    };
  };
}

async function* messagesOf(response: Response): AsyncGenerator<Json> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    const text = await response.text();
    if (text.startsWith('{')) yield JSON.parse(text) as Json;
    return;
  }
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const whole = text.lastIndexOf('\n\n') + 2;
    for (const [, data] of text.slice(0, whole).matchAll(/^data: (.+)$/gm)) yield JSON.parse(data!) as Json;
    text = text.slice(whole);
  }
}

/** A server process, or what stands for one. */
export interface Pipe {
  write(line: string): void;
  closeInput(): void;
  /** Resolves when the process is gone. */
  readonly ended: Promise<unknown>;
}

/** @param spawn starts the server; called again for every process the host started */
export function overStdio(spawn: (onLine: (line: string) => void) => Pipe): OpenPeer {
  return (deliver) => {
    const pipes = new Map<number, Pipe>();
    const pipeOf = (channel: number): Pipe => {
      const known = pipes.get(channel);
      if (known !== undefined) return known;
      const pipe = spawn((line) => deliver({ channel, message: JSON.parse(line) as Json }));
      pipes.set(channel, pipe);
      void pipe.ended.then(() => deliver({ channel, ended: true }));
      return pipe;
    };
    return {
      send: ({ channel, message }) => pipeOf(channel).write(JSON.stringify(message)),
      close: (channel) => pipes.get(channel)?.closeInput(),
      async end() {
        for (const pipe of pipes.values()) pipe.closeInput();
        await Promise.all([...pipes.values()].map(({ ended }) => ended));
      },
    };
  };
}
