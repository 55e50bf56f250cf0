import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, type McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import type { GatewayConfig, ToolPolicy, UpstreamConfig, UpstreamTarget } from '../../src/gateway/config/types.ts';
import { type Gateway, type GatewayOptions, openGateway } from '../../src/gateway/gateway.ts';
import { scratchFolder } from '../support/stores.ts';

/** A server by the SDK's first version, without tasks, over HTTP in sessions of its own. */
export interface PlainServer {
  target: UpstreamTarget;
  /** One for each session. */
  servers: McpServer[];
  /** Headers of each request. */
  headers: Record<string, string | string[] | undefined>[];
  /** Breaks every connection, and forgets every session. */
  crash(): Promise<void>;
}

export async function plainServer(make: () => McpServer): Promise<PlainServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  const headers: PlainServer['headers'] = [];
  const http: HttpServer = createServer((request, response) => {
    headers.push(request.headers);
    let text = '';
    request.setEncoding('utf8').on('data', (some: string) => (text += some));
    request.on('end', async () => {
      const id = request.headers['mcp-session-id'];
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      let transport = typeof id === 'string' ? sessions.get(id) : undefined;
      if (transport === undefined) {
        if (!isInitializeRequest(body)) return void response.writeHead(404).end();
        const begun = new StreamableHTTPServerTransport({
          sessionIdGenerator: () => crypto.randomUUID(),
          onsessioninitialized: (session) => void sessions.set(session, begun),
        });
        transport = begun;
        const server = make();
        servers.push(server);
        await server.connect(begun as never);
      }
      await transport.handleRequest(request, response, body);
      return undefined;
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    http.closeAllConnections();
    http.close();
    await Promise.all(servers.map((server) => server.close()));
  };
  onTestFinished(stop);
  return {
    target: { url: `http://127.0.0.1:${port}/mcp`, headers: {}, forwardAuthorization: false },
    servers,
    headers,
    async crash() {
      sessions.clear();
      http.closeAllConnections();
      for (const server of servers.splice(0)) await server.close();
    },
  };
}

/** A server by the SDK's second version, which speaks 2026-07-28 over HTTP, without tasks. */
export async function modernServer(make: () => McpServerV2): Promise<{ target: UpstreamTarget; headers: Headers[] }> {
  const handler = createMcpHandler(make);
  const headers: Headers[] = [];
  const http = createServer(
    getRequestListener((request) => {
      headers.push(request.headers);
      return handler.fetch(request);
    }),
  );
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await handler.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  return { target: { url, headers: {}, forwardAuthorization: false }, headers };
}

export function upstream(
  target: UpstreamTarget,
  own: Partial<UpstreamConfig> & { policy?: ToolPolicy } = {},
): UpstreamConfig {
  return { name: 'up', prefix: '', policy: {}, tools: [], target, ...own };
}

/** A folder for a gateway's state, removed after the test. */
export function stateFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'state');
}

export interface Standing {
  gateway: Gateway;
  url: string;
}

/** A gateway that listens. */
export async function standing(config: GatewayConfig, options: Partial<GatewayOptions> = {}): Promise<Standing> {
  // Most of what is looked at here is tasks, however quick they are.
  const gateway = await openGateway({
    stateFolder: stateFolder(),
    ...options,
    config: { inlineWithinMs: 0, ...config },
  });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen({ port: 0 });
  return { gateway, url };
}

export type Era = 'legacy' | 'auto';

/** The official client, connected to a gateway; `auto` speaks 2026-07-28 to it. */
export async function guest(
  url: string,
  era: Era,
  {
    capabilities = {},
    prepare = () => {},
    headers = {},
  }: { capabilities?: object; prepare?: (client: Client) => void; headers?: Record<string, string> } = {},
): Promise<Client> {
  const client = new Client({ name: 'guest', version: '1' }, {
    capabilities,
    versionNegotiation: { mode: era },
  } as never);
  prepare(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

export function words(result: unknown): string {
  const { content } = result as { content: { text?: string }[] };
  return content.map(({ text = '' }) => text).join('');
}
