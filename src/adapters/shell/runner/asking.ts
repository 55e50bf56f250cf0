import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Answer,
  type Clock,
  isJsonObject,
  type JsonObject,
  plainText,
  type Question,
  type Timer,
} from '../../../core/index.ts';
import type { JobFiles } from '../job-files.ts';
import { note } from './note.ts';
import type { Standing } from './standing.ts';

const PATH = '/ask';
const MAX_BODY_BYTES = 256 * 1024;
const MAX_OPEN = 100;
const MAX_MESSAGE_LETTERS = 8_192;
/** A line feed so often: whoever asks, and whatever lies between, sees that it is not forgotten. */
const ALIVE_MS = 15_000;
/** No timer waits for longer. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** What is asked when it is not said what is wanted: yes or no. */
const NOTHING: JsonObject = { type: 'object', properties: {} };

export interface AskingParts {
  files: JobFiles;
  standing: Standing;
  clock: Clock;
  token: string;
  redact: (text: string) => string;
}

interface Wanted {
  question: Question;
  timeoutMs: number | undefined;
}

interface Open {
  answer(answer: Answer): void;
}

/** An error of the request, as it is answered. */
class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Where a command asks: HTTP, for itself alone, which any language speaks. */
export class Asking {
  readonly #parts: AskingParts;
  readonly #server: Server;
  readonly #open = new Map<string, Open>();
  #asked = 0;

  constructor(parts: AskingParts) {
    this.#parts = parts;
    this.#server = createServer((request, response) => this.#meet(request, response));
    this.#server.requestTimeout = 30_000; // For a request to come in; an answer may take days.
    this.#server.timeout = 0;
  }

  /** @returns the address that the command is told */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#server.unref();
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${PATH}`;
  }

  /** Hands over what was answered meanwhile. */
  look(): void {
    for (const [key, open] of this.#open) {
      const answer = this.#parts.files.answerTo(key);
      if (answer !== undefined) open.answer(answer);
    }
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #meet(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => {}); // Whoever asked is gone, which is told by its close.
    this.#serve(request, response).catch((error: unknown) => {
      const status = error instanceof Refused ? error.status : 500;
      const message = error instanceof Refused ? error.message : 'the question could not be asked';
      if (!(error instanceof Refused)) note(String(error));
      if (!response.headersSent)
        response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(`${JSON.stringify({ error: message })}\n`);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isToken(request.headers.authorization, this.#parts.token)) {
      throw new Refused(401, 'authorization: expected Bearer and the token of this job (LONGCALL_ASK_TOKEN)');
    }
    if (request.url !== PATH) throw new Refused(404, `there is only ${PATH}`);
    if (request.method !== 'POST') throw new Refused(405, 'expected POST');
    if (this.#open.size >= MAX_OPEN) throw new Refused(429, `${MAX_OPEN} questions are open already`);
    const { question, timeoutMs } = await wantedOf(await bodyOf(request), this.#parts.redact);
    this.#asked += 1;
    this.#ask(`q${this.#asked}`, question, timeoutMs, response);
  }

  #ask(key: string, question: Question, timeoutMs: number | undefined, response: ServerResponse): void {
    const { standing, clock } = this.#parts;
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.flushHeaders();
    const timers: Timer[] = [];
    const alive = (): void => {
      timers[0] = clock.setTimer(ALIVE_MS, () => {
        response.write('\n');
        alive();
      });
    };
    alive();
    const settle = (answer?: Answer): void => {
      if (!this.#open.delete(key)) return;
      for (const timer of timers) timer.cancel();
      standing.settled(key);
      if (answer !== undefined) response.end(`${JSON.stringify(answer)}\n`);
    };
    this.#open.set(key, { answer: settle });
    if (timeoutMs !== undefined) timers[1] = clock.setTimer(timeoutMs, () => settle({ action: 'expired' }));
    response.on('close', () => settle()); // Hung up: nobody needs the answer any more.
    standing.asked(key, question);
  }
}

function isToken(given: string | undefined, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given ?? ''), hash(`Bearer ${token}`));
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) throw new Refused(413, `expected at most ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk as Buffer);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refused(400, 'body: expected JSON');
  }
  if (!isJsonObject(body)) throw new Refused(400, 'body: expected a JSON object');
  return body;
}

async function wantedOf(
  { message, schema = NOTHING, timeoutMs, ...rest }: JsonObject,
  redact: (text: string) => string,
): Promise<Wanted> {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new Refused(400, `${unknown}: unknown; expected message, schema, timeoutMs`);
  if (typeof message !== 'string' || message.trim() === '' || message.length > MAX_MESSAGE_LETTERS) {
    throw new Refused(400, `message: expected a text of at most ${MAX_MESSAGE_LETTERS} letters`);
  }
  const right = typeof timeoutMs === 'number' && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS;
  if (timeoutMs !== undefined && !right) {
    throw new Refused(400, `timeoutMs: expected milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
  }
  if (!isJsonObject(schema)) throw new Refused(400, 'schema: expected a JSON Schema object');
  const form = JSON.parse(redact(JSON.stringify(await formOf(schema)))) as JsonObject;
  return {
    question: { kind: 'form', message: redact(plainText(message)), schema: form },
    timeoutMs: timeoutMs as number | undefined,
  };
}

async function formOf(schema: JsonObject): Promise<JsonObject> {
  const { toFormSchema } = await import('../../../engine/form-schema.ts'); // Most commands ask nothing.
  try {
    return toFormSchema(schema, 'schema');
  } catch (error) {
    if (error instanceof TypeError) throw new Refused(400, error.message.replace(/^ask "schema": /, ''));
    throw error;
  }
}
