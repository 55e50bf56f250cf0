// Connections to a server somebody else wrote, which take down all that goes over them.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type Json, request } from '../../test/support/messages.ts';
import { ended, track } from '../support/children.ts';

/** Of a response's headers, those that MCP has a say in. */
const HEADERS = ['content-type', 'mcp-session-id', 'allow'];
const PATIENCE_MS = 10_000;

export interface Sending {
  /** Of this request. @default tasks and forms */
  capabilities?: Json;
  /** What is left out over HTTP, though it has to be there. */
  without?: 'mcp-name';
}

export abstract class Wire {
  readonly lines: Json[] = [];
  readonly #started = performance.now();
  #id = 0;

  /** Sends a request of 2026-07-28, and waits for its answer. */
  ask(method: string, params: Json = {}, { capabilities, without }: Sending = {}): Promise<Json> {
    this.#id += 1;
    return this.send(request(this.#id, method, params, capabilities), without);
  }

  /** What comes of a call that becomes a task. */
  async start(name: string, args: Json = {}): Promise<string> {
    const { result } = await this.ask('tools/call', { name, arguments: args });
    return String((result as Json).taskId);
  }

  /** Asks for a task as often as it takes, as slowly as it is told. */
  async until(taskId: string, ...statuses: string[]): Promise<Json> {
    for (;;) {
      const { result, error } = (await this.ask('tasks/get', { taskId })) as { result?: Json; error?: Json };
      if (result === undefined) throw new Error(`tasks/get of ${taskId}: ${JSON.stringify(error)}`);
      if (statuses.includes(String(result.status))) return result;
      await new Promise((resolve) => setTimeout(resolve, Number(result.pollIntervalMs ?? 200)));
    }
  }

  segment(title: string): void {
    this.lines.push({ segment: title });
  }

  abstract close(): Promise<void>;
  protected abstract send(message: Json, without: Sending['without']): Promise<Json>;

  protected note(line: Json): void {
    this.lines.push({ t: Math.round(performance.now() - this.#started), ...line });
  }
}

/** One exchange for each POST. */
export class HttpWire extends Wire {
  readonly #url: string;
  #exchange = 0;

  constructor(url: string) {
    super();
    this.#url = url;
  }

  async close(): Promise<void> {}

  protected async send(message: Json, without: Sending['without']): Promise<Json> {
    this.#exchange += 1;
    const place = { transport: 'http', exchange: this.#exchange };
    const { method, params } = message as { method: string; params: Json };
    const name = params.name ?? params.taskId;
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && without !== 'mcp-name' && { 'mcp-name': String(name) }),
    };
    this.note({ dir: 'host->server', ...place, http: { method: 'POST', path: '/mcp', headers }, msg: message });
    const body = JSON.stringify(message);
    const answer = await fetch(this.#url, { method: 'POST', headers, body, signal: AbortSignal.timeout(PATIENCE_MS) });
    const text = await answer.text();
    const kept = HEADERS.flatMap((header) =>
      answer.headers.has(header) ? [[header, answer.headers.get(header)]] : [],
    );
    const http = { status: answer.status, headers: Object.fromEntries(kept) };
    const messages = kept.some(([, value]) => value?.startsWith('text/event-stream'))
      ? [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data as string)
      : [text];
    let last: Json = {};
    for (const one of messages) {
      last = JSON.parse(one) as Json;
      this.note({ dir: 'server->host', ...place, http, msg: last });
    }
    return last;
  }
}

export class StdioWire extends Wire {
  readonly #child: ChildProcess & { stdin: Writable; stdout: Readable };
  readonly #waiting = new Map<unknown, (message: Json) => void>();

  constructor(command: string, args: readonly string[]) {
    super();
    this.#child = track(spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] }));
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const msg = JSON.parse(line) as Json;
      this.note({ dir: 'server->host', transport: 'stdio', proc: 1, msg });
      this.#waiting.get(msg.id)?.(msg);
      this.#waiting.delete(msg.id);
    });
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await ended(this.#child);
  }

  protected send(message: Json): Promise<Json> {
    this.note({ dir: 'host->server', transport: 'stdio', proc: 1, msg: message });
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${JSON.stringify(message)}`)), PATIENCE_MS);
      this.#waiting.set(message.id, (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    });
  }
}
