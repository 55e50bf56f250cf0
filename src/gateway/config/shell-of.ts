import { keptFromInput } from '../../adapters/shell/input/kept-from-input.ts';
import { type CommandRecipe, type InputPart, isPositional, type WordPart } from '../../adapters/shell/input/recipe.ts';
import { InputPlaces } from './input-places.ts';
import { ownToolOf, type WrittenOwnTool } from './own-tool-of.ts';
import { inside } from './sheet.ts';
import type { Scalar, Texts } from './texts.ts';
import type { ShellToolConfig } from './types.ts';
import { bytes, milliseconds } from './units.ts';

interface WrittenPart {
  /** Absent: that it is missing is told already. */
  input?: string;
  flag?: string;
  option?: string;
  join?: string;
  dash?: boolean;
}

/** A command as it stands in the file, checked: what is wrong is not in it. */
export interface WrittenShellTool extends WrittenOwnTool {
  command?: string | (Scalar | WrittenPart | undefined)[];
  endOfOptions?: boolean;
  script?: string;
  stdin?: WrittenPart;
  cwd?: string;
  env?: Record<string, Scalar | WrittenPart>;
  inheritEnv?: string[];
  grace?: string;
  okCodes?: (number | undefined)[];
  output?: 'text' | 'json';
  maxOutput?: string;
  keepOutput?: { head?: string; tail?: string };
  progress?: boolean;
}

/** The commands of a file, without those that have a problem. */
export function shellToolsOf(written: Readonly<Record<string, WrittenShellTool>>, texts: Texts): ShellToolConfig[] {
  return Object.keys(written).flatMap((name): ShellToolConfig[] => {
    const tool = written[name];
    return tool === undefined ? [] : (shellToolOf(inside('/shell', name), name, tool, texts) ?? []);
  });
}

function shellToolOf(
  pointer: string,
  name: string,
  { timeout, ...written }: WrittenShellTool,
  texts: Texts,
): ShellToolConfig[] | undefined {
  const { okCodes, output, progress } = written;
  const own = ownToolOf(pointer, name, written, texts.sheet);
  const places = new InputPlaces(own?.input, texts.sheet);
  const { value: recipe, secrets } = texts.references.secretsIn(() => recipeOf(pointer, written, texts, places));
  if (own === undefined || recipe === undefined) return undefined;
  return [
    {
      ...own,
      secrets,
      recipe,
      limits: limitsOf({ ...written, ...(timeout !== undefined && { timeout }) }),
      ...(okCodes !== undefined && { okCodes: okCodes.filter((code) => code !== undefined) }),
      ...(output !== undefined && { output }),
      ...(progress !== undefined && { progress }),
    },
  ];
}

function limitsOf({ timeout, grace, maxOutput, keepOutput = {} }: WrittenShellTool): ShellToolConfig['limits'] {
  const { head, tail } = keepOutput;
  return {
    ...(timeout !== undefined && { timeoutMs: milliseconds(timeout) }),
    ...(grace !== undefined && { graceMs: milliseconds(grace) }),
    ...(head !== undefined && { headBytes: bytes(head) }),
    ...(tail !== undefined && { tailBytes: bytes(tail) }),
    ...(maxOutput !== undefined && { maxOutputBytes: bytes(maxOutput) }),
  };
}

function recipeOf(
  pointer: string,
  written: WrittenShellTool,
  texts: Texts,
  places: InputPlaces,
): CommandRecipe | undefined {
  const { references } = texts;
  const env = environmentOf(inside(pointer, 'env'), written, texts, places);
  const cwd = references.path(inside(pointer, 'cwd'), written.cwd ?? '.');
  const { stdin, endOfOptions } = written;
  const read = stdin === undefined ? undefined : filledBy(inside(pointer, 'stdin'), stdin, places);
  const words = wordsOf(pointer, written, texts, places);
  if (words === undefined) return undefined;
  return {
    ...words,
    ...(endOfOptions !== undefined && { endOfOptions }),
    ...(cwd !== undefined && { cwd }),
    env,
    ...(read !== undefined && { stdin: read }),
  };
}

