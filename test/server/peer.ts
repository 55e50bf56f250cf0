import { expect, onTestFinished } from 'vitest';
import { createTasks, type Tasks, type TasksOptions } from '../../src/engine/index.ts';
import { createTaskServer, type TaskServer, type TaskServerOptions } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { type Json, request, withTasks } from '../support/messages.ts';
import { createWireValidator, type WireValidator, type WireValidatorOptions } from '../support/wire-validator.ts';
import { isSdkV1 } from './binding.ts';
import { sdkV1Server } from './sdk-v1-server.ts';

/** What came back for one POST. */
export interface Reply {
  status: number;
  headers: Headers;
  /** The body as it came: for comparing byte by byte, and for looking for what must not be in it. */
  body: string;
  /** The JSON-RPC answer, whichever way it came. */
  message: Json;
  result: Json;
  error: { code: number; message: string; data?: unknown };
  /** What came before the answer on an event stream. */
  notifications: Json[];
}

export interface Sending {
  /** Of this request; {@link withTasks} where nothing is said. */
  capabilities?: Json;
  /** Added to what each request carries in `_meta`. */
  meta?: Json;
  /** Added to, or with `undefined` taken from, the headers that fit the message. */
  headers?: Record<string, string | undefined>;
  signal?: AbortSignal;
}

export type Fetch = (request: Request) => Promise<Response>;

/** Sends requests to a server that listens. */
export function over(url: string): Fetch {
  return async (request) => {
    const { method, headers, signal } = request;
    return fetch(url, { method, headers, signal, ...(method === 'POST' && { body: await request.text() }) });
  };
}

/** A client of 2026-07-28 that spells every request out, and holds every answer against the wire's rules. */
export class Peer {
  readonly fetch: Fetch;
  #nextId = 1;

  constructor(fetch: Fetch, validator: WireValidator) {
    this.fetch = validator.wrapFetch(fetch);
  }

