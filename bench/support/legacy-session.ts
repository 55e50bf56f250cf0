import { HttpClient, type Message } from './http-client.ts';

const REVISION = '2025-11-25';
const accept = 'application/json, text/event-stream';

/** A session of 2025-11-25 with a server, on as many connections as there are calls at once. */
export class LegacySession {
  readonly #client: HttpClient;
  readonly #headers: Record<string, string>;
  #requests = 1;

  private constructor(client: HttpClient, sessionId: string | null) {
    this.#client = client;
    this.#headers = {
      'content-type': 'application/json',
      accept,
      'mcp-protocol-version': REVISION,
      ...(sessionId !== null && { 'mcp-session-id': sessionId }),
    };
  }

  static async open(url: string, options: { sockets: number }): Promise<LegacySession> {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const hello = await post(url, {
      id: 0,
      method: 'initialize',
      params: { protocolVersion: REVISION, capabilities: {}, clientInfo },
    });
    const sessionId = hello.headers.get('mcp-session-id');
    if (!(await hello.text()).includes(`"protocolVersion":"${REVISION}"`)) throw new Error('it does not speak tasks');
    const ready = await post(url, { method: 'notifications/initialized' }, sessionId);
    if (ready.status !== 202) throw new Error(`notifications/initialized was answered ${ready.status}`);
    return new LegacySession(new HttpClient(url, options), sessionId);
  }

  /** Calls a tool as a task and fetches its result: two requests, the second of which waits where it has to. */
  async lifecycle(name: string, args: Record<string, unknown>, expected: string): Promise<void> {
    const call = this.#message('tools/call', { name, arguments: args, task: { ttl: 3_600_000 } });
    const { text } = await this.#client.send(call, '"task"');
    const taskId = /"taskId":"([^"]+)"/.exec(text)?.[1];
    await this.#client.send(this.#message('tasks/result', { taskId }), expected);
  }

  close(): void {
    this.#client.close();
  }

  #message(method: string, params: Record<string, unknown>): Message {
    this.#requests += 1;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: this.#requests, method, params }));
    return { body, headers: { ...this.#headers, 'content-length': String(body.length) } };
  }
}

function post(url: string, message: Record<string, unknown>, sessionId: string | null = null): Promise<Response> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept };
  if (sessionId !== null) Object.assign(headers, { 'mcp-session-id': sessionId, 'mcp-protocol-version': REVISION });
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
}
