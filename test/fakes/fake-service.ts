import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, JsonObject, JsonValue } from '../../src/core/index.ts';

/** An operation as the service has it. */
export interface FakeJob {
  id: string;
  /** What it was started with. */
  body: JsonValue | undefined;
  /** Idempotency key or correlation token, where the start carried one. */
  key: string | undefined;
  state: 'working' | 'done' | 'failed' | 'cancelled';
  percent: number;
  message?: string;
  result: JsonValue;
  /** On the service's clock. */
  startedAt: number;
}

export interface FakeRequest {
  /** What it is about, in a word: `start`, `status`, `result`, `cancel`, `list`. */
  about: string;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonValue | undefined;
}

export interface FakeAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: JsonValue;
  text?: string;
}

/** What happens to one request, before the service has seen it or after it did what was asked. */
export interface FakeFault {
  about: string;
  when: 'before' | 'after';
  /** An answer instead of its own; `drop`: the connection is cut; `hang`: nothing, ever. */
  how: FakeAnswer | 'drop' | 'hang';
}

/** A service on a real port: what all of them share. Each kind says how it is asked, and how it answers. */
export abstract class FakeService {
  readonly jobs = new Map<string, FakeJob>();
  /** All that ever were. */
  readonly begun: FakeJob[] = [];
  readonly requests: FakeRequest[] = [];
  faults: FakeFault[] = [];
  /** Sent with `202` and the like. */
  retryAfter: string | undefined;
  /** A start under a key that came before gives the same job. */
  honoursKeys = false;
  /** What was just started is unknown so long, in milliseconds of `clock`. */
  visibleAfterMs = 0;
  /** How far its clock goes ahead of everybody's, in milliseconds. */
  skewMs = 0;
  /** Told of every request. */
  onRequest: (request: FakeRequest) => void = () => {};
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  /** Held until let go. */
  #gate: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.statusCode = 599;
        response.end(String(error));
      });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** The job of an id; without one, the only one there is. */
  job(id?: string): FakeJob {
    const job = id === undefined ? [...this.jobs.values()][0] : this.jobs.get(id);
    if (job === undefined) throw new Error(`no job ${id ?? ''}`);
    return job;
  }

  finish(result: JsonValue = { built: true }, id?: string): void {
    Object.assign(this.job(id), { state: 'done', result, percent: 100 });
  }

  fail(message: string, id?: string): void {
    Object.assign(this.job(id), { state: 'failed', message });
  }

  about(about: string): FakeRequest[] {
    return this.requests.filter((request) => request.about === about);
  }

  /** Resolves once there were `count` requests about that. */
  async until(about: string, count = 1): Promise<void> {
    while (this.about(about).length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Every request from now on waits until this is called. */
  hold(): () => void {
    let letGo = (): void => {};
    this.#gate = new Promise((resolve) => {
      letGo = resolve;
    });
    return letGo;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  protected begin(body: JsonValue | undefined, key: string | undefined): FakeJob {
    const known = this.honoursKeys && key !== undefined && [...this.jobs.values()].find((job) => job.key === key);
    if (known) return known;
    const id = `op-${this.begun.length + 1}`;
    const job: FakeJob = { id, body, key, state: 'working', percent: 0, result: null, startedAt: this.now() };
    this.jobs.set(id, job);
    this.begun.push(job);
    return job;
  }

  /** `undefined`: there is none, or it cannot be seen yet. */
  protected visible(id: string | undefined): FakeJob | undefined {
    const job = this.jobs.get(id ?? '');
    return job !== undefined && this.now() - job.startedAt >= this.visibleAfterMs ? job : undefined;
  }

  protected cancelled(job: FakeJob): void {
    if (job.state === 'working') job.state = 'cancelled';
  }

  /** What a request is about. */
  protected abstract aboutOf(method: string, path: string): string;

  protected abstract answer(request: FakeRequest): FakeAnswer;

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    const { method = 'GET', url: path = '/', headers } = request;
    const body = text === '' ? undefined : (JSON.parse(text) as JsonValue);
    const asked = { about: this.aboutOf(method, path.split('?', 1)[0] as string), method, path, headers, body };
    this.requests.push(asked);
    this.onRequest(asked);
    for (const wake of [...this.#waiting]) {
      this.#waiting.delete(wake);
      wake();
    }
    await this.#gate;
    const fault = this.faults.find(({ about }) => about === asked.about);
    if (fault !== undefined) this.faults.splice(this.faults.indexOf(fault), 1);
    const own = fault?.when === 'before' ? { status: 599 } : this.answer(asked);
    if (fault?.how === 'hang') return;
    if (fault?.how === 'drop') return void request.socket.destroy();
    this.#write(fault === undefined ? own : fault.how, response);
  }

  #write({ status, headers = {}, body, text }: FakeAnswer, response: ServerResponse): void {
    response.statusCode = status;
    response.setHeader('date', new Date(this.now()).toUTCString());
    if (body !== undefined) response.setHeader('content-type', 'application/json');
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(body === undefined ? text : JSON.stringify(body));
  }
}

export function headerOf(request: FakeRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** With what there is of it only. */
export function pruned(members: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}
