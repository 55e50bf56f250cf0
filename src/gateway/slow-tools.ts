import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import type { Logger } from '../core/index.ts';

/**
 * Tools that were seen to take long, kept in a file: what was slow once is a task from then on, also after a restart. It grows
 * by what upstreams really have, so it stays small.
 */
export class SlowTools {
  readonly #file: string;
  readonly #logger: Logger;
  readonly #slow: Set<string>;
  readonly #learnt: (name: string) => void;
  #writing: Promise<void> = Promise.resolve();

  /** @param learnt told of the name under which the tool is served, whenever one turns out to be slow */
  constructor(file: string, logger: Logger, learnt: (name: string) => void) {
    this.#file = file;
    this.#logger = logger;
    this.#learnt = learnt;
    this.#slow = new Set(read(file, logger));
  }

  has(upstream: string, tool: string): boolean {
    return this.#slow.has(`${upstream}/${tool}`);
  }

  async add(upstream: string, tool: string, name: string): Promise<void> {
    const key = `${upstream}/${tool}`;
    if (this.#slow.has(key)) return;
    this.#slow.add(key);
    this.#logger.info({ upstream, tool }, 'a tool turned out to be slow: from now on its calls are tasks');
    this.#learnt(name);
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  async #write(): Promise<void> {
    const next = `${this.#file}.new`;
    try {
      await writeFile(next, JSON.stringify([...this.#slow]), { mode: 0o600 });
      await rename(next, this.#file);
    } catch (error) {
      this.#logger.warn({ error }, 'which tools are slow could not be kept; it is learnt again after a restart');
    }
  }
}

function read(file: string, logger: Logger): string[] {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      logger.warn({ error }, 'which tools are slow cannot be read');
    return [];
  }
}
