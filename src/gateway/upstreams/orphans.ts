import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endFamily, familyOf } from '../../adapters/processes/process-family.ts';
import { identify, isAlive, machine, type ProcessIdentity } from '../../adapters/processes/process-table.ts';
import { type Clock, isJsonObject, type JsonValue, type Logger } from '../../core/index.ts';

export interface OrphansEnded {
  /** Numbers of processes that were left behind by a gateway that died, and are ended now. */
  ended: readonly number[];
  /** Those that could not be ended. */
  left: readonly number[];
}

interface Note {
  upstream: ProcessIdentity;
  gateway: ProcessIdentity;
}

const TERM_GRACE_MS = 3_000;

/**
 * Notes of the processes that a gateway started, one file each, so that whoever starts on this folder next ends those that
 * a gateway left behind when it was killed. Most end by themselves, as their input is closed then; some do not heed that.
 */
export class ProcessNotes {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #self = identify(process.pid);

  /** @param folder of this gateway's state, which nobody else may write to */
  constructor(folder: string, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#folder = join(folder, 'upstreams');
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Notes a process; what it returns strikes the note out. Where processes cannot be told apart nothing is noted. */
  add(upstream: ProcessIdentity): () => void {
    if (this.#self === undefined) return () => {};
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const note: Note = { upstream, gateway: this.#self };
    const path = join(this.#folder, `${upstream.pid}.json`);
    writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
    renameSync(`${path}.new`, path); // A note is there whole or not at all.
    return () => rmSync(path, { force: true });
  }

  /**
   * Ends what is noted and has no gateway any more, with all that it started. A process that only has the number of one that
   * was noted is left alone: it started at another time, or the machine was started since.
   */
  async endOrphans(): Promise<OrphansEnded> {
    const results = await Promise.all(this.#files().map((file) => this.#endOrphan(join(this.#folder, file))));
    return { ended: results.flatMap(({ ended }) => ended), left: results.flatMap(({ left }) => left) };
  }

  #files(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // None was ever started.
      throw error;
    }
  }

  async #endOrphan(path: string): Promise<OrphansEnded> {
    const note = readNote(path);
    // Of a gateway beside this one, or in another container, where nobody can tell from here.
    if (note !== undefined && (isAlive(note.gateway) || isElsewhere(note.gateway))) return { ended: [], left: [] };
    const family = note === undefined ? [] : familyOf(note.upstream).map(({ pid }) => pid);
    let left: number[] = [];
    if (note === undefined) this.#logger.warn({ path }, 'a note of an upstream process cannot be read, and is removed');
    else if (family.length > 0) {
      const end = await endFamily(note.upstream, { clock: this.#clock, termGraceMs: TERM_GRACE_MS });
      left = end.left.map(({ pid }) => pid);
      this.#logger.warn({ pids: family, left }, 'ended processes that a gateway left behind');
    }
    if (left.length === 0) rmSync(path, { force: true });
    return { ended: family.filter((pid) => !left.includes(pid)), left };
  }
}

function isElsewhere({ boot, namespace }: ProcessIdentity): boolean {
  const here = machine();
  return boot === here.boot && namespace !== here.namespace;
}

function readNote(path: string): Note | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // Of another version, or not ours.
  }
  if (!isJsonObject(value)) return undefined;
  const upstream = identityIn(value['upstream']);
  const gateway = identityIn(value['gateway']);
  return upstream === undefined || gateway === undefined ? undefined : { upstream, gateway };
}

function identityIn(value: JsonValue | undefined): ProcessIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { pid, started, boot, namespace } = value;
  if (!Number.isSafeInteger(pid) || (pid as number) <= 1) return undefined;
  if (typeof started !== 'string' || typeof boot !== 'string' || typeof namespace !== 'string') return undefined;
  return { pid: pid as number, started, boot, namespace };
}
