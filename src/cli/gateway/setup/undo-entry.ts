import { type ServerEntry, wordsOf } from './dialects.ts';
import { CannotEdit, type Edit, type ListTree, type MapTree, type Member, memberOf, type Tree } from './forms/tree.ts';
import { readWrapped, type Wrapped, type WrappedUrl } from './own-command.ts';
import { renamed, retyped } from './wrap-entry.ts';

/**
 * The changes that put a server back as it was, by what its command line says; undefined: it is not behind the gateway.
 * @throws {CannotEdit}
 */
export function undoEdits(entry: ServerEntry, text: string): Edit[] | undefined {
  const words = wordsOf(entry);
  const wrapped = words === undefined ? undefined : readWrapped(words);
  if (words === undefined || wrapped === undefined) return undefined;
  return wrapped.kind === 'command' ? undoCommand(entry, text, wrapped) : undoUrl(entry, text, wrapped);
}

function undoCommand(
  { map, dialect }: ServerEntry,
  text: string,
  { from, was }: Extract<Wrapped, { kind: 'command' }>,
): Edit[] {
  const command = memberOf(map, dialect.command);
  if (command === undefined) throw new CannotEdit('has no command');
  if (command.value.kind === 'list') return [withoutFront(command.value, text, from)];
  const args = memberOf(map, dialect.args ?? '');
  if (args?.value.kind !== 'list') throw new CannotEdit('has no arguments');
  const program = { start: command.value.start, end: command.value.end, text: wordAt(args.value, from - 1, text) };
  const all = args.value.items.length === from;
  return [program, all && was.includes('no-args') ? without(map, args, text) : withoutFront(args.value, text, from)];
}

function undoUrl({ map, dialect }: ServerEntry, text: string, wrapped: WrappedUrl): Edit[] {
  const { was } = wrapped;
  const key = dialect.urls.find((name) => was.includes(name));
  const command = memberOf(map, dialect.command);
  if (key === undefined || command === undefined) {
    throw new CannotEdit('does not say what it was (--was): it was not wrapped by this command');
  }
  const edits: Edit[] = [renamed(command, text, key)];
  const args = dialect.args === undefined ? command : memberOf(map, dialect.args);
  if (args?.value.kind !== 'list') throw new CannotEdit('has no arguments');
  const url = wordAt(args.value, wrapped.url - (dialect.args === undefined ? 0 : 1), text);
  edits.push({ start: command.value.start, end: command.value.end, text: url });
  if (args !== command) edits.push(without(map, args, text));
  const type = memberOf(map, 'type');
  const typeWas = was.find((word) => word.startsWith('type='))?.slice('type='.length);
  if (type !== undefined && typeWas !== undefined) {
    edits.push(retyped(type, text, dialect.local, typeWas));
  }
  if (was.includes('bearer')) edits.push(...undoBearer(map, text));
  return [...edits, ...undoHeaders(map, dialect, wrapped, text)];
}

function undoHeaders(map: MapTree, dialect: ServerEntry['dialect'], wrapped: WrappedUrl, text: string): Edit[] {
  const env = memberOf(map, dialect.env);
  const variables = env?.value.kind === 'map' ? env.value.members : [];
  if (!wrapped.was.includes('headers')) {
    if (wrapped.headers.length > 0) throw new CannotEdit('has headers that were not moved by this command');
    return [];
  }
  if (env === undefined) throw new CannotEdit(`has no "${dialect.env}" any more, where its headers were`);
  const edits = [renamed(env, text, dialect.headers)];
  const other = memberOf(map, dialect.headers);
  if (wrapped.was.includes('env') && other !== undefined) edits.push(renamed(other, text, dialect.env));
  const names = new Map(wrapped.headers.map(({ variable, name }) => [variable, name]));
  for (const variable of variables) {
    const name = names.get(variable.key);
    if (name === undefined) {
      throw new CannotEdit(`its "${dialect.env}" has ${variable.key}, which a server at an address cannot be given`);
    }
    edits.push(renamed(variable, text, name));
    names.delete(variable.key);
  }
  const [gone] = names.values();
  if (gone !== undefined) throw new CannotEdit(`the value of its header "${gone}" is not in "${dialect.env}" any more`);
  return edits;
}

function undoBearer(map: MapTree, text: string): Edit[] {
  const member = memberOf(map, 'env_vars');
  const [item, more] = member?.value.kind === 'list' ? member.value.items : [];
  if (member === undefined || item === undefined || more !== undefined) {
    throw new CannotEdit('its "env_vars" is not the one variable that it was given');
  }
  const name = text.slice(item.start, item.end);
  return [
    renamed(member, text, 'bearer_token_env_var'),
    { start: member.value.start, end: member.value.end, text: name },
  ];
}

function wordAt(list: ListTree, n: number, text: string): string {
  const item = list.items[n];
  if (item === undefined) throw new CannotEdit('its command line has changed');
  return text.slice(item.start, item.end);
}

/** Drops so many items, with what was put between them and the next. */
function withoutFront(list: ListTree, text: string, count: number): Edit {
  const [first] = list.items;
  const last = list.items[count - 1];
  const next = list.items[count];
  if (first === undefined || last === undefined) throw new CannotEdit('its command line has changed');
  if (list.style === 'block') {
    if (next === undefined) throw new CannotEdit('nothing would be left of its arguments');
    return { start: first.start, end: next.start, text: '' };
  }
  const asWritten = first.start === list.start + 1;
  const [comma = ''] = /^\s*,/.exec(text.slice(last.end, list.end)) ?? [];
  const start = first.start;
  const end = last.end + comma.length;
  if (next === undefined) {
    const rest = text.slice(end, list.end - 1);
    return asWritten || rest.trim() !== ''
      ? { start, end, text: '' }
      : { start: list.start + 1, end: list.end - 1, text: '' };
  }
  if (comma === '') throw new CannotEdit('its command line has something between two arguments');
  if (asWritten) return { start, end: text[end] === ' ' ? end + 1 : end, text: '' };
  // Somebody has formatted the file since: what is left looks as they would have it.
  return { start, end: text.slice(end, next.start).trim() === '' ? next.start : end, text: '' };
}

/** A member, with what was put between it and the next. */
function without(map: MapTree, member: Member, text: string): Edit {
  const others = inOrder(map.members.filter((other) => other !== member));
  const next = others.find((other) => other.start >= member.end);
  if (next !== undefined && /^\s*,?\s*$/.test(text.slice(member.end, next.start))) {
    return { start: member.start, end: next.start, text: '' };
  }
  const previous = others.findLast((other) => other.end <= member.start);
  if (previous === undefined) throw new CannotEdit(`"${member.key}" is all that it has`);
  return { start: previous.end, end: member.end, text: '' };
}

function inOrder<Place extends Pick<Tree, 'start'>>(places: readonly Place[]): Place[] {
  return [...places].sort((a, b) => a.start - b.start);
}
