import { isDeepStrictEqual } from 'node:util';
import { serversIn, wordsOf } from './dialects.ts';
import { at, CannotEdit, type Plain, plain, readAgain, type Syntax, type Tree, without } from './forms/tree.ts';
import { readWrapped } from './own-command.ts';

export type Merged =
  | { did: 'added' | 'changed' | 'nothing'; text: string }
  /** There is one of that name, and it is not ours. */
  | { did: 'refused' };

/**
 * A text with a server in it. What else the file says is said as before; one of that name that is ours is brought up to date,
 * and keeps what was added to it.
 * @throws {ConfigSyntaxError}
 * @throws {CannotEdit} when it could not be done without a risk to the rest.
 */
export function merged(
  text: string,
  syntax: Syntax,
  path: readonly string[],
  name: string,
  entry: { readonly [key: string]: Plain },
  force: boolean,
): Merged {
  const root = syntax.parse(text);
  const known = at(root, [...path, name]);
  if (known === undefined) return { did: 'added', text: checked(text, syntax.put(text, path, name, entry), entry) };
  const before = plain(known);
  const server = serversIn(root, syntax.name)?.find((one) => one.name === name);
  const words = server === undefined ? undefined : wordsOf(server);
  const ours = words !== undefined && readWrapped(words) !== undefined;
  const isUrl = !('command' in entry || 'cmd' in entry);
  const wanted = ours && !isUrl ? { ...(before as { [key: string]: Plain }), ...entry } : entry;
  if (isDeepStrictEqual(before, plainOf(wanted))) return { did: 'nothing', text };
  if (!ours && !force) return { did: 'refused' };
  return { did: 'changed', text: checked(text, syntax.put(text, path, name, wanted), wanted) };

  /** Read again: it is there, and nothing else has changed. */
  function checked(from: string, to: string, value: Plain): string {
    const then = readAgain(to, syntax);
    const around = (tree: Tree): unknown => withoutEmpty(without(plain(tree), [...path, name]), path);
    const found = at(then, [...path, name]);
    const isThere = found !== undefined && isDeepStrictEqual(plain(found), plainOf(value));
    if (isThere && isDeepStrictEqual(around(syntax.parse(from)), around(then))) return to;
    throw new CannotEdit(`"${name}" cannot be put there without a risk to the rest of the file`);
  }
}

/** The map of servers may have been made, or have been empty. */
function withoutEmpty(value: unknown, path: readonly string[]): unknown {
  const inner = path.reduce<unknown>((one, key) => (one as Record<string, unknown> | undefined)?.[key], value);
  const empty = inner === undefined || inner === null || Object.keys(inner).length === 0;
  return empty && path.length > 0 ? withoutEmpty(without(value, path), path.slice(0, -1)) : value;
}

function plainOf(value: Plain): unknown {
  return JSON.parse(JSON.stringify(value));
}