function wordsOf(
  pointer: string,
  { command, script, endOfOptions = true }: WrittenShellTool,
  texts: Texts,
  places: InputPlaces,
): Pick<CommandRecipe, 'file' | 'args'> | undefined {
  if (script !== undefined) return scriptOf(inside(pointer, 'script'), script, texts);
  const at = inside(pointer, 'command');
  if (typeof command === 'string') {
    const file = texts.program(at, command);
    return file === undefined ? undefined : { file, args: [] };
  }
  if (command === undefined) return undefined;
  const [first, ...rest] = command.map((word, index) => wordOf(inside(at, index), word, texts, places));
  if (typeof first === 'object') {
    texts.sheet.report(inside(at, 0), 'expected a program: which one runs is never up to the input');
  }
  const args = rest.filter((word) => word !== undefined);
  if (endOfOptions) reportLateOptions(at, rest, texts);
  return typeof first === 'string' ? { file: texts.located(first), args } : undefined;
}

/** A shell's own `$NAME` is no reference of this file, so the text stays as it is. */
function scriptOf(pointer: string, script: string, { sheet }: Texts): Pick<CommandRecipe, 'file' | 'args'> | undefined {
  if (process.platform === 'win32') sheet.report(pointer, 'expected a command: there is no /bin/sh on Windows', 'key');
  else if (script.includes('\0')) sheet.report(pointer, 'expected a text, got one with a NUL character in it');
  else return { file: '/bin/sh', args: ['-c', script] };
  return undefined;
}

function wordOf(
  pointer: string,
  word: Scalar | WrittenPart | undefined,
  texts: Texts,
  places: InputPlaces,
): WordPart | undefined {
  if (typeof word !== 'object') return word === undefined ? undefined : texts.one(pointer, word);
  const at = inside(pointer, 'input');
  const { input, dash, join } = word;
  if (input === undefined) return undefined;
  if (word.flag !== undefined) {
    places.check(at, input, 'flag');
    const flag = texts.one(inside(pointer, 'flag'), word.flag);
    return flag === undefined ? undefined : { input, flag };
  }
  const own = { input, ...(dash !== undefined && { dash }) };
  if (word.option === undefined) {
    places.check(at, input, 'word');
    return own;
  }
  places.check(at, input, 'option');
  const option = texts.one(inside(pointer, 'option'), word.option);
  if (option === undefined) return undefined;
  if (join === undefined) return { ...own, option };
  if (!/^-*$/.test(`${option}${join}`)) return { ...own, option, join };
  texts.sheet.report(inside(pointer, 'option'), 'expected more than dashes, or the value would name the option');
  return undefined;
}

/** Behind `--` no word is an option any more: what was meant as one would be taken for a value. */
function reportLateOptions(pointer: string, args: readonly (WordPart | undefined)[], { sheet }: Texts): void {
  let ended = false;
  for (const [index, part] of args.entries()) {
    if (part === '--') return;
    if (part === undefined) continue;
    if (isPositional(part)) ended = true;
    else if (ended && optionIn(part).startsWith('-')) {
      const message = 'is behind the first value that stands alone, and so behind the -- that is put before that';
      sheet.report(inside(pointer, index + 1), `${message}: put it before, or say endOfOptions: false`);
    }
  }
}

/** What stands there as it is written. */
function optionIn(part: WordPart): string {
  if (typeof part === 'string') return part;
  if ('flag' in part) return part.flag;
  return 'option' in part ? part.option : '';
}

function environmentOf(
  pointer: string,
  { env = {}, inheritEnv }: WrittenShellTool,
  texts: Texts,
  places: InputPlaces,
): CommandRecipe['env'] {
  const literal: Record<string, Scalar> = Object.create(null);
  const filled: [string, InputPart][] = [];
  for (const name of Object.keys(env)) {
    const value = env[name];
    if (typeof value !== 'object') {
      if (value !== undefined) literal[name] = value;
      continue;
    }
    const why = keptFromInput(name);
    if (why !== undefined) {
      texts.sheet.report(inside(pointer, name), `cannot be set from the input: ${why}`, 'key');
      continue;
    }
    const filling = filledBy(inside(pointer, name), value, places);
    if (filling !== undefined) filled.push([name, filling]);
  }
  return { ...texts.inherited(inheritEnv), ...texts.named(pointer, literal), ...Object.fromEntries(filled) };
}

function filledBy(pointer: string, { input }: WrittenPart, places: InputPlaces): InputPart | undefined {
  if (input === undefined) return undefined;
  places.check(inside(pointer, 'input'), input, 'text');
  return { input };
}
