import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/index.ts';
import type { ShellCommand } from '../options.ts';
import { type Bounds, boundsOf, checkSize, type Sized } from './bounds.ts';
import { InputError } from './input-error.ts';
import { type CommandRecipe, isPositional, type OptionPart, type PositionalPart, type WordPart } from './recipe.ts';

const END_OF_OPTIONS = '--';

/**
 * The command for an input. Values stay values: none becomes an option, another word, or a piece of what a shell reads.
 * @param input as the tool's schema lets it pass
 * @throws {InputError} naming the field, where a value cannot be what the recipe wants of it; nothing is to be run then
 */
export function commandOf(
  recipe: CommandRecipe,
  input: JsonObject,
  bounds: Bounds = boundsOf(process.platform),
): ShellCommand {
  const { file, cwd } = recipe;
  const args = wordsOf(recipe, input);
  const env = variablesOf(recipe, input);
  const variables = env.map(({ name, text, field }) => ({
    text: `${name}=${text}`,
    ...(field !== undefined && { field }),
  }));
  checkSize([{ text: file }, ...args, ...variables], bounds);
  const stdin = recipe.stdin === undefined ? undefined : textOf(valueIn(input, recipe.stdin.input));
  return {
    file,
    args: args.map(({ text }) => text),
    env: Object.fromEntries(env.map(({ name, text }) => [name, text])),
    ...(cwd !== undefined && { cwd }),
    ...(stdin !== undefined && { stdin }),
  };
}

function wordsOf({ args: parts, endOfOptions = true }: CommandRecipe, input: JsonObject): Sized[] {
  const words: Sized[] = [];
  let ended = !endOfOptions;
  for (const part of parts) {
    if (part === END_OF_OPTIONS) ended = true;
    const some = wordsFor(part, input);
    if (!ended && isPositional(part) && some.length > 0) {
      words.push({ text: END_OF_OPTIONS });
      ended = true;
    }
    words.push(...some);
  }
  return words;
}

function wordsFor(part: WordPart, input: JsonObject): Sized[] {
  if (typeof part === 'string') return [{ text: part }];
  const value = valueIn(input, part.input);
  if (value === undefined) return [];
  if ('flag' in part) {
    if (typeof value !== 'boolean') throw new InputError(part.input, 'expected true or false');
    return value ? [{ text: part.flag }] : [];
  }
  const items = itemsOf(value, part.input);
  if ('option' in part) return items.flatMap(({ item, field }) => optionWords(part, item, field));
  return items.map(({ item, field }) => ({
    text: alone(wordOf(item, field, { booleans: false }), field, part),
    field,
  }));
}

function optionWords(part: OptionPart, item: JsonValue, field: string): Sized[] {
  const { option, join } = part;
  const word = wordOf(item, field, { booleans: true });
  if (join !== undefined) return [{ text: `${option}${join}${word}`, field }];
  return [{ text: option }, { text: alone(word, field, part), field }];
}

/** A value that is a word of its own. */
function alone(word: string, field: string, { dash = false }: Pick<PositionalPart, 'dash'>): string {
  if (dash || !word.startsWith('-')) return word;
  throw new InputError(field, 'expected a value that does not begin with "-", which could be read as an option');
}

function wordOf(value: JsonValue, field: string, { booleans }: { booleans: boolean }): string {
  if (typeof value === 'string') return withoutNul(value, field);
  if (typeof value === 'number' || (booleans && typeof value === 'boolean')) return String(value);
  throw new InputError(field, 'expected a text, a number, or a list of those');
}

interface Variable extends Sized {
  name: string;
}

function variablesOf({ env }: CommandRecipe, input: JsonObject): Variable[] {
  return Object.entries(env).flatMap(([name, written]): Variable[] => {
    if (typeof written === 'string') return [{ name, text: written }];
    const text = textOf(valueIn(input, written.input));
    return text === undefined ? [] : [{ name, text: withoutNul(text, written.input), field: written.input }];
  });
}

/** A text as it is; a list or an object as JSON. */
function textOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  return Array.isArray(value) || isJsonObject(value) ? JSON.stringify(value) : String(value);
}

function itemsOf(value: JsonValue, field: string): { item: JsonValue; field: string }[] {
  if (!Array.isArray(value)) return [{ item: value, field }];
  return value.map((item, at) => ({ item, field: `${field}.${at}` }));
}

/** Of the input's own: what all objects have is none of it. */
function valueIn(input: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(input, name) ? (input[name] ?? undefined) : undefined;
}

/** Where a system reads a text, it ends there: the command would get another value than was checked. */
function withoutNul(text: string, field: string): string {
  if (!text.includes('\0')) return text;
  throw new InputError(field, 'expected a text without a NUL character');
}
