import type { ProcessIdentity } from '../../adapters/processes/process-table.ts';
import { redactor } from '../../adapters/processes/redactor.ts';
import { within } from '../../adapters/processes/within.ts';
import { NumberWatch } from '../../client/numbers/number-watch.ts';
import { RemoteUnreachableError } from '../../client/remote-errors.ts';
import type { Supervised } from '../../client/transports.ts';
import {
  type Clock,
  type Logger,
  type RandomSource,
  type RetryPolicy,
  systemClock,
  systemRandom,
  type Timer,
} from '../../core/index.ts';
import { MessageLines } from './message-lines.ts';
import { OutputLines } from './output-lines.ts';
import { Restarts } from './restarts.ts';
import { type Owner, StdioTransport } from './stdio-transport.ts';
import { UpstreamProcess } from './upstream-process.ts';

export interface SupervisedStdioOptions {
  command: string;
  args?: readonly string[];
  cwd?: string;
  /** All of the environment that it gets, beside the few variables that programs cannot do without. */
  env?: Readonly<Record<string, string>>;
  /** Taken out of all that is kept or told of what it prints. */
  secrets?: readonly string[];
  /** Without users and open requests it is ended after this many milliseconds. @default 300_000 */
  idleAfterMs?: number;
  /** How long it may take to end once its input is closed, in milliseconds, before SIGTERM. @default 2_000 */
  stdinGraceMs?: number;
  /** How long it may take after SIGTERM, in milliseconds, before SIGKILL. @default 3_000 */
  termGraceMs?: number;
  /** No message may be longer, in bytes. @default 16 MiB */
  maxMessageBytes?: number;
  /** How much may wait to be read by it, in bytes. @default 64 MiB */
  maxQueuedBytes?: number;
  /** After this many milliseconds without an answer it is taken for a server of before 2026-07-28. @default 15_000 */
  probeTimeoutMs?: number;
  /** How long to wait before it is started again after it died. @default half a second, doubled up to a minute */
  backoff?: RetryPolicy;
  /** A life that lasted so long, in milliseconds, was a good one: deaths before it are forgotten. @default 60_000 */
  healthyAfterMs?: number;
  /** Called with each process that is started, right then; what it returns is called when nothing is left of it. */
  onProcess?: (identity: ProcessIdentity) => () => void;
  /** Each line that it prints for people, without secrets. */
  onLine?: (line: string) => void;
  /** Whenever {@link StdioStatus.state} has changed. */
  onChange?: () => void;
  clock?: Clock;
  random?: RandomSource;
  logger?: Logger;
}

export interface StdioStatus {
  /** `waiting`: it died and may not be started yet; `stopped`: it is started when it is needed. */
  state: 'stopped' | 'starting' | 'running' | 'ending' | 'waiting';
  pid: number | undefined;
  /** Wall time, in milliseconds since the epoch. */
  startedAt: number | undefined;
  starts: number;
  /** Ends that nobody asked for. */
  deaths: number;
  deathsInARow: number;
  /** It dies again and again. */
  crashLoop: boolean;
  /** Milliseconds until it may be started again. */
  nextStartMs: number;
  /** Why it ended last, where it was not asked to, or could not be started. */
  trouble: string | undefined;
  users: number;
  openRequests: number;
  /** How much waits to be read by it, in bytes. */
  queuedBytes: number;
  /** What it printed where only messages belong. */
  noise: { lines: number; last: string | undefined };
  /** Messages that were too long to be read. */
  oversized: number;
  /** Processes of its making that left it and outlived it, seen when it ended last. */
  escaped: readonly number[];
  /** How many lines it printed for people, and the last of them. */
  lines: number;
  tail: readonly string[];
}

export interface SupervisedStdio extends Required<Supervised>, AsyncDisposable {
  /** While somebody uses it, it is not ended for being idle. */
  use(): { release(): void };
  status(): StdioStatus;
  /** The last lines that it printed for people, oldest first, without secrets; up to 200 are kept. */
  lines(count: number): readonly string[];
  /** Ends it, for good; resolves when nothing is left of it. */
  close(): Promise<void>;
}

/** Whose process runs, or is about to; only one at a time. */
interface Slot {
  transport: StdioTransport;
  process: UpstreamProcess | undefined;
  startedAt: number | undefined;
  /** Nobody is surprised when it ends. */
  ending: boolean;
  revived: boolean;
  /** Resolves when nothing is left of it. */
  over: Promise<void>;
  release: () => void;
}

