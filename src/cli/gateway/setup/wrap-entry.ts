import { type ServerEntry, textIn, wordsOf } from './dialects.ts';
import {
  CannotEdit,
  type Edit,
  type ListTree,
  type MapTree,
  type Member,
  memberOf,
  quoted,
  type ScalarTree,
  type Syntax,
  type Tree,
} from './forms/tree.ts';
import { type Launcher, parseWrapHeader, readWrapped } from './own-command.ts';
import { isSecretAddress } from './secrets.ts';

/** Members that say that the host itself signs in to the server. */
const SIGNS_IN = ['auth', 'oauth', 'oauth_resource', 'scopes', 'authProviderType', 'headersHelper'];

/** Why a server stays as it is; undefined: it can be put behind the gateway. */
export function whyLeft(entry: ServerEntry): string | undefined {
  const { map, dialect } = entry;
  const twice = repeated(map.members.map(({ key }) => key));
  if (twice !== undefined) return `has "${twice}" twice`;
  const words = wordsOf(entry);
  if (words !== undefined && readWrapped(words) !== undefined) return 'already behind the gateway';
  const isCommand = memberOf(map, dialect.command) !== undefined;
  const url = urlMember(entry);
  if (isCommand && url !== undefined) return 'has both a command and an address';
  if (!isCommand && url === undefined) return 'is neither a command nor an address: the host itself has it';
  if (scalarOf(map, 'disabled') === true || scalarOf(map, 'enabled') === false) return 'is switched off';
  if (isCommand) return words === undefined ? 'its command or arguments are no texts' : undefined;
  const address = textIn(map, url?.key ?? '') ?? '';
  if (/^[a-z][a-z0-9+.-]*:/i.test(address) && !/^https?:/i.test(address)) return 'its address is not one of HTTP';
  if (isSecretAddress(address)) {
    return 'its address holds what looks like a secret, which a command line would show to every process: make it a header first';
  }
  if (textIn(map, 'type') === 'sse') return 'speaks the transport of 2024 ("sse"), which the gateway does not';
  const signsIn = SIGNS_IN.find((key) => ![undefined, false].includes(scalarOf(map, key) as undefined));
  if (signsIn !== undefined) return `the host signs in to it ("${signsIn}"), which the gateway cannot do for it`;
  if (memberOf(map, 'env_http_headers') !== undefined) {
    return 'takes headers from variables of the environment ("env_http_headers"): wrap it by hand, with --header-env';
  }
  return undefined;
}

export function repeated(names: readonly string[]): string | undefined {
  return names.find((name, n) => names.indexOf(name) !== n);
}

/** The changes that put a server behind the gateway. @throws {CannotEdit} */
export function wrapEdits(entry: ServerEntry, text: string, launcher: Launcher, syntax: Syntax): Edit[] {
  return urlMember(entry) === undefined
    ? wrapCommand(entry, text, launcher, syntax)
    : wrapUrl(entry, text, launcher, syntax);
}

function wrapCommand({ map, dialect }: ServerEntry, text: string, launcher: Launcher, syntax: Syntax): Edit[] {
  const command = memberOf(map, dialect.command);
  if (command === undefined) throw new CannotEdit(`has no "${dialect.command}"`);
  const own = [...launcher.args, 'wrap'];
  if (command.value.kind === 'list') {
    return [atFront(command.value, text, [launcher.command, ...own, '--'].map(quoted))];
  }
  const word = movable(command, text);
  const program = { ...spanOf(command.value), text: quoted(launcher.command) };
  const args = memberOf(map, dialect.args ?? '');
  if (args === undefined) {
    return [program, before(command, text, syntax, 'args', [...own, '--was', 'no-args', '--'].map(quoted), word)];
  }
  if (args.value.kind !== 'list') throw new CannotEdit(`"${args.key}" is no list`);
  return [program, atFront(args.value, text, [...[...own, '--'].map(quoted), word])];
}

function wrapUrl(entry: ServerEntry, text: string, launcher: Launcher, syntax: Syntax): Edit[] {
  const { map, dialect } = entry;
  const url = urlMember(entry);
  if (url === undefined) throw new CannotEdit('has no address');
  const was = [url.key];
  const edits: Edit[] = [];
  const type = memberOf(map, 'type');
  if (type !== undefined) {
    const { value } = type.value.kind === 'scalar' ? type.value : { value: undefined };
    if (typeof value !== 'string' || !/^[\w-]+$/.test(value))
      throw new CannotEdit('its "type" is not one that is known');
    was.push(`type=${value}`);
    edits.push(retyped(type, text, value, dialect.local));
  }
  const headers = moveHeaders(entry, text, was);
  const bearer = bearerOf(map, text);
  if (bearer !== undefined) was.push('bearer');
  const words = [
    ...[...launcher.args, 'wrap', '--url'].map(quoted),
    movable(url, text),
    ...headers.words,
    ...(bearer?.words ?? []),
    ...['--was', was.join(',')].map(quoted),
  ];
  edits.push(...headers.edits, ...(bearer?.edits ?? []), renamed(url, text, dialect.command));
  if (dialect.args === undefined) {
    edits.push({ ...spanOf(url.value), text: `[${[quoted(launcher.command), ...words].join(', ')}]` });
  } else {
    edits.push({ ...spanOf(url.value), text: quoted(launcher.command) });
    edits.push(before(url, text, syntax, dialect.args, words));
  }
  return edits;
}

