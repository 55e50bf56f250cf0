import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { isJsonObject, type Logger, type ToolHints } from '../core/index.ts';

interface Known extends ToolHints {
  slow?: true;
  onlyTask?: true;
}

/**
 * What is known of tools of upstreams, kept in a file: which were seen to be slow, which run
 * as tasks only, and what their annotations say, so that tasks
 * can go on before their upstream is there again. It grows by what upstreams really have, so it stays small.
 */
export class KnownTools {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #tools: Map<string, Known>;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string, logger: Logger) {
    this.#file = file;
    this.#logger = logger;
    this.#tools = read(file, logger);
  }

  isSlow(name: string): boolean {
    return this.#tools.get(name)?.slow === true;
  }

  hintsOf(name: string): ToolHints {
    const { readOnlyHint, idempotentHint } = this.#tools.get(name) ?? {};
    return { readOnlyHint, idempotentHint };
  }

  /** Its upstream refuses to run it otherwise. */
  isOnlyTask(name: string): boolean {
    return this.#tools.get(name)?.onlyTask === true;
  }

  foundOnlyTask(name: string): void {
    if (!this.isOnlyTask(name)) this.#set(name, { ...this.#tools.get(name), onlyTask: true });
  }

  /** @returns false: it was known to be */
  foundSlow(name: string): boolean {
    if (this.isSlow(name)) return false;
    this.#set(name, { ...this.#tools.get(name), slow: true });
    return true;
  }

  listed(name: string, { readOnlyHint, idempotentHint }: ToolHints): void {
    const before = this.#tools.get(name);
    const said = {
      ...(readOnlyHint === true && { readOnlyHint }),
      ...(idempotentHint === true && { idempotentHint }),
    };
    const same = before?.readOnlyHint === said.readOnlyHint && before?.idempotentHint === said.idempotentHint;
    if (before !== undefined ? same : Object.keys(said).length === 0) return;
    const { slow, onlyTask } = before ?? {};
    this.#set(name, { ...(slow === true && { slow }), ...(onlyTask === true && { onlyTask }), ...said });
  }

  /** Resolves when all that is known is in the file. */
  kept(): Promise<void> {
    return this.#writing;
  }

  #set(name: string, known: Known): void {
    this.#tools.set(name, known);
    this.#writing = this.#writing.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const next = `${this.#file}.new`;
    try {
      await writeFile(next, JSON.stringify(Object.fromEntries(this.#tools)), { mode: 0o600 });
      await rename(next, this.#file);
    } catch (error) {
      this.#logger.warn({ error }, 'what is known of tools could not be kept; it is learnt again after a restart');
    }
  }
}

function read(file: string, logger: Logger): Map<string, Known> {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const entries = isJsonObject(kept) ? Object.entries(kept) : [];
    return new Map(entries.flatMap(([name, known]) => (isJsonObject(known) ? [[name, known as Known]] : [])));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      logger.warn({ error }, 'what was known of tools cannot be read, and is learnt again');
    }
    return new Map();
  }
}