  request(method: string, params: Json, { capabilities = withTasks, meta }: Sending = {}): Json {
    this.#nextId += 1;
    return request(this.#nextId, method, params, capabilities, meta);
  }

  send(method: string, params: Json, sending: Sending = {}): Promise<Reply> {
    return this.post(this.request(method, params, sending), sending);
  }

  async post(message: Json, { headers = {}, signal }: Sending = {}): Promise<Reply> {
    return this.postText(JSON.stringify(message), {
      headers: { ...headersFor(message), ...headers },
      ...(signal && { signal }),
    });
  }

  async postText(body: string, sending: Sending = {}): Promise<Reply> {
    return readReply(await this.open(body, sending));
  }

  /** The bare response, for reading a stream while it is written. */
  stream(method: string, params: Json, sending: Sending = {}): Promise<Response> {
    const message = this.request(method, params, sending);
    return this.open(JSON.stringify(message), { ...sending, headers: { ...headersFor(message), ...sending.headers } });
  }

  async open(body: string, { headers = {}, signal }: Sending = {}): Promise<Response> {
    const kept = Object.entries({ ...everyPost, ...headers }).filter(([, value]) => value !== undefined);
    const init = { method: 'POST', body, headers: kept as [string, string][], ...(signal && { signal }) };
    return this.fetch(new Request('http://127.0.0.1/mcp', init));
  }

  call(name: string, args: Json = {}, sending?: Sending): Promise<Reply> {
    return this.send('tools/call', { name, arguments: args }, sending);
  }

  /** Calls a tool that becomes a task. */
  async start(name: string, args: Json = {}, sending?: Sending): Promise<Json & { taskId: string }> {
    const { message, result } = await this.call(name, args, sending);
    expect(message).toMatchObject({ result: { resultType: 'task' } });
    return result as Json & { taskId: string };
  }

  get(taskId: string, sending?: Sending): Promise<Reply> {
    return this.send('tasks/get', { taskId }, sending);
  }

  update(taskId: string, inputResponses: unknown, sending?: Sending): Promise<Reply> {
    return this.send('tasks/update', { taskId, inputResponses }, sending);
  }

  cancel(taskId: string, sending?: Sending): Promise<Reply> {
    return this.send('tasks/cancel', { taskId }, sending);
  }
}

export const everyPost = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Those of 2026-07-28 that say what is in the message. */
export function headersFor(message: Json): Record<string, string> {
  const params = message['params'] as Json | undefined;
  const name = params?.['name'] ?? params?.['taskId'] ?? params?.['uri'];
  return {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': String(message['method']),
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
  };
}

/** As 2026-07-28 writes what a header could not carry, or would trim. */
export function headerValue(value: string): string {
  const plain = /^[!-~]([ -~]*[!-~])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** The messages of an event stream, each as soon as it has come. */
export async function* events(response: Response): AsyncGenerator<Json> {
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const whole = text.lastIndexOf('\n\n') + 2;
    for (const [, data] of text.slice(0, whole).matchAll(/^data: ([^\n]+)$/gm)) yield JSON.parse(data!) as Json;
    text = text.slice(whole);
  }
}

export async function readReply(response: Response): Promise<Reply> {
  const body = await response.text();
  const stream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const messages = stream
    ? [...body.matchAll(/^data: ([^\n]+)$/gm)].map(([, data]) => JSON.parse(data!) as Json)
    : body === ''
      ? []
      : [JSON.parse(body) as Json];
  const message = messages.at(-1) ?? {};
  return {
    status: response.status,
    headers: response.headers,
    body,
    message,
    result: message['result'] as Json,
    error: message['error'] as Reply['error'],
    notifications: messages.slice(0, -1),
  };
}

export interface Served extends Watching {
  tasks: Tasks;
  server: TaskServer;
  clock: ManualClock;
  validator: WireValidator;
  peer: Peer;
  /** What operators were told. */
  log: ReturnType<typeof recordingLogger>['lines'];
}

/**
 * Serves some tools in memory, within this process and on a clock that stands still. At the end of the test the server
 * is closed, and the test fails if a message broke the rules, or none was looked at.
 */
export function serve(
  register: (tasks: Tasks) => void,
  options: { tasks?: Partial<TasksOptions>; server?: TaskServerOptions } = {},
): Served {
  const clock = (options.tasks?.clock as ManualClock | undefined) ?? new ManualClock();
  const { logger, lines } = recordingLogger();
  const tasks = createTasks({
    store: sqliteStore(':memory:'),
    logger,
    drainMs: 0,
    stopGraceMs: 0,
    ...options.tasks,
    clock,
  });
  register(tasks);
  const info = { name: 'test-server', version: '1.2.3' };
  const server = isSdkV1() ? sdkV1Server(tasks, options.server) : createTaskServer(tasks, info, options.server);
  const validator = validated({ firstDraft: options.server?.firstDraft ?? false });
  const peer = new Peer((request) => server.fetch(request), validator);
  onTestFinished(() => closing(server, clock));
  return {
    tasks,
    server,
    clock,
    validator,
    peer,
    log: lines,
    ...watchedBy(peer, tasks),
  };
}

/** Looks at tasks as they change. */
export interface Watching {
  /** The answer to `tasks/get`, asked again whenever the task changes until it is as wanted. */
  when(taskId: string, wanted: (task: Json) => boolean): Promise<Json>;
  /** The same, for a status. */
  reaches(taskId: string, status: string): Promise<Json>;
}

export function watchedBy(peer: Peer, { engine }: Tasks): Watching {
  const when: Watching['when'] = async (taskId, wanted) => {
    let ring = (): void => {};
    const unwatch = engine.watch(taskId, () => ring());
    try {
      for (;;) {
        const rung = new Promise<void>((resolve) => {
          ring = resolve;
        });
        const { result, message } = await peer.get(taskId);
        if (result === undefined) throw new Error(`no task: ${JSON.stringify(message)}`);
        if (wanted(result)) return result;
        await rung;
      }
    } finally {
      unwatch();
    }
  };
  return { when, reaches: (taskId, status) => when(taskId, (task) => task['status'] === status) };
}

/** A validator that is asked at the end of the test. */
export function validated(options: WireValidatorOptions = {}): WireValidator {
  const validator = createWireValidator(options);
  onTestFinished(() => {
    validator.assertClean();
    expect(validator.checked).toBeGreaterThan(0);
  });
  return validator;
}

/** Closing waits for a clock that nobody else moves. */
export async function closing(server: { close(): Promise<void> }, clock: ManualClock): Promise<void> {
  let closed = false;
  const done = server.close().finally(() => {
    closed = true;
  });
  const deadline = performance.now() + 20_000;
  while (!closed) {
    if (performance.now() > deadline) throw new Error('the server does not close');
    clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
}
