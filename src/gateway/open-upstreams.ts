import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../core/index.ts';
import { type ConfigChanges, diffByName } from './config/diff.ts';
import type { UpstreamConfig } from './config/types.ts';
import type { Upstream } from './upstream.ts';

/** Upstreams by name: those that are served, and those that are only left for what was begun with them. */
export class OpenUpstreams {
  readonly #make: (config: UpstreamConfig) => Upstream;
  readonly #logger: Logger;
  readonly #served = new Map<string, Upstream>();
  readonly #users = new Map<string, number>();
  readonly #leaving = new Set<Upstream>();

  constructor(make: (config: UpstreamConfig) => Upstream, logger: Logger) {
    this.#make = make;
    this.#logger = logger;
  }

  get(name: string): Upstream | undefined {
    return this.#served.get(name);
  }

  get served(): readonly Upstream[] {
    return [...this.#served.values()];
  }

  get all(): readonly Upstream[] {
    return [...this.#served.values(), ...this.#leaving];
  }

  /** Serves these, and no others. What was begun with the others goes on. */
  set(configs: readonly UpstreamConfig[]): ConfigChanges {
    const before = this.served.map(({ config }) => config);
    const done = diffByName(before, configs);
    for (const name of [...done.removed, ...done.changed]) {
      const upstream = this.#served.get(name);
      if (upstream !== undefined) this.#leave(name, upstream);
    }
    for (const config of configs) if (!this.#served.has(config.name)) this.#served.set(config.name, this.#make(config));
    return done;
  }

  /** Serves one more, or the same once more. @throws {TypeError} when there is another one of that name */
  use(config: UpstreamConfig): () => void {
    const { name } = config;
    const there = this.#served.get(name);
    if (there !== undefined && !isDeepStrictEqual(there.config, config)) {
      throw new TypeError(`upstreams: there is another one named ${name}`);
    }
    if (there === undefined) this.#served.set(name, this.#make(config));
    this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
    let used = true;
    return () => {
      if (!used) return;
      used = false;
      const left = (this.#users.get(name) ?? 1) - 1;
      this.#users.set(name, left);
    };
  }

  /** Ends those that nobody uses, and with which nothing is open any more. */
  async endUnused(isOpen: (upstream: Upstream) => boolean): Promise<void> {
    for (const [name, users] of this.#users) {
      const upstream = this.#served.get(name);
      if (users > 0 || upstream === undefined || isOpen(upstream)) continue;
      this.#users.delete(name);
      this.#leave(name, upstream);
    }
    for (const upstream of [...this.#leaving]) {
      if (isOpen(upstream)) continue;
      this.#leaving.delete(upstream);
      await upstream.close().catch((error: unknown) => {
        this.#logger.warn({ upstream: upstream.config.name, error }, 'an upstream could not be left');
      });
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((upstream) => upstream.close()));
  }

  #leave(name: string, upstream: Upstream): void {
    this.#served.delete(name);
    this.#leaving.add(upstream);
  }
}
