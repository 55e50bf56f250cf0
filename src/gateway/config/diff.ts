import { isDeepStrictEqual } from 'node:util';
import type { UpstreamConfig } from './types.ts';

/** What became of the upstreams of a configuration, by name. */
export interface UpstreamChanges {
  added: string[];
  removed: string[];
  changed: string[];
  kept: string[];
}

/** How one configuration differs from the one before it: in whatever counts, not in how it is written. */
export function diffUpstreams(before: readonly UpstreamConfig[], after: readonly UpstreamConfig[]): UpstreamChanges {
  const old = new Map(before.map((upstream) => [upstream.name, upstream]));
  const now = new Set(after.map(({ name }) => name));
  const names = (is: (upstream: UpstreamConfig, was: UpstreamConfig | undefined) => boolean): string[] =>
    after.filter((upstream) => is(upstream, old.get(upstream.name))).map(({ name }) => name);
  return {
    added: names((_is, was) => was === undefined),
    removed: before.map(({ name }) => name).filter((name) => !now.has(name)),
    changed: names((is, was) => was !== undefined && !isDeepStrictEqual(is, was)),
    kept: names((is, was) => isDeepStrictEqual(is, was)),
  };
}
