import { Agent, type IncomingMessage, request } from 'node:http';

const REVISION = '2026-07-28';

/** A JSON-RPC request with the headers it travels under, as bytes: made once, sent often. */
export interface Message {
  body: Buffer;
  headers: Record<string, string>;
}

/** A request of 2026-07-28 as a client sends it, with tasks or without; `name` is the tool or the task it is about. */
export function modern(
  method: string,
  params: Record<string, unknown> = {},
  name?: string,
  { tasks = true }: { tasks?: boolean } = {},
): Message {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': tasks ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {},
  };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }));
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'content-length': String(body.length),
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
  };
}

export function callTool(name: string, args: Record<string, unknown>, who?: { tasks: boolean }): Message {
  return modern('tools/call', { name, arguments: args }, name, who);
}

export interface Reply {
  /** Milliseconds from the call to the last byte of the answer. */
  ms: number;
  text: string;
}

/** Keep-alive connections to one server, one unless told otherwise. As little between the socket and the clock as `node:http` allows. */
export class HttpClient {
  readonly #url: URL;
  readonly #agent: Agent;

  constructor(url: string, { sockets = 1 } = {}) {
    this.#url = new URL(url);
    // In turn, or a connection that is seldom used is closed by the server just when it is needed.
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets, scheduling: 'fifo' });
  }

  /** @throws {Error} when the answer is not one to this kind of request: a bench of errors measures nothing. */
  async send({ body, headers }: Message, expected: string): Promise<Reply> {
    const started = performance.now();
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(this.#url, { method: 'POST', agent: this.#agent, headers }, resolve).on('error', reject).end(body);
    });
    const text = await new Promise<string>((resolve, reject) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    const ms = performance.now() - started;
    if (response.statusCode !== 200 || !text.includes(expected)) {
      throw new Error(`expected ${expected} in an answer 200, got ${response.statusCode} ${text}`);
    }
    return { ms, text };
  }

  close(): void {
    this.#agent.destroy();
  }
}
