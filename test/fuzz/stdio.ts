import { isJSONRPCRequest } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../src/core/index.ts';
import { request } from '../support/messages.ts';
import { WireViolationError } from '../support/wire-validator/violation.ts';
import { createWireValidator, type WireValidator } from '../support/wire-validator.ts';
import type { EpisodeReport } from './episode.ts';
import type { Broken, Finding } from './findings.ts';
import { internalProblems, privateText } from './judge.ts';
import { mayStayOpen, parsed, requestIn } from './sent.ts';
import { StdioChannel } from './stdio-channel.ts';
import type { Raw, Send, Step, Twin } from './steps.ts';
import { masked } from './twins.ts';

/** For whatever a living process answers at once. */
const PATIENCE_MS = 20_000;
/** After this long, whoever had to wait for anything but a task has been answered. */
const LONGEST_MS = 700_000;

/** An episode on a connection of its own, to a process of its own. */
export async function runOnStdio(steps: readonly Step[], seeds: readonly number[]): Promise<EpisodeReport> {
  const episode = new StdioEpisode(new StdioChannel(seeds), isModern(steps[0]));
  try {
    await episode.begin();
    for (const step of steps) await episode.take(step);
    await episode.end();
  } catch (error) {
    episode.find('failed', `the connection broke off: ${(error as Error).stack}`);
  } finally {
    episode.kill();
  }
  return { findings: episode.findings, trace: episode.trace };
}

/** The first message decides which revisions the connection is for. */
function isModern(first: Step | undefined): boolean {
  return first?.do === 'send' && (first.body ?? '').includes('io.modelcontextprotocol/protocolVersion');
}

class StdioEpisode {
  readonly findings: Finding[] = [];
  readonly trace: string[] = [];
  readonly #channel: StdioChannel;
  readonly #modern: boolean;
  readonly #connection: ReturnType<WireValidator['connection']>;
  /** Lines since this was emptied. */
  #lines: string[] = [];
  #rest = '';
  #fences = 0;
  #fenced = (): void => {};
  #step = 0;
  #copies = 0;
  /** Requests by id: how many there were, and how many answers. */
  readonly #asked = new Map<string | number, { times: number; lasting: boolean; answers: number; message: string }>();
  readonly #cancelled = new Set<unknown>();

