import { isDeepStrictEqual } from 'node:util';

/** What became of the parts of a configuration that have names. */
export interface ConfigChanges {
  added: string[];
  removed: string[];
  changed: string[];
  kept: string[];
}

/** How one configuration differs from the one before it: in whatever counts, not in how it is written. */
export function diffByName<Part extends { name: string }>(
  before: readonly Part[],
  after: readonly Part[],
): ConfigChanges {
  const old = new Map(before.map((part) => [part.name, part]));
  const now = new Set(after.map(({ name }) => name));
  const names = (is: (part: Part, was: Part | undefined) => boolean): string[] =>
    after.filter((part) => is(part, old.get(part.name))).map(({ name }) => name);
  return {
    added: names((_is, was) => was === undefined),
    removed: before.map(({ name }) => name).filter((name) => !now.has(name)),
    changed: names((is, was) => was !== undefined && !isDeepStrictEqual(is, was)),
    kept: names((is, was) => isDeepStrictEqual(is, was)),
  };
}