const DEFAULTS = {
  idleAfterMs: 300_000,
  stdinGraceMs: 2_000,
  termGraceMs: 3_000,
  maxMessageBytes: 16 * 1024 * 1024,
  maxQueuedBytes: 64 * 1024 * 1024,
  probeTimeoutMs: 15_000,
  backoff: { backoffMs: 500, maxBackoffMs: 60_000 },
  healthyAfterMs: 60_000,
  clock: systemClock,
  random: systemRandom,
};
/** Whoever connects waits so long for a process that may not be started yet, in milliseconds; else they are told when. */
const PATIENCE_MS = 2_000;
/** So long a server that has closed its input may take to end. */
const LAST_WORDS_MS = 1_000;
/** How much of what it said last is told with its death. */
const LAST_LINES = 5;
const TAIL_LINES = 20;
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * A server on standard streams that is kept running: started when somebody connects, ended when it is idle, started again
 * when it died, and never left behind. It serves one connection at a time; a new one gets a new process.
 */
export function supervisedStdio(options: SupervisedStdioOptions): SupervisedStdio {
  return new Supervisor(options);
}

class Supervisor implements SupervisedStdio, Owner {
  readonly place: string;
  readonly clock: Clock;
  readonly probeTimeoutMs: number;
  readonly #options: SupervisedStdioOptions & typeof DEFAULTS;
  readonly #logger: Logger;
  readonly #restarts: Restarts;
  readonly #numbers: NumberWatch;
  readonly #redact: (line: string) => string;
  #printed: OutputLines;
  #slot: Slot | undefined;
  #users = 0;
  #idle: Timer | undefined;
  #activeAt = 0;
  #trouble: string | undefined;
  #noise = 0;
  #lastNoise: string | undefined;
  #oversized = 0;
  #escaped: readonly number[] = [];
  #endsWhenProbed = false;
  #closed = false;

  constructor(options: SupervisedStdioOptions) {
    this.#options = { ...DEFAULTS, ...options };
    const { clock, random, backoff, healthyAfterMs, probeTimeoutMs, secrets = [], logger = silent } = this.#options;
    this.place = options.command;
    this.clock = clock;
    this.probeTimeoutMs = probeTimeoutMs;
    this.#logger = logger;
    this.#restarts = new Restarts({ clock, random, backoff, healthyAfterMs });
    this.#numbers = new NumberWatch({ clock, logger, server: this.place });
    this.#redact = redactor(secrets);
    this.#printed = new OutputLines(this.#redact, this.#options.onLine);
  }

  transport = (): StdioTransport => new StdioTransport(this);

