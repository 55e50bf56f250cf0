import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { identify } from '../../adapters/processes/process-table.ts';
import type { Clock, JsonObject, Logger, RandomSource } from '../../core/index.ts';
import { FileLock } from '../../store/sqlite/file-lock.ts';
import { socketPath } from './address.ts';
import type { DaemonBackend, OpenBackend } from './backend.ts';
import { admit, type Party, say } from './handshake.ts';
import { type DaemonRequest, readRequest } from './hello.ts';
import { IdleWatch } from './idle-watch.ts';
import { removeRecord, writeRecord } from './record.ts';
import { ensureSecret } from './secret.ts';
import { Front } from './served-front.ts';

/** How many may be in the middle of their handshake. */
const MAX_ARRIVING = 100;
/** Somebody may be looking whether the lock is held. */
const LOCK_PATIENCE_MS = 500;

export interface DaemonOptions {
  /** Checked: this user's alone. */
  folder: string;
  version: string;
  open: OpenBackend;
  /** Ends by itself when nobody was connected and nothing open for so long. @default 5 min */
  idleMs?: number;
  /** How long a front may take to say who it is. @default 10 s */
  handshakeMs?: number;
  env: NodeJS.ProcessEnv;
  logger: Logger;
  clock: Clock;
  random: RandomSource;
}

/** Whoever holds it is the daemon of its folder. */
export function lockPath(folder: string): string {
  return join(folder, 'daemon.lock');
}

/**
 * Becomes the daemon of a folder: holds its lock, opens what it serves, listens.
 * @returns nothing where the folder has one already
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon | undefined> {
  const { folder, random, logger } = options;
  const lock = FileLock.take(lockPath(folder), { patienceMs: LOCK_PATIENCE_MS });
  if (lock === undefined) return undefined;
  let backend: DaemonBackend | undefined;
  try {
    const secret = ensureSecret(folder, random);
    const socket = socketPath(folder, options.env);
    backend = await options.open({ folder, logger });
    const daemon = new Daemon(options, { secret, socket, backend, lock });
    await daemon.listen();
    return daemon;
  } catch (error) {
    await backend?.close();
    lock.release();
    throw error;
  }
}

interface Parts {
  secret: Buffer;
  socket: string;
  backend: DaemonBackend;
  lock: FileLock;
}

/** Serves fronts until it is told to end, or nobody needs it. */
export class Daemon {
  /** Resolves when nothing is left: no connection, no socket, no lock. */
  readonly closed: Promise<void>;
  readonly #options: DaemonOptions;
  readonly #parts: Parts;
  readonly #party: Party;
  readonly #server: Server;
  readonly #idle: IdleWatch;
  readonly #arriving = new Set<Socket>();
  readonly #fronts = new Set<Front>();
  readonly #startedAt: number;
  #ended: { resolve(): void; reject(error: unknown): void } | undefined;
  #ending = false;

