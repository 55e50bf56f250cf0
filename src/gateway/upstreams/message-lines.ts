import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { OversizedMessage } from './oversized-message.ts';

export interface MessageReading {
  /** No message may be longer, in bytes. */
  maxBytes: number;
  onMessage: (message: JsonObject) => void;
  /** A line that messages were on, as it came. */
  onRaw: (line: Uint8Array) => void;
  /** A line that is no message: a banner, a debug print, or half of a message where the stream ended. */
  onNoise: (line: string) => void;
  /** One that was too long to be read; `id` where it has one, `method` where it is no answer. */
  onOversized: (message: { bytes: number; id: string | number | undefined; method: string | undefined }) => void;
}

const LINE_FEED = 0x0a;
/** How a message begins that follows a prompt on the same line, as most servers write it. */
const BEGINNING = '{"jsonrpc":"2.0"';

/**
 * The messages on a server's standard output, one a line, in whatever pieces they come. Whatever else is there is told and
 * passed over, since servers print there what was meant for people.
 * @see 2025-11-25 transports, "stdio"
 */
export class MessageLines {
  readonly #reading: MessageReading;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #oversized: OversizedMessage | undefined;

  constructor(reading: MessageReading) {
    this.#reading = reading;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      this.#gather(chunk.subarray(from, at));
      this.end();
      from = at + 1;
    }
    if (from < chunk.length) this.#gather(chunk.subarray(from));
  }

  /** The line is over, or the stream with it. */
  end(): void {
    const oversized = this.#oversized;
    this.#oversized = undefined;
    if (oversized !== undefined) {
      const { bytes, id, method } = oversized;
      this.#reading.onOversized({ bytes, id, method });
      return;
    }
    const line = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    if (line !== undefined && line.length > 0) this.#read(line);
  }

  #gather(piece: Buffer): void {
    if (this.#oversized !== undefined) {
      this.#oversized.push(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= this.#reading.maxBytes) return;
    this.#oversized = new OversizedMessage();
    for (const gathered of this.#pieces) this.#oversized.push(gathered);
    this.#pieces = [];
    this.#bytes = 0;
  }

  #read(raw: Buffer): void {
    const line = raw.toString('utf8').trim(); // Also of a carriage return, and of the mark that some begin their output with.
    if (line === '') return;
    const messages = messagesIn(line);
    if (messages === undefined) {
      this.#reading.onNoise(line);
      return;
    }
    this.#reading.onRaw(raw);
    for (const message of messages) this.#reading.onMessage(message);
  }
}

/** Several, where a server sends them as one (2025-03-26, "Batching"); undefined: it is none. */
function messagesIn(line: string): JsonObject[] | undefined {
  const value = parsed(line) ?? parsed(line.slice(Math.max(0, line.indexOf(BEGINNING))));
  if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) ? value : undefined;
  return isMessage(value) ? [value] : undefined;
}

/** Servers that log in JSON to the wrong stream write objects too. */
function isMessage(value: JsonValue | undefined): value is JsonObject {
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') return false;
  return typeof value.method === 'string' || 'result' in value || isJsonObject(value.error);
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
