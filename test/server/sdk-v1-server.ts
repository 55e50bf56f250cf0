import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Tasks } from '../../src/engine/index.ts';
import { createTaskServer, type TaskServer, type TaskServerOptions } from '../../src/server/index.ts';
import { defaultPrincipal } from '../../src/server/principal.ts';
import { attachTasks } from '../../src/server/sdk-v1/index.ts';

const info = { name: 'test-server', version: '1.2.3' };

interface Opened {
  mcp: McpServer;
  transport: WebStandardStreamableHTTPServerTransport;
}

/**
 * The same tools for clients before 2026-07-28 as a server of the SDK's version 1 serves them: with a server and a transport
 * for each session, or for each request of those that know no sessions. Later requests go where such a server cannot serve
 * them, so that one task can be looked at from both sides.
 */
export function sdkV1Server(tasks: Tasks, options: TaskServerOptions = {}): TaskServer {
  const modern = createTaskServer(tasks, info, options);
  const { signals: _signals, inlineWithinMs: _inline, principal = defaultPrincipal('local'), ...serving } = options;
  const sessions = new Map<string, Opened>();
  const open = async (sessionIdGenerator: (() => string) | undefined): Promise<Opened> => {
    const mcp = new McpServer(info, { capabilities: { tools: {} } });
    attachTasks(mcp, tasks, { ...serving, principal });
    const transport = new WebStandardStreamableHTTPServerTransport({
      ...(sessionIdGenerator !== undefined && { sessionIdGenerator }),
      onsessioninitialized: (id) => void sessions.set(id, opened),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const opened = { mcp, transport };
    await mcp.connect(transport as never);
    return opened;
  };
  const serve = async (request: Request, requestOptions: { authInfo?: AuthInfo } = {}): Promise<Response> => {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const { transport } = sessions.get(id) ?? {};
      return transport?.handleRequest(request, requestOptions as never) ?? Response.json({}, { status: 404 });
    }
    const begins = request.method === 'POST' && (await request.clone().text()).includes('"method":"initialize"');
    const { transport } = await open(begins ? randomUUID : undefined);
    return transport.handleRequest(request, requestOptions as never);
  };
  return {
    ...modern,
    fetch: async (request, requestOptions) => {
      if (request.headers.has('mcp-method')) return modern.fetch(request, requestOptions);
      return cutBy(request.signal, await serve(request, requestOptions));
    },
    close: async () => {
      await Promise.all([...sessions.values()].map(({ mcp }) => mcp.close()));
      await modern.close();
    },
  };
}

/** What a socket does when its client hangs up: nobody reads on. */
function cutBy(signal: AbortSignal, response: Response): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  let ended = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const cut = (): void => {
          void reader.cancel();
          if (!ended) controller.close();
        };
        signal.addEventListener('abort', cut, { once: true });
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (signal.aborted) return;
        ended = done;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel(reason) {
        ended = true;
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}
