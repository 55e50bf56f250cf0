import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { Conversation, LostAgainError } from './conversation.ts';
import { DaemonError } from './errors.ts';
import type { Hello } from './hello.ts';
import { lines } from './lines.ts';
import { privateFolder } from './private-folder.ts';
import { type ReachOptions, reachDaemon } from './reach.ts';
import { readRecord } from './record.ts';
import { logPath } from './rotating-log.ts';

/** Larger messages than any server takes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** What the daemon may still say after the host has hung up. */
const LAST_WORDS_MS = 2_000;
/** So often may daemons end under us within a minute. */
const MAX_LOSSES = 6;
const MINUTE_MS = 60_000;

export interface FrontOptions extends Omit<ReachOptions, 'signal'> {
  /** Made if need be, and checked. */
  folder: string;
  hello: Hello;
  /** From the host. */
  input: Readable;
  /** To the host. */
  output: Writable;
}

/** A connection to a daemon that serves this front. */
interface Link {
  socket: Socket;
  lost: boolean;
  /** Resolves when it is lost, and another may be had. */
  gone: Promise<void>;
}

/**
 * Passes on what a host and the daemon say to each other, until the host hangs up. A daemon that dies is replaced: the host
 * gets an error for each request that was open, and its session goes on.
 * @throws {DaemonError} when the folder cannot be used, or there is no daemon to be had.
 */
export async function runFront(options: FrontOptions): Promise<void> {
  await new FrontRun({ ...options, folder: privateFolder(options.folder) }).run();
}

/**
 * The same on this process's stdin and stdout. Soon afterwards the process ends, also where its host leaves unread what is
 * written already.
 */
export async function runStdioFront(options: Omit<FrontOptions, 'input' | 'output'>): Promise<void> {
  try {
    await runFront({ ...options, input: process.stdin, output: process.stdout });
  } finally {
    setTimeout(() => process.exit(), LAST_WORDS_MS).unref();
  }
}

class FrontRun {
  readonly #options: FrontOptions;
  readonly #conversation = new Conversation();
  readonly #over = new AbortController();
  readonly #lossesAt: number[] = [];
  #link: Promise<Link> | undefined;
  #fail: (error: unknown) => void = () => {};

  constructor(options: FrontOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { input, output } = this.#options;
    const failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    const deaf = new Promise<void>((resolve) => {
      output.on('error', () => resolve()).once('close', () => resolve());
    });
    const keepAlive = setInterval(() => {}, 60_000); // While nothing is read, nothing else does.
    try {
      void this.#dial();
      await Promise.race([this.#fromHost(input), deaf, failed]);
    } finally {
      this.#over.abort();
      input.destroy();
      await this.#hangUp();
      clearInterval(keepAlive);
    }
  }

  async #fromHost(input: Readable): Promise<void> {
    for await (const batch of lines(input, MAX_LINE_BYTES)) {
      const { socket } = await this.#ready();
      // In one go: while nothing is awaited, nothing is lost in between.
      const passed = batch.map((line) => this.#conversation.fromHost(line));
      const back = passed.flatMap((one) => one.back ?? []);
      await Promise.all([
        write(
          socket,
          passed.flatMap((one) => one.on ?? []),
        ),
        write(this.#options.output, back),
      ]);
    }
  }

  /** A daemon that ended on purpose is replaced when the host has something to say. */
  async #ready(): Promise<Link> {
    for (;;) {
      const link = await (this.#link ?? this.#dial());
      if (!link.lost) return link;
      await link.gone;
    }
  }

  #dial(): Promise<Link> {
    const link = this.#open();
    this.#link = link;
    link.catch((error) => this.#fail(error));
    return link;
  }

  async #open(): Promise<Link> {
    for (;;) {
      await this.#pause();
      const socket = await this.#connect();
      const link: Link = { socket, lost: false, gone: Promise.resolve() };
      const lost = this.#listen(link);
      try {
        await this.#conversation.repeat((line) => void socket.write(line));
      } catch (error) {
        if (!(error instanceof LostAgainError)) throw error;
        await lost;
        continue;
      }
      link.gone = lost.then(() => this.#lost());
      link.gone.catch((error) => this.#fail(error));
      return link;
    }
  }

  async #connect(): Promise<Socket> {
    for (;;) {
      const { socket, ask } = await reachDaemon({ ...this.#options, signal: this.#over.signal });
      try {
        await ask({ want: 'serve', hello: this.#options.hello });
        return socket;
      } catch (error) {
        socket.destroy();
        if (error instanceof DaemonError) throw error;
        this.#lossesAt.push(this.#options.clock.monotonic()); // It ended just then.
        await this.#pause();
      }
    }
  }

  /** Resolves when the connection is lost, and the host knows what that means for its requests. */
  async #listen(link: Link): Promise<void> {
    const { output, clock } = this.#options;
    try {
      for await (const batch of lines(link.socket, MAX_LINE_BYTES)) {
        await write(
          output,
          batch.flatMap((line) => this.#conversation.fromDaemon(line) ?? []),
        );
      }
    } catch {
      // However it was lost.
    }
    link.lost = true;
    link.socket.destroy();
    this.#lossesAt.push(clock.monotonic());
    const told = this.#conversation.lost();
    if (!this.#over.signal.aborted) await write(output, told);
  }

  #lost(): void {
    if (this.#over.signal.aborted) return;
    this.#link = undefined;
    // One that ends on purpose takes its record away.
    if (readRecord(this.#options.folder) !== undefined) void this.#dial();
  }

  /** Longer each time, and not for ever. */
  async #pause(): Promise<void> {
    const { clock, folder } = this.#options;
    const now = clock.monotonic();
    while (this.#lossesAt.length > 0 && now - (this.#lossesAt[0] as number) > MINUTE_MS) this.#lossesAt.shift();
    const losses = this.#lossesAt.length;
    if (losses >= MAX_LOSSES) {
      throw new DaemonError(
        'DAEMON_LOST',
        `the daemon ended ${losses} times within a minute; its log is ${logPath(folder)}`,
      );
    }
    if (losses > 1) await new Promise<void>((resolve) => clock.setTimer(50 * 2 ** losses, resolve));
  }

  async #hangUp(): Promise<void> {
    const link = await this.#link?.catch(() => undefined);
    if (link === undefined || link.socket.closed) return;
    const closed = once(link.socket, 'close');
    const timer = this.#options.clock.setTimer(LAST_WORDS_MS, () => link.socket.destroy());
    link.socket.end();
    await closed;
    timer.cancel();
  }
}

/** Resolves when there is room for more, or nobody takes any. */
async function write(stream: Writable, batch: Buffer[]): Promise<void> {
  if (batch.length === 0 || stream.destroyed || stream.write(batch.length === 1 ? batch[0] : Buffer.concat(batch)))
    return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });
}
