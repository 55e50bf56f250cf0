import { fingerprint } from '../../core/index.ts';

/** What every provider of models takes as the name of a tool. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 12;
/** What a hashed name looks like. One that looks so by itself is hashed too: no server can pass a tool off as another's. */
const HASHED = /_[0-9a-f]{12}$/;

/**
 * Names by which a model calls tools of several servers. They follow from which tools there are, not from their order. A name
 * that is there twice, or taken, gets its server's in front; what is still the same, or too long, a hash of both.
 */
export function toolNames(
  tools: readonly { server: string; tool: string }[],
  { taken, prefix }: { taken: ReadonlySet<string>; prefix: 'clash' | 'always' },
): string[] {
  const alone = tools.map(({ tool }) => lettered(tool));
  const clash = twice(alone);
  const prefixed = tools.map(({ server, tool }, n) => {
    const own = alone[n] as string;
    return prefix === 'always' || clash.has(own) || taken.has(own) ? lettered(`${server}__${tool}`) : own;
  });
  const stillClash = twice(prefixed);
  return tools.map(({ server, tool }, n) => {
    const name = prefixed[n] as string;
    const odd = name.length > MAX_LENGTH || HASHED.test(name);
    if (!odd && !stillClash.has(name) && !taken.has(name)) return name;
    const hash = fingerprint(JSON.stringify([server, tool]), 'hex', HASH_LENGTH);
    return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
  });
}

function lettered(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function twice(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name, n) => names.indexOf(name) !== n));
}