  trouble = (): string | undefined => {
    if (this.#trouble === undefined || this.#restarts.waitMs === 0) return this.#trouble;
    return `${this.#trouble}; it may be started again in ${this.#restarts.waitMs} ms`;
  };

  get endsWhenProbed(): boolean {
    return this.#endsWhenProbed;
  }

  use(): { release(): void } {
    this.#users += 1;
    let used = true;
    return {
      release: () => {
        if (!used) return;
        used = false;
        this.#users -= 1;
        this.active();
      },
    };
  }

  status(): StdioStatus {
    const slot = this.#slot;
    const { starts, deaths, deathsInARow, looping, waitMs } = this.#restarts;
    return {
      state: this.#state(),
      pid: slot?.process?.pid,
      startedAt: slot?.startedAt,
      starts,
      deaths,
      deathsInARow,
      crashLoop: looping,
      nextStartMs: waitMs,
      trouble: this.trouble(),
      users: this.#users,
      openRequests: slot?.transport.openRequests ?? 0,
      queuedBytes: slot?.process?.queuedBytes ?? 0,
      noise: { lines: this.#noise, last: this.#lastNoise },
      oversized: this.#oversized,
      escaped: this.#escaped,
      lines: this.#printed.count,
      tail: this.#printed.tail(TAIL_LINES),
    };
  }

  lines(count: number): readonly string[] {
    return this.#printed.tail(count);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#idle?.cancel();
    const slot = this.#slot;
    if (slot === undefined) return;
    this.#end(slot);
    await slot.over;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async connect(transport: StdioTransport): Promise<void> {
    while (this.#slot !== undefined) {
      if (!this.#slot.transport.closed) throw new Error(`${this.place} is connected already`);
      await this.#slot.over;
    }
    const slot = newSlot(transport);
    this.#slot = slot;
    try {
      await this.#patience();
      if (this.#closed || transport.closed) throw unreachable('closed on this side');
      await this.#start(slot);
    } catch (error) {
      this.#leave(slot);
      throw error;
    }
  }

  async write(transport: StdioTransport, text: string): Promise<void> {
    const process = this.#processOf(transport);
    if (process === undefined) throw unreachable('the server is not running');
    try {
      await process.write(text);
    } catch (error) {
      // On the first question it may end: another process is greeted in the old way then, or the transport is gone.
      if (transport.probing && this.#processOf(transport) === process) return;
      throw await this.#howItEnded(process, error);
    }
  }

  /** Of a server that does not listen any more since it ends, how it ended says more than that it does not listen. */
  async #howItEnded(process: UpstreamProcess, error: unknown): Promise<unknown> {
    if (!(error instanceof RemoteUnreachableError) || error.cause === undefined) return error;
    await within(LAST_WORDS_MS, this.clock, process.quiet);
    const how = this.trouble();
    return how === undefined ? error : new RemoteUnreachableError(how, { mayHaveRun: error.mayHaveRun, cause: error });
  }

  async disconnect(transport: StdioTransport): Promise<void> {
    const slot = this.#slot;
    if (slot?.transport !== transport) return;
    this.#end(slot);
    await slot.over;
  }

  active(): void {
    this.#activeAt = this.clock.monotonic();
    if (this.#idle === undefined && this.#slot?.process !== undefined) this.#watchIdle();
  }

  pid(transport: StdioTransport): number | undefined {
    return this.#processOf(transport)?.pid;
  }

  #processOf(transport: StdioTransport): UpstreamProcess | undefined {
    return this.#slot?.transport === transport ? this.#slot.process : undefined;
  }

  /** Not sooner than its deaths allow. */
  async #patience(): Promise<void> {
    const { waitMs } = this.#restarts;
    if (waitMs > PATIENCE_MS) {
      throw new RemoteUnreachableError(this.trouble() ?? 'it may not be started yet', {
        mayHaveRun: false,
        retryAfterMs: waitMs,
      });
    }
    if (waitMs > 0) await new Promise<void>((resolve) => this.clock.setTimer(waitMs, resolve));
  }

  async #start(slot: Slot): Promise<void> {
    const { command, args = [], cwd, env = {}, clock, stdinGraceMs, termGraceMs, maxQueuedBytes } = this.#options;
    const lines = this.#messages(slot);
    const printed = this.#printed;
    let process: UpstreamProcess;
    try {
      process = await UpstreamProcess.start({
        ...{ command, args, cwd, env, clock, stdinGraceMs, termGraceMs, maxQueuedBytes },
        onStdout: (chunk) => lines.push(chunk),
        onStderr: (chunk) => printed.push(chunk),
      });
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error);
      this.#restarts.died();
      throw error;
    }
    slot.process = process;
    slot.startedAt = clock.now();
    this.#restarts.started();
    this.#trouble = undefined;
    const forget = process.identity && this.#options.onProcess?.(process.identity);
    this.#follow(slot, process, lines, forget).catch((error: unknown) =>
      this.#logger.error({ upstream: this.place, error }, 'the end of an upstream process could not be followed'),
    );
    if (slot.ending) void process.end(); // It was closed meanwhile.
    this.active();
    this.#changed();
  }

  /** From its start until nothing is left of it. */
  async #follow(slot: Slot, process: UpstreamProcess, lines: MessageLines, forget?: () => void): Promise<void> {
    const { transport } = slot;
    const { code, signal } = await process.quiet;
    lines.end();
    this.#printed.end();
    const revive = !slot.ending && transport.probing && !slot.revived;
    if (slot.ending) this.#restarts.ended();
    else if (!revive) this.#died(code, signal);
    if (!revive) transport.gone();
    const end = await process.ended;
    this.#escaped = end.escaped;
    if (end.left.length === 0) forget?.();
    const { killed, escaped, left } = end;
    this.#logger.info(
      { upstream: this.place, pid: process.pid, code, signal, killed, escaped, left },
      'upstream ended',
    );
    slot.process = undefined;
    if (revive && !slot.ending && (await this.#revive(slot))) return;
    if (revive) transport.gone();
    this.#leave(slot);
  }

  /** It ended on the first question: another one is not asked, but greeted in the old way. */
  async #revive(slot: Slot): Promise<boolean> {
    slot.revived = true;
    try {
      await this.#start(slot);
    } catch {
      return false; // Its trouble is told.
    }
    slot.transport.answerProbe();
    return true;
  }

