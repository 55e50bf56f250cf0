// Plays a host: sends what it sent, in its order, to a server under test.
import type { Json } from '../support/messages.ts';
import type { Incoming, OpenPeer, Peer } from './peer.ts';
import type { Line, MessageLine, Segment } from './recording.ts';
import { type Sent, Transcript } from './transcript.ts';

export interface ReplayOptions {
  /** Lets so many milliseconds pass, as they did in the recording. @default the host takes no time at all */
  elapse?: (ms: number) => Promise<void>;
  /**
   * How long an answer that the host waited for may take: of real milliseconds, or of those that `elapse` lets pass.
   * @default 10 s, a minute with `elapse`
   */
  patienceMs?: number;
}

const SESSION = /^<session-\d+>$/;
const TASK = /<task-\d+>/g;
/** Waiting goes on in pieces, so that little more time passes than has to. */
const PIECE_MS = 100;

/**
 * Sends each message of the host once everything that had reached the host before it has come: so a poll follows the
 * handle whose id it asks for, and a late cancel the answer it comes too late for. Ids of sessions, tasks and server
 * requests are those of the server under test. What answers something that this server never said is left out.
 * @throws {Error} naming the request, when an answer the host waited for does not come
 */
export async function replay(segment: Segment, open: OpenPeer, options: ReplayOptions = {}): Promise<Transcript> {
  return new Replay(segment, open, options).run();
}

class Replay {
  readonly #segment: Segment;
  readonly #peer: Peer;
  readonly #options: ReplayOptions;
  readonly #transcript = new Transcript();
  /** Placeholders of the recording, and what stands for them here. */
  readonly #ids = new Map<string, string>();
  #session: string | undefined;
  /** What the recorded server had sent by now and nobody looked for yet. */
  #due: Line[] = [];
  /** Requests of the recorded server, and those of the one under test. */
  readonly #recorded: MessageLine[] = [];
  readonly #asked: Json[] = [];
  readonly #listeners = new Set<() => void>();
  /** How far the time here is ahead of the recording's. */
  #ahead = 0;

  constructor(segment: Segment, open: OpenPeer, options: ReplayOptions) {
    this.#segment = segment;
    this.#options = options;
    this.#peer = open((incoming) => this.#receive(incoming));
  }

  async run(): Promise<Transcript> {
    let before = 0;
    try {
      for (const line of this.#segment.lines) {
        await this.#passUntil(line.t - before);
        before = line.t;
        await this.#step(line);
      }
      await this.#catchUp();
    } finally {
      await this.#peer.end();
    }
    return this.#transcript;
  }

