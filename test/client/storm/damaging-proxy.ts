import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Chance } from '../../sim/chance.ts';

/** What may happen to one exchange, and how often compared with the others. */
const DAMAGES = [
  ['fine', 30],
  /** The connection breaks before the server hears of it. */
  ['unheard', 4],
  /** A proxy is too busy, or has no server behind it. */
  ['429', 3],
  ['502', 3],
  /** The server did it; the answer is replaced, cut off in the middle, or never comes. */
  ['502 after', 4],
  ['cut', 4],
  ['lost', 4],
  ['silence', 2],
  /** An event stream ends before its time, politely. */
  ['ended', 4],
  /** Every event comes twice. */
  ['twice', 4],
  /** It comes after others that were asked for later. */
  ['late', 6],
] as const;

/** A call that waits for ever waits until it is calm; some of the others have to end before. */
const MAX_SILENT = 3;

export type Damage = (typeof DAMAGES)[number][0];

/** Between a client and a server over HTTP: damages what goes through, as a seed says, until it is told to be calm. */
export class DamagingProxy {
  readonly #chance: Chance;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held: { after: number; release: () => void }[] = [];
  readonly #silent = new Set<ServerResponse>();
  /** What was done to which requests, to be shown when something went wrong. */
  readonly trace: string[] = [];
  target = '';
  #calm = true;
  #seen = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#server = createServer((incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  storm(): void {
    this.#calm = false;
  }

  /** Nothing more is damaged, and what was held back comes, or breaks off. */
  calm(): void {
    this.#calm = true;
    for (const response of this.#silent) response.destroy();
    for (const { release } of this.#held.splice(0)) release();
  }

  async close(): Promise<void> {
    this.calm();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const damage = this.#calm ? 'fine' : (this.#chance.weighted(DAMAGES) ?? 'fine');
    this.#note(body, damage);
    if (damage === 'unheard') return void outgoing.destroy();
    if (damage === '429') return void outgoing.writeHead(429, { 'retry-after': '1' }).end();
    if (damage === '502') return void outgoing.writeHead(502).end('<h1>Bad gateway</h1>');
    const answer = await this.#forward(incoming, body, outgoing);
    if (answer === undefined) return void (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end());
    const damaged = await this.#withheld(damage, outgoing);
    if (damaged) return void answer.destroy();
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    const events = String(answer.headers['content-type']).startsWith('text/event-stream');
    await (events ? passEvents(answer, outgoing, damage) : passBody(answer, outgoing, damage));
  }

  /** Held back, or taken away for good. */
  async #withheld(damage: Damage, outgoing: ServerResponse): Promise<boolean> {
    switch (damage) {
      case '502 after':
        outgoing.writeHead(502).end('<h1>Bad gateway</h1>');
        return true;
      case 'lost':
        outgoing.destroy();
        return true;
      case 'silence':
        if (this.#calm || this.#silent.size >= MAX_SILENT) return false; // It may have become calm meanwhile.
        this.#silent.add(outgoing);
        outgoing.once('close', () => this.#silent.delete(outgoing));
        return true;
      case 'late':
        if (this.#calm) return false;
        await new Promise<void>((release) => this.#held.push({ after: this.#seen + this.#chance.int(1, 6), release }));
        return false;
      default:
        return false;
    }
  }

  #forward(incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): Promise<IncomingMessage | undefined> {
    const { method, headers, url = '/mcp' } = incoming;
    const to = new URL(url, this.target);
    return new Promise((resolve) => {
      const forwarded = request(to, { method, headers: { ...headers, host: to.host }, agent: false }, (answer) => {
        answer.once('error', () => outgoing.destroy()); // The server died in the middle of it.
        resolve(answer);
      });
      forwarded.once('error', () => resolve(undefined));
      outgoing.once('close', () => {
        if (!outgoing.writableFinished) forwarded.destroy(); // The client hung up: the server is to know.
      });
      forwarded.end(body);
    });
  }

  #note(body: Buffer, damage: Damage): void {
    this.#seen += 1;
    const [, method = 'GET or DELETE'] = /"method":"([^"]+)"/.exec(body.toString()) ?? [];
    const [, n = ''] = /"n":(\d+)/.exec(body.toString()) ?? [];
    this.trace.push(`${this.#seen} ${method} ${n} ${damage}`);
    for (const held of this.#held.filter(({ after }) => after <= this.#seen)) {
      this.#held.splice(this.#held.indexOf(held), 1);
      held.release();
    }
  }
}

async function passBody(answer: IncomingMessage, outgoing: ServerResponse, damage: Damage): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (damage === 'cut' && body.length > 1) {
    outgoing.write(body.subarray(0, body.length >> 1), () => outgoing.destroy());
    return;
  }
  outgoing.end(body);
}

/** Whole events, as they come. */
async function passEvents(answer: IncomingMessage, outgoing: ServerResponse, damage: Damage): Promise<void> {
  outgoing.flushHeaders();
  let text = '';
  for await (const chunk of answer) {
    text += String(chunk);
    const whole = text.lastIndexOf('\n\n') + 2;
    if (whole < 2) continue;
    const events = text.slice(0, whole);
    text = text.slice(whole);
    if (damage === 'ended') break;
    if (damage === 'cut') {
      outgoing.write(events.slice(0, events.length >> 1), () => outgoing.destroy());
      return;
    }
    outgoing.write(damage === 'twice' ? events + events : events);
  }
  outgoing.end(text);
}