  #died(code: number | null, signal: NodeJS.Signals | null): void {
    const how = signal === null ? `exit code ${code}` : signal;
    const said = this.#printed.tail(LAST_LINES);
    const words = said.length === 0 ? 'it said nothing' : `it said last: ${said.join(' | ')}`;
    this.#trouble = `the server ended by itself (${how}); ${words}`;
    this.#restarts.died();
    const { deathsInARow, waitMs, looping } = this.#restarts;
    const fields = { upstream: this.place, code, signal, deathsInARow, nextStartMs: waitMs };
    this.#logger.warn(fields, looping ? 'upstream is in a crash loop' : 'upstream ended by itself');
  }

  #messages(slot: Slot): MessageLines {
    const { transport } = slot;
    const { maxMessageBytes: maxBytes } = this.#options;
    return new MessageLines({
      maxBytes,
      onRaw: (line) => this.#numbers.look(line),
      onMessage: (message) => {
        if (slot.revived) this.#endsWhenProbed = true; // Without the question it lives.
        transport.deliver(message);
      },
      onNoise: (line) => {
        this.#noise += 1;
        this.#printed.add(line);
        this.#lastNoise = this.#printed.tail(1)[0];
      },
      onOversized: ({ bytes, id, method }) => {
        this.#oversized += 1;
        const message = `a message of ${bytes} bytes is longer than ${maxBytes} bytes, and was not read`;
        this.#logger.warn(
          { upstream: this.place, bytes, maxBytes, method },
          'upstream sent a message that is too long',
        );
        if (id === undefined) transport.trouble(new Error(message));
        else if (method === undefined) transport.deliver({ jsonrpc: '2.0', id, error: { code: -32603, message } });
        else {
          const answer = { jsonrpc: '2.0', id, error: { code: -32600, message } };
          this.write(transport, `${JSON.stringify(answer)}\n`).catch((error: unknown) => transport.trouble(error));
        }
      },
    });
  }

  /** Asked for, so no death. */
  #end(slot: Slot): void {
    slot.ending = true;
    this.#idle?.cancel();
    this.#idle = undefined;
    slot.transport.gone(); // First: who sends something now gets another process instead of one that is ending.
    if (slot.process === undefined) return;
    void slot.process.end();
    this.#changed();
  }

  #leave(slot: Slot): void {
    this.#idle?.cancel();
    this.#idle = undefined;
    if (this.#slot === slot) this.#slot = undefined;
    slot.release();
    this.#changed();
  }

  #watchIdle(): void {
    const { idleAfterMs } = this.#options;
    const leftMs = this.#activeAt + idleAfterMs - this.clock.monotonic();
    this.#idle = this.clock.setTimer(leftMs, () => {
      this.#idle = undefined;
      const slot = this.#slot;
      if (slot?.process === undefined || slot.ending) return;
      if (this.#users > 0 || slot.transport.openRequests > 0) return; // Looked at again when that ends.
      if (this.clock.monotonic() - this.#activeAt < idleAfterMs) this.#watchIdle();
      else this.#end(slot);
    });
  }

  #state(): StdioStatus['state'] {
    const slot = this.#slot;
    if (slot === undefined) return this.#restarts.waitMs > 0 ? 'waiting' : 'stopped';
    if (slot.ending || slot.transport.closed) return 'ending';
    if (slot.process !== undefined) return 'running';
    return this.#restarts.waitMs > 0 ? 'waiting' : 'starting';
  }

  #changed(): void {
    this.#options.onChange?.();
  }
}

function newSlot(transport: StdioTransport): Slot {
  let release: () => void = () => {};
  const over = new Promise<void>((resolve) => (release = resolve));
  return { transport, process: undefined, startedAt: undefined, ending: false, revived: false, over, release };
}

function unreachable(message: string): RemoteUnreachableError {
  return new RemoteUnreachableError(message, { mayHaveRun: false });
}