  /** Time that passed while waiting counts. */
  async #passUntil(ms: number): Promise<void> {
    const left = Math.max(ms, 0) - this.#ahead;
    this.#ahead = Math.max(-left, 0);
    if (left > 0) await this.#options.elapse?.(left);
  }

  async #step(line: Line): Promise<void> {
    if (line.kind === 'event') {
      if (line.event === 'stream-open') this.#due.push(line);
      if (line.event !== 'stream-aborted' && line.event !== 'stdin-closed') return;
      await this.#catchUp();
      this.#peer.close(line.channel);
    } else if (line.from === 'server') {
      if (line.message?.['method'] === undefined) this.#due.push(line);
      else if (line.message['id'] !== undefined) this.#recorded.push(line);
    } else {
      await this.#catchUp();
      const outgoing = await this.#prepared(line);
      if (outgoing === undefined) return;
      this.#transcript.sent.push({ channel: line.channel, message: outgoing.message, before: [] });
      this.#peer.send(outgoing);
    }
  }

  /** Waits for all that the host had seen by now, and learns from it which ids stand for those of the recording. */
  async #catchUp(): Promise<void> {
    const due = this.#due;
    this.#due = [];
    for (const line of due) {
      const sent = this.#sentFor(line);
      if (sent === undefined) continue; // The host could not send it.
      const { http } = line;
      const message = line.kind === 'message' ? line.message : undefined;
      await this.#until(
        () => sent.ended === true || (message === undefined ? sent.head : sent.answer) !== undefined,
        () => `no answer to ${JSON.stringify(sent.message)}`,
      );
      const session = http?.headers['mcp-session-id'];
      const given = sent.head?.headers.get('mcp-session-id') ?? undefined;
      if (session !== undefined && given !== undefined) {
        this.#ids.set(session, given);
        this.#session = given;
      }
      if (message !== undefined) this.#learnTasks(message, sent.answer);
    }
  }

  #sentFor({ channel, ...line }: Line): Sent | undefined {
    const ofChannel = this.#transcript.sent.filter((sent) => sent.channel === channel);
    const message = line.kind === 'message' ? line.message : undefined;
    if (message === undefined) return ofChannel.at(-1);
    return ofChannel.findLast((sent) => isRequest(sent.message) && sent.message?.['id'] === message['id']);
  }

  #learnTasks(recorded: unknown, actual: unknown): void {
    if (typeof recorded === 'string') {
      if (recorded.match(TASK)?.[0] === recorded && typeof actual === 'string') this.#ids.set(recorded, actual);
    } else if (typeof recorded === 'object' && recorded !== null && typeof actual === 'object' && actual !== null) {
      for (const [name, value] of Object.entries(recorded)) this.#learnTasks(value, (actual as Json)[name]);
    }
  }

  /** The line as it can be sent here; `undefined` if it cannot. */
  async #prepared(line: MessageLine): Promise<Parameters<Peer['send']>[0] | undefined> {
    const skip = (why: string): undefined => {
      this.#transcript.skipped.push({ line, why });
    };
    const text = JSON.stringify({ message: line.message, headers: line.http?.headers });
    const missing = text.match(TASK)?.find((placeholder) => !this.#ids.has(placeholder));
    if (missing !== undefined) return skip(`${missing} was never handed out`);
    const filled = text.replaceAll(TASK, (placeholder) => this.#ids.get(placeholder)!);
    const { message, headers = {} } = JSON.parse(filled) as { message?: Json; headers?: Record<string, string> };
    const session = headers['mcp-session-id'];
    if (session !== undefined && SESSION.test(session)) {
      const mine = this.#ids.get(session) ?? this.#session;
      if (mine === undefined)
        delete headers['mcp-session-id']; // The server under test has no sessions.
      else headers['mcp-session-id'] = mine;
    }
    if (message !== undefined && message['method'] === undefined) {
      const id = await this.#requestAnswered(message['id']);
      if (id === undefined) return skip('the server never asked');
      message['id'] = id;
    }
    const method = line.http?.method;
    return { channel: line.channel, headers, ...(method !== undefined && { method }), ...(message && { message }) };
  }

  /** The id here of the server's request that had this id in the recording: the nth of its method is the nth here. */
  async #requestAnswered(recordedId: unknown): Promise<unknown> {
    const line = this.#recorded.findLast(({ message }) => message?.['id'] === recordedId);
    const method = line?.message?.['method'];
    if (line === undefined) return undefined;
    const ordinal = this.#recorded.filter(({ message }) => message?.['method'] === method).indexOf(line);
    const here = () => this.#asked.filter((message) => message['method'] === method)[ordinal];
    // It came while this was waited for; where that has its answer without asking, it will not come any more.
    const carrier = this.#transcript.sent.findLast((sent) => sent.channel === line.channel && isRequest(sent.message));
    const settled = () => carrier === undefined || carrier.answer !== undefined || carrier.ended === true;
    await this.#until(
      () => here() !== undefined || settled(),
      () => `neither ${String(method)} nor an answer to ${JSON.stringify(carrier?.message)}`,
    );
    return here()?.['id'];
  }

  #receive({ channel, head, message, ended }: Incoming): void {
    const ofChannel = this.#transcript.sent.filter((sent) => sent.channel === channel);
    if (message !== undefined) {
      this.#transcript.received.push(message);
      const answered = ofChannel.findLast(
        (sent) => isRequest(sent.message) && sent.message?.['id'] === message['id'] && message['method'] === undefined,
      );
      if (answered !== undefined) answered.answer = message;
      else ofChannel.at(-1)?.before.push(message);
      if (message['method'] !== undefined && message['id'] !== undefined) this.#asked.push(message);
    }
    for (const sent of ofChannel) {
      if (head !== undefined) sent.head = head;
      if (ended) sent.ended = true;
    }
    for (const listener of this.#listeners) listener();
  }

  async #until(done: () => boolean, otherwise: () => string): Promise<void> {
    const { elapse, patienceMs = elapse === undefined ? 10_000 : 60_000 } = this.#options;
    if (elapse !== undefined) {
      for (let waited = 0; !done(); waited += PIECE_MS) {
        if (waited >= patienceMs) throw new Error(otherwise());
        await elapse(PIECE_MS);
        this.#ahead += PIECE_MS;
      }
    }
    if (done()) return;
    await new Promise<void>((resolve, reject) => {
      const finish = (outcome: () => void): void => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        outcome();
      };
      const listener = (): void => {
        if (done()) finish(resolve);
      };
      const timer = setTimeout(() => finish(() => reject(new Error(otherwise()))), patienceMs);
      this.#listeners.add(listener);
    });
  }
}

function isRequest(message: Json | undefined): boolean {
  return message?.['method'] !== undefined && message['id'] !== undefined;
}