/** Headers become variables of the environment, whose values stay where they are. */
function moveHeaders({ map, dialect }: ServerEntry, text: string, was: string[]): { words: string[]; edits: Edit[] } {
  const headers = memberOf(map, dialect.headers);
  if (headers === undefined) return { words: [], edits: [] };
  if (headers.value.kind !== 'map') throw new CannotEdit(`"${headers.key}" is no map`);
  const env = memberOf(map, dialect.env);
  if (headers.value.members.length === 0 && env !== undefined) return { words: [], edits: [] };
  const edits = [renamed(headers, text, dialect.env)];
  was.push('headers');
  if (env !== undefined) {
    const empty = env.value.kind === 'map' && env.value.members.length === 0;
    if (!empty) throw new CannotEdit(`has both "${headers.key}" and "${env.key}"`);
    edits.push(renamed(env, text, dialect.headers));
    was.push('env');
  }
  const words = headers.value.members.flatMap((header, n) => {
    const variable = `LONGCALL_HEADER_${n + 1}`;
    const word = `${header.key}=${variable}`;
    if (parseWrapHeader(word) === undefined) throw new CannotEdit(`"${header.key}" is no name of a header`);
    if (header.value.kind !== 'scalar' || typeof header.value.value !== 'string') {
      throw new CannotEdit(`the header "${header.key}" is no text`);
    }
    // Goose replaces these in headers, but not in the environment of a process; that process replaces the other kind.
    if (dialect.env === 'envs' && /\$[A-Za-z_]/.test(header.value.value)) {
      throw new CannotEdit(`the header "${header.key}" has a reference without braces; put them around its name first`);
    }
    edits.push(renamed(header, text, variable));
    return ['--header-env', word].map(quoted);
  });
  return { words, edits };
}

/** Codex: the name of the variable that has the token; the process is given it only when it is among `env_vars`. */
function bearerOf(map: MapTree, text: string): { words: string[]; edits: Edit[] } | undefined {
  const member = memberOf(map, 'bearer_token_env_var');
  if (member === undefined) return undefined;
  const name = textIn(map, member.key) ?? '';
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new CannotEdit(`"${member.key}" is no name of a variable`);
  if (memberOf(map, 'env_vars') !== undefined) throw new CannotEdit(`has both "${member.key}" and "env_vars"`);
  const value = { ...spanOf(member.value), text: `[${text.slice(member.value.start, member.value.end)}]` };
  return {
    words: ['--header', `Authorization: Bearer \${${name}}`].map(quoted),
    edits: [renamed(member, text, 'env_vars'), value],
  };
}

export function urlMember({ map, dialect }: ServerEntry): Member | undefined {
  return dialect.urls.map((key) => memberOf(map, key)).find((member) => member !== undefined);
}

/** A key under another name, in the quotes that it has. @throws {CannotEdit} */
export function renamed({ key, keySpan }: Member, text: string, name: string): Edit {
  const written = text.slice(keySpan.start, keySpan.end);
  if (!written.includes(key)) throw new CannotEdit(`the key "${key}" is written in another way`);
  return { ...keySpan, text: written.replace(key, () => name) };
}

/** A value in the quotes that the other had. @throws {CannotEdit} */
export function retyped({ value }: Member, text: string, from: string, to: string): Edit {
  const written = text.slice(value.start, value.end);
  if (!written.includes(from)) throw new CannotEdit('its "type" is written in another way');
  return { ...spanOf(value), text: written.replace(from, () => to) };
}

/** Puts words first in a list, each as it is written. */
function atFront(list: ListTree, text: string, words: readonly string[]): Edit {
  const [first] = list.items;
  if (list.style === 'block') {
    if (first === undefined) throw new CannotEdit('a list without items');
    const dash = text.lastIndexOf('-', first.start - 1);
    const line = text.lastIndexOf('\n', dash) + 1;
    const eol = text.slice(0, line).endsWith('\r\n') ? '\r\n' : '\n';
    const indent = text.slice(line, dash);
    if (/\S/.test(indent)) throw new CannotEdit('a list within a list');
    const next = `${eol}${indent}- `;
    return { start: first.start, end: first.start, text: words.map((word) => `${word}${next}`).join('') };
  }
  const start = list.start + 1;
  const gap = first === undefined ? '' : /[\r\n]/.test(text[start] ?? '') ? ',' : ', ';
  return { start, end: start, text: `${words.join(', ')}${gap}` };
}

/** A member for the arguments, in front of the one that is to be the command. */
function before(
  member: Member,
  text: string,
  syntax: Syntax,
  key: string,
  words: readonly string[],
  last?: string,
): Edit {
  const prefix = text.slice(member.start, member.keySpan.start); // Of a dotted key in TOML; else a quote, at most.
  const dotted = prefix.includes('.') ? prefix : '';
  const written = `[${[...words, ...(last === undefined ? [] : [last])].join(', ')}]`;
  const put = `${dotted}${syntax.pair(key, written)}${syntax.gap(text, member)}`;
  return { start: member.start, end: member.start, text: put };
}

/** A text as it is written. @throws {CannotEdit} when it means something else at another place. */
function movable({ key, value }: Member, text: string): string {
  if (value.kind !== 'scalar' || typeof value.value !== 'string') throw new CannotEdit(`"${key}" is no text`);
  if (value.bound !== undefined) throw new CannotEdit(`"${key}" ${value.bound}`);
  const written = text.slice(value.start, value.end);
  if (written.includes('\n')) throw new CannotEdit(`"${key}" is written over several lines`);
  return written;
}

function scalarOf(map: MapTree, key: string): ScalarTree['value'] {
  const value = memberOf(map, key)?.value;
  return value?.kind === 'scalar' ? value.value : value;
}

function spanOf({ start, end }: Tree): { start: number; end: number } {
  return { start, end };
}