  constructor(channel: StdioChannel, modern: boolean) {
    this.#channel = channel;
    this.#modern = modern;
    this.#connection = createWireValidator({ envelopedHandshake: 'accept' }).connection({
      revision: modern ? '2026-07-28' : '2025-11-25',
    });
    channel.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  find(broken: Broken, sentence: string): void {
    this.findings.push({ broken, sentence, step: this.#step });
  }

  /** Who does not begin with a modern message has a connection for the revisions before. */
  async begin(): Promise<void> {
    await this.#channel.ready();
    if (!this.#modern) await this.#ping();
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'send':
        await this.#send(step);
        break;
      case 'burst':
        for (const send of step.sends) await this.#send(send);
        break;
      case 'twin':
        await this.#twin(step);
        break;
      case 'raw':
        await this.#raw(step);
        break;
      case 'pass':
        await this.#channel.ask({ ask: 'pass', ms: step.ms });
        break;
      case 'leave':
        break; // There is one connection, and it ends with the episode.
    }
    await this.#fence();
    this.#step += 1;
  }

  async end(): Promise<void> {
    const { child, exited } = this.#channel;
    await this.#channel.ask({ ask: 'pass', ms: LONGEST_MS });
    await this.#fence();
    for (const [id, { times, lasting, answers, message }] of this.#asked) {
      if (times > 1 || lasting || this.#cancelled.has(id)) continue;
      if (answers !== 1) this.find('answer', `the request ${JSON.stringify(id)} has ${answers} answers (${message})`);
    }
    for (const problem of await this.#channel.ask({ ask: 'report' })) this.find('log', problem);
    child.disconnect();
    child.stdin?.end();
    const code = await inTime(exited, PATIENCE_MS);
    if (code !== 0) this.find('hang', `without its client, the server ends with ${String(code)}`);
    if (this.#channel.stderr !== '') this.find('process', `stderr: ${this.#channel.stderr.slice(0, 2_000)}`);
  }

  kill(): void {
    this.#channel.child.kill('SIGKILL');
  }

  async #send(send: Send, extra: Record<string, string> = {}): Promise<void> {
    this.#copies += 1;
    const line = String(
      await this.#channel.ask({
        ask: 'fill',
        template: send.body ?? '',
        extra: { copy: String(this.#copies), ...extra },
      }),
    );
    const message = parsed(send.binary ? Buffer.from(line, 'latin1').toString('utf8') : line);
    if (!line.includes('\n')) this.#note(message);
    this.#write(line, send.binary === true);
    this.#write('\n', false);
  }

  #note(message: unknown): void {
    if (!Array.isArray(message)) this.#connection.observeRequest(message);
    // What is no JSON-RPC by the SDK's own schema, it drops without a word on this transport.
    const asked = isJSONRPCRequest(message) ? requestIn(message) : undefined;
    if (asked !== undefined) {
      const before = this.#asked.get(asked.id) ?? {
        times: 0,
        lasting: false,
        answers: 0,
        message: asked.method.slice(0, 100),
      };
      const lasting = before.lasting || mayStayOpen('POST', message);
      this.#asked.set(asked.id, { ...before, times: before.times + 1, lasting });
    }
    if (isJsonObject(message) && message['method'] === 'notifications/cancelled' && isJsonObject(message['params'])) {
      this.#cancelled.add(message['params']['requestId']);
    }
  }

  async #raw({ chunks }: Raw): Promise<void> {
    this.#copies += 1;
    const extra = { copy: String(this.#copies) };
    const fill = (template: string) => this.#channel.ask({ ask: 'fill', template, extra });
    const filled = await Promise.all(chunks.map(fill));
    const written = Buffer.from(filled.join(''), 'latin1').toString('utf8');
    for (const line of written.split('\n')) this.#note(parsed(line));
    for (const chunk of filled) this.#write(String(chunk), true);
    this.#write('\n', false);
  }

  async #twin({ foreign, send, times = 1, unknownFirst }: Twin): Promise<void> {
    if (foreign.startsWith('{{state') && !this.#modern) return; // There are no rounds: each is a new call.
    const id = String(await this.#channel.ask({ ask: 'fill', template: foreign, extra: {} }));
    const unknown = String(await this.#channel.ask({ ask: 'unknown', template: foreign }));
    await this.#channel.ask({ ask: 'pass', ms: 20_000 });
    const look = async (which: string): Promise<string> => {
      await this.#fence();
      this.#lines = [];
      for (let left = times; left > 0; left -= 1) await this.#send(send, { foreign: which });
      await this.#fence();
      // What comes unasked, comes when it likes.
      const answers = this.#lines.filter((line) => !line.includes('"method":'));
      const alike = answers.map((line) => masked(line, [id, unknown]).replace(/\bq\d+-\d+\b/g, '<request>'));
      return alike.sort().join('\n');
    };
    const [first, second] = unknownFirst ? [unknown, id] : [id, unknown];
    const [one, other] = [await look(first), await look(second)];
    if (one === other || !(send.body ?? '').includes('{{foreign}}')) return;
    this.find('foreign', `what is somebody else's can be told:\n  ${one.slice(0, 600)}\n  ${other.slice(0, 600)}`);
  }

  /** Everything that was written so far has been read, and all that can be said at once has been said. */
  async #fence(): Promise<void> {
    await this.#ping(); // By then it has read what came before.
    await this.#channel.ask({ ask: 'quiet' });
    await this.#ping(); // And by then, what it has to say to that is written.
  }

  async #ping(): Promise<void> {
    this.#fences += 1;
    const id = `fence ${this.#fences}`;
    const message = this.#modern ? request(id, 'server/discover', {}) : { jsonrpc: '2.0', id, method: 'ping' };
    const answered = new Promise<boolean>((resolve) => {
      this.#fenced = () => resolve(true);
    });
    this.#connection.observeRequest(message);
    this.#write(`${JSON.stringify(message)}\n`, false);
    if (!(await inTime(answered, PATIENCE_MS))) throw new Error(`after step ${this.#step}, a ping is not answered`);
  }

  #write(text: string, binary: boolean): void {
    this.#channel.child.stdin?.write(Buffer.from(text, binary ? 'latin1' : 'utf8'));
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#judge(line);
  }

  #judge(line: string): void {
    const message = parsed(line);
    if (!isJsonObject(message)) {
      this.find('answer', `a line is no message: ${line.slice(0, 500)}`);
      return;
    }
    try {
      this.#connection.checkOutgoing(message);
    } catch (error) {
      if (!(error instanceof WireViolationError)) throw error;
      this.find('schema', error.message);
    }
    for (const { broken, sentence } of [...internalProblems([message]), ...privateText(line)])
      this.find(broken, sentence);
    const { id } = message;
    if (id === `fence ${this.#fences}`) this.#fenced();
    if (typeof id === 'string' && id.startsWith('fence ')) return;
    this.#lines.push(line);
    this.trace.push(`${this.#step} ${line.slice(0, 300)}`);
    const asked = 'method' in message ? undefined : this.#asked.get(id as string);
    if (asked !== undefined) asked.answers += 1;
  }
}

/** `undefined`: it takes longer. */
async function inTime<Value>(promise: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
