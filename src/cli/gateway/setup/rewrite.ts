import { isDeepStrictEqual } from 'node:util';
import { type ServerEntry, serversIn, wordsOf } from './dialects.ts';
import { CannotEdit, type Edit, edited, plain, readAgain, type Syntax, type Tree, without } from './forms/tree.ts';
import { type Launcher, readWrapped } from './own-command.ts';
import { undoEdits } from './undo-entry.ts';
import { repeated, urlMember, whyLeft, wrapEdits } from './wrap-entry.ts';

export interface Outcome {
  name: string;
  did: 'wrapped' | 'undone' | 'left';
  /** Of one that was left. */
  why?: string;
  /** Something to know of one that was not. */
  note?: string;
}

export interface Rewritten {
  text: string;
  servers: Outcome[];
}

export interface Choice {
  only?: readonly string[];
  except?: readonly string[];
}

/**
 * Puts the servers of a host's file behind the gateway. What is wrapped can be undone to the letter: where it could not, the
 * server is left.
 * @returns undefined when there is no place for servers in the file
 * @throws {ConfigSyntaxError}
 * @throws {CannotEdit} when two servers have one name.
 */
export function wrapAll(text: string, syntax: Syntax, launcher: Launcher, choice: Choice = {}): Rewritten | undefined {
  return eachServer(text, syntax, choice, (entry, now) => {
    const why = whyLeft(entry);
    if (why !== undefined) return { name: entry.name, did: 'left', why };
    const then = changed(now, wrapEdits(entry, now, launcher, syntax), entry, syntax);
    const wrapped = find(then, syntax, entry.name);
    const words = wrapped === undefined ? undefined : wordsOf(wrapped);
    const back = wrapped === undefined ? undefined : undoEdits(wrapped, then);
    if (words === undefined || readWrapped(words) === undefined || back === undefined || edited(then, back) !== now) {
      throw new CannotEdit('is written in a way that could not be put back');
    }
    return { name: entry.name, did: 'wrapped', text: then, ...noteOn(entry) };
  });
}

/** Puts them back, by what they say themselves. Those that are not behind the gateway are not told of. */
export function undoAll(text: string, syntax: Syntax, choice: Choice = {}): Rewritten | undefined {
  return eachServer(text, syntax, choice, (entry, now) => {
    const edits = undoEdits(entry, now);
    if (edits === undefined) return undefined;
    return { name: entry.name, did: 'undone', text: changed(now, edits, entry, syntax) };
  });
}

type Step = (entry: ServerEntry, text: string) => (Outcome & { text?: string }) | undefined;

/** One after the other, each on the text that the one before has left. */
function eachServer(text: string, syntax: Syntax, { only, except }: Choice, step: Step): Rewritten | undefined {
  const names = serversIn(syntax.parse(text), syntax.name)?.map(({ name }) => name);
  if (names === undefined) return undefined;
  const missing = [...(only ?? []), ...(except ?? [])].find((name) => !names.includes(name));
  if (missing !== undefined) throw new NoSuchServer(missing, names);
  const chosen = names.filter((name) => (only === undefined || only.includes(name)) && !except?.includes(name));
  const twice = repeated(names);
  if (twice !== undefined) throw new CannotEdit(`has the server "${twice}" twice`); // Which one counts is up to the host.
  const servers: Outcome[] = [];
  let now = text;
  for (const name of chosen) {
    const entry = find(now, syntax, name);
    if (entry === undefined) continue;
    const done = attempt(step, entry, now);
    if (done === undefined) continue;
    const { text: then = now, ...outcome } = done;
    servers.push(outcome);
    now = then;
  }
  return { text: now, servers };
}

function attempt(step: Step, entry: ServerEntry, text: string): ReturnType<Step> {
  try {
    return step(entry, text);
  } catch (error) {
    if (error instanceof CannotEdit) return { name: entry.name, did: 'left', why: error.message };
    throw error;
  }
}

function find(text: string, syntax: Syntax, name: string): ServerEntry | undefined {
  return serversIn(syntax.parse(text), syntax.name)?.find((entry) => entry.name === name);
}

/** Read again afterwards: nothing but this server may say anything else. */
function changed(text: string, edits: readonly Edit[], { path }: ServerEntry, syntax: Syntax): string {
  const then = edited(text, edits);
  const around = (tree: Tree): unknown => without(plain(tree), path);
  if (!isDeepStrictEqual(around(syntax.parse(text)), around(readAgain(then, syntax))))
    throw new CannotEdit('is tied to other places of the file');
  return then;
}

function noteOn(entry: ServerEntry): { note?: string } {
  const { map, dialect } = entry;
  if (urlMember(entry) === undefined) return {};
  const hasHeaders = map.members.some(({ key }) => key === dialect.headers || key === 'bearer_token_env_var');
  if (hasHeaders) return {};
  return { note: `if the host used to sign in to it, take it out again: --undo --only ${entry.name}` };
}

/** A name that the file does not have. */
export class NoSuchServer extends Error {
  override readonly name = 'NoSuchServer';
  constructor(missing: string, names: readonly string[]) {
    super(`no server "${missing}"; there are ${names.join(', ') || 'none'}`);
  }
}
