import { type Tasks, text } from '../../../src/engine/index.ts';
import type { Authentication, ListenOptions, TaskServerOptions } from '../../../src/server/index.ts';
import { type Fetch, over, Peer, type Served, serve } from '../peer.ts';

export interface Guarded extends Served {
  url: string;
  /** A client that brings this token. */
  as(token: string): Peer;
  /** One request with this header, however it is answered. */
  attempt(authorization?: string): Promise<Response>;
  /** What a token is answered. */
  status(token: string): Promise<number>;
}

export function tools(tasks: Tasks): void {
  tasks.registerTool('whoami', { task: { support: 'forbidden' } }, (_args, task) =>
    text(JSON.stringify(task.principal)),
  );
  tasks.registerTool('slow', {}, () => new Promise(() => {}));
}

/** A server that listens and lets in whom `auth` does. */
export async function guarded(
  auth: Authentication,
  options: { listen?: ListenOptions; server?: TaskServerOptions; register?: (tasks: Tasks) => void } = {},
): Promise<Guarded> {
  const served = serve(options.register ?? tools, options.server && { server: options.server });
  const { url, port } = await served.server.listen({ port: 0, auth, ...options.listen });
  const local = url.replace('0.0.0.0', '127.0.0.1');
  const as = (token: string) => new Peer(bearing(over(local), token), served.validator);
  const attempt = (authorization?: string) => {
    const message = served.peer.request('tools/list', {});
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      ...(authorization !== undefined && { authorization }),
    };
    return fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body: JSON.stringify(message) });
  };
  const status = async (token: string) => (await attempt(`Bearer ${token}`)).status;
  return { ...served, url: local, as, attempt, status };
}

/** Whose tasks the bearer of a token touches. */
export async function whoami(peer: Peer): Promise<unknown> {
  const { result } = await peer.call('whoami');
  const [content] = result['content'] as { text: string }[];
  return JSON.parse(content!.text);
}

export function bearing(fetch: Fetch, token: string): Fetch {
  return (request) => {
    const headers = new Headers(request.headers);
    headers.set('authorization', `Bearer ${token}`);
    return fetch(new Request(request, { headers }));
  };
}
