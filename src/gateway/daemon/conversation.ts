import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { restartedError } from '../../wire/restarted.ts';
import { type Envelope, envelopeOf, withId } from './envelope.ts';
import { DaemonError } from './errors.ts';
import { jsonOf, SessionMemory } from './session-memory.ts';

/** So many requests of a host may be unanswered. */
const MAX_IN_FLIGHT = 10_000;
const CANCELLED = 'notifications/cancelled';
const INTERNAL_ERROR = -32_603;
const RESTARTED = 'the gateway restarted; whether the call ran is not known; tasks go on';

/** What becomes of a line. */
interface Passed {
  /** What goes on to the other side. */
  on?: Buffer;
  /** What is answered at once. */
  back?: Buffer;
}

/** A request of ours, by which a new daemon learns of the session. */
interface Repeated {
  answered(message: JsonObject): void;
  lost(): void;
}

/** The connection broke before the new daemon knew of the session. */
export class LostAgainError extends Error {
  override readonly name = 'LostAgainError';
}

/**
 * What a front knows of the conversation it passes on: which requests are open, and what to say again to a new daemon. Lines
 * pass as they are; only ids of the daemon's own requests are changed after it was replaced, since a new one numbers anew.
 */
export class Conversation {
  readonly #memory = new SessionMemory();
  /** The host's open requests; of `initialize` the line itself. */
  readonly #inFlight = new Map<string, Buffer | undefined>();
  /** The daemon's open requests, by the ids that the host sees. */
  readonly #asked = new Set<string>();
  readonly #repeated = new Map<string, Repeated>();
  /** What the session agreed on. */
  #version: unknown;
  #restarts = 0;

  fromHost(line: Buffer): Passed {
    const envelope = envelopeOf(line);
    if (envelope === undefined) return { on: line };
    const { id, method } = envelope;
    if (method === undefined) return id === undefined ? { on: line } : this.#answerOf(line, id);
    this.#memory.note(method, line);
    if (id === undefined) {
      if (method === CANCELLED) this.#inFlight.delete(cancelledId(line));
      return { on: line };
    }
    if (this.#inFlight.size >= MAX_IN_FLIGHT) return { back: failure(id.text, 'too many requests are open') };
    this.#inFlight.set(id.text, method === 'initialize' ? line : undefined);
    return { on: line };
  }

  /** What goes on to the host. */
  fromDaemon(line: Buffer): Buffer | undefined {
    const envelope = envelopeOf(line);
    if (envelope === undefined) return line;
    const { id, method } = envelope;
    if (method !== undefined) return id === undefined ? this.#told(line, method) : this.#question(line, id);
    if (id === undefined) return line;
    const repeated = this.#repeated.get(id.text);
    if (repeated !== undefined) {
      this.#repeated.delete(id.text);
      repeated.answered(jsonOf(line) as JsonObject);
      return undefined;
    }
    if (this.#inFlight.get(id.text) !== undefined) this.#version = agreedVersion(jsonOf(line));
    this.#inFlight.delete(id.text);
    return line;
  }

  /** The daemon is gone: what the host has to be told. */
  lost(): Buffer[] {
    const told: Buffer[] = [];
    for (const [id, initialize] of this.#inFlight) {
      if (initialize !== undefined) continue; // It is said again, and then answered.
      told.push(answered(id, restartedError(RESTARTED)));
      this.#inFlight.delete(id);
    }
    for (const id of this.#asked)
      told.push(notification(CANCELLED, `{"requestId":${id},"reason":"the gateway restarted"}`));
    this.#asked.clear();
    this.#restarts += 1;
    for (const repeated of this.#repeated.values()) repeated.lost();
    this.#repeated.clear();
    return told;
  }

  /**
   * Tells a new daemon of the session. Until this resolves, nothing of the host's may go there.
   * @throws {LostAgainError} when the connection breaks meanwhile.
   * @throws {DaemonError} when the session cannot be taken up again.
   */
  async repeat(write: (line: Buffer) => void): Promise<void> {
    for (const initialize of this.#inFlight.values()) if (initialize !== undefined) return write(initialize);
    for (const [n, message] of this.#memory.messages.entries()) {
      if (message['id'] === undefined) {
        write(lineOf(message));
        continue;
      }
      const id = `longcall-repeat:${this.#restarts}:${n}`;
      const answer = new Promise<JsonObject>((resolve, reject) => {
        this.#repeated.set(JSON.stringify(id), { answered: resolve, lost: () => reject(new LostAgainError()) });
      });
      write(lineOf({ ...message, id }));
      const agreed = agreedVersion(await answer);
      if (message['method'] !== 'initialize' || agreed === this.#version) continue;
      throw new DaemonError(
        'DAEMON_LOST',
        'the gateway restarted and does not take up the session as it was; connect anew',
      );
    }
  }

  #question(line: Buffer, id: NonNullable<Envelope['id']>): Buffer {
    if (this.#restarts === 0) {
      this.#asked.add(id.text);
      return line;
    }
    const shown = this.#shown(id.text);
    this.#asked.add(shown);
    return withId(line, id, shown);
  }

  /** An answer to a question goes to who asked it, or nowhere. */
  #answerOf(line: Buffer, id: NonNullable<Envelope['id']>): Passed {
    this.#asked.delete(id.text);
    if (this.#restarts === 0) return { on: line };
    const shown = JSON.parse(id.text) as unknown;
    const prefix = this.#prefix;
    if (typeof shown !== 'string' || !shown.startsWith(prefix)) return {};
    return { on: withId(line, id, shown.slice(prefix.length)) };
  }

  #told(line: Buffer, method: string): Buffer {
    if (method !== CANCELLED) return line;
    const id = cancelledId(line);
    const shown = this.#restarts === 0 ? id : this.#shown(id);
    this.#asked.delete(shown);
    if (this.#restarts === 0) return line;
    const message = jsonOf(line) as { params: JsonObject };
    return lineOf({ ...message, params: { ...message.params, requestId: JSON.parse(shown) } });
  }

  #shown(id: string): string {
    return JSON.stringify(`${this.#prefix}${id}`);
  }

  get #prefix(): string {
    return `longcall:${this.#restarts}:`;
  }
}

/** As JSON spells it; empty where there is none. */
function cancelledId(line: Buffer): string {
  const message = jsonOf(line);
  const params = isJsonObject(message) ? message['params'] : undefined;
  const id = isJsonObject(params) ? params['requestId'] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : '';
}

function agreedVersion(answer: unknown): unknown {
  const result = isJsonObject(answer) ? answer['result'] : undefined;
  return isJsonObject(result) ? result['protocolVersion'] : undefined;
}

function lineOf(message: object): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}

function failure(id: string, message: string): Buffer {
  return answered(id, { code: INTERNAL_ERROR, message });
}

function answered(id: string, error: JsonObject): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}\n`);
}

function notification(method: string, params: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}\n`);
}