  constructor(options: DaemonOptions, parts: Parts) {
    const { clock, logger, version, random, handshakeMs, idleMs = 300_000 } = options;
    this.#options = options;
    this.#parts = parts;
    this.#party = { version, secret: parts.secret, clock, random, ...(handshakeMs !== undefined && { handshakeMs }) };
    this.#startedAt = clock.now();
    this.#server = createServer((socket) => this.#meet(socket));
    this.closed = new Promise((resolve, reject) => {
      this.#ended = { resolve, reject };
    });
    this.closed.catch(() => {}); // Whoever started it looks.
    this.#idle = new IdleWatch({
      clock,
      idleMs,
      busy: () => parts.backend.busy(),
      end: () => this.close('it is not needed any more'),
      failed: (error) => logger.error({ error }, 'it could not be found out whether anything is open'),
    });
  }

  /** In the place of a daemon that was killed, too: whoever holds the lock may clear that away. */
  async listen(): Promise<void> {
    const { folder, logger, version, random } = this.#options;
    const { socket } = this.#parts;
    if (process.platform !== 'win32') rmSync(socket, { force: true });
    this.#server.listen(socket);
    await once(this.#server, 'listening');
    if (process.platform !== 'win32') chmodSync(socket, 0o600);
    this.#server.on('error', (error) => logger.error({ error }, 'a connection could not be taken'));
    const { pid } = process;
    const identity = identify(pid);
    const record = { pid, version, socket, startedAt: this.#startedAt, ...(identity && { process: identity }) };
    writeRecord(folder, record, random);
    logger.info({ version, folder }, 'the daemon listens');
    this.#idle.begin();
  }

  /** Ends every connection, hands over what is open, and leaves nothing behind. */
  close(reason: string): Promise<void> {
    if (this.#ending) return this.closed;
    this.#ending = true;
    this.#options.logger.info({ reason }, 'the daemon ends');
    this.#end().then(
      () => this.#ended?.resolve(),
      (error) => this.#ended?.reject(error),
    );
    return this.closed;
  }

  async #end(): Promise<void> {
    const { backend, lock } = this.#parts;
    this.#idle.stop();
    try {
      // First, since it is by this that fronts know that it ends on purpose.
      removeRecord(this.#options.folder);
      this.#server.close();
      for (const socket of this.#arriving) socket.destroy();
      await Promise.all([...this.#fronts].map((front) => front.end()));
      await backend.close();
    } finally {
      lock.release();
    }
  }

  #meet(socket: Socket): void {
    const { logger } = this.#options;
    socket.on('error', (error) => logger.debug({ error }, 'a connection broke'));
    if (this.#ending || this.#arriving.size >= MAX_ARRIVING) {
      socket.destroy();
      return;
    }
    this.#arriving.add(socket);
    this.#admit(socket)
      .catch((error) => {
        logger.warn({ error }, 'somebody was turned away');
        socket.destroy();
      })
      .finally(() => this.#arriving.delete(socket));
  }

  async #admit(socket: Socket): Promise<void> {
    const { version, request } = await admit(socket, this.#party);
    if (this.#ending) throw new Error('the daemon ends');
    let wanted: DaemonRequest;
    try {
      wanted = readRequest(request);
      if (wanted.want === 'serve' && version !== this.#options.version) throw new Error(`it is of version ${version}`);
    } catch (error) {
      say(socket, { error: (error as Error).message });
      socket.end();
      throw error;
    }
    this.#arriving.delete(socket); // It has arrived.
    if (wanted.want === 'serve') return this.#serve(socket, wanted);
    say(socket, await this.#answer(wanted.want, version));
    socket.end();
  }

  #serve(socket: Socket, { hello }: DaemonRequest & { want: 'serve' }): void {
    const { clock, logger } = this.#options;
    this.#idle.stop();
    say(socket, { ok: true });
    const front = new Front(hello, socket, this.#parts.backend.serve, { clock, logger });
    this.#fronts.add(front);
    logger.info({ upstream: front.name, fronts: this.#fronts.size }, 'a front is connected');
    void front.gone.then(() => {
      this.#fronts.delete(front);
      logger.info({ upstream: front.name, fronts: this.#fronts.size }, 'a front is gone');
      if (this.#fronts.size === 0 && !this.#ending) this.#idle.begin();
    });
  }

  async #answer(want: 'status' | 'stop' | 'yield', version: string): Promise<JsonObject> {
    const { backend } = this.#parts;
    if (want === 'stop') {
      void this.close('it was told to');
      return { ok: true };
    }
    const busy = await backend.busy();
    if (want === 'status') return { ...(await this.#status()), busy };
    const idle = !busy && this.#fronts.size === 0;
    if (idle) void this.close(`version ${version} takes its place`);
    return { ok: true, ends: idle || this.#ending, fronts: this.#fronts.size, busy };
  }

  async #status(): Promise<JsonObject> {
    const { folder, version } = this.#options;
    return {
      pid: process.pid,
      version,
      startedAt: this.#startedAt,
      folder,
      socket: this.#parts.socket,
      fronts: [...this.#fronts].map((front) => front.status()),
      gateway: await this.#parts.backend.status(),
    };
  }
}
