import { fieldOf, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { CliError } from '../errors.ts';
import { objectOf } from '../parse.ts';
import { checked, expectationOf, readWord } from './schema-value.ts';

/** What was given on a command line for a tool's arguments, or for the fields of a question. */
export interface GivenValues {
  /** `key=value`, `key:=json`, and `-` for a JSON object on the standard input. */
  words: readonly string[];
  /** A JSON object. */
  json?: string | undefined;
  readStdin: () => Promise<string>;
}

/** What values are for, in the words of messages: `argument "to": …`. */
export type ValueKind = 'argument' | 'field';

/**
 * Puts arguments together: the object first, then words over it. A word is a text, or JSON where the schema wants something else.
 * @throws {CliError} naming the argument and what was expected.
 */
export async function readValues(given: GivenValues, schema: JsonObject, kind: ValueKind): Promise<JsonObject> {
  const values = new Map<string, JsonValue>();
  const take = (object: JsonObject): void => {
    for (const [name, value] of Object.entries(object)) values.set(name, value);
  };
  if (given.json !== undefined) take(objectOf(given.json, '--args'));
  if (given.words.includes('-')) take(objectOf(await given.readStdin(), 'standard input'));
  const worded = new Set<string>();
  for (const word of given.words) {
    if (word === '-') continue;
    const [name, value] = namedValue(word, schema, kind);
    if (worded.has(name))
      throw new CliError(`${kind} "${name}": given twice; several values are written ${name}:='[…]'`);
    worded.add(name);
    values.set(name, value);
  }
  // Own members whatever their names, also `__proto__`.
  const all = Object.fromEntries(values);
  check(all, schema, kind);
  return all;
}

function namedValue(word: string, schema: JsonObject, kind: ValueKind): [string, JsonValue] {
  const [, name = '', sign, text = ''] = /^([^=]+?)(:?=)(.*)$/s.exec(word) ?? [];
  if (sign === undefined) {
    throw new CliError(`${JSON.stringify(word)}: give ${kind}s as key=value, or key:=JSON`);
  }
  if (sign === ':=') {
    try {
      return [name, JSON.parse(text) as JsonValue];
    } catch {
      throw new CliError(`${kind} "${name}": expected JSON after :=, got ${JSON.stringify(text)}`);
    }
  }
  const read = readWord(text, fieldOf(schema, name));
  if (!read.ok) throw new CliError(`${kind} "${name}": expected ${read.expected}, got ${JSON.stringify(text)}`);
  return [name, read.value];
}

function check(values: JsonObject, schema: JsonObject, kind: ValueKind): void {
  const names = isJsonObject(schema.properties) ? Object.keys(schema.properties) : [];
  const whose = kind === 'argument' ? 'the tool' : 'the question';
  for (const [name, value] of Object.entries(values)) {
    const field = fieldOf(schema, name);
    // A form has its fields and no others; a tool's schema says so itself.
    if (!names.includes(name) && (kind === 'field' || schema.additionalProperties === false)) {
      const known = names.length === 0 ? `${whose} takes none` : `${whose} takes ${names.join(', ')}`;
      throw new CliError(`${kind} "${name}": there is none of this name; ${known}`);
    }
    const fits = checked(value, field);
    if (!fits.ok) throw new CliError(`${kind} "${name}": expected ${fits.expected}, got ${JSON.stringify(value)}`);
  }
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof name !== 'string' || Object.hasOwn(values, name)) continue;
    throw new CliError(`${kind} "${name}": missing; ${whose} requires it (${expectationOf(fieldOf(schema, name))})`);
  }
}
