import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';

/** What one property of a schema says that matters for a word from a command line or a form. */
export interface FieldSchema {
  /** Names of JSON types; empty: anything. */
  types: readonly string[];
  enum?: readonly JsonValue[];
  schema: JsonObject;
}

export type Read = { ok: true; value: JsonValue } | { ok: false; expected: string };

/** The schema of a property, local references followed. */
export function fieldOf(root: JsonObject, name: string): FieldSchema {
  const { properties } = root;
  const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const schema = resolved(root, own);
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const as JsonValue] : undefined;
  return { types: typesOf(root, schema, 0), schema, ...(values !== undefined && { enum: values }) };
}

/** Reads a word as what the schema wants: a text where it wants a text or says nothing, else JSON. */
export function readWord(word: string, field: FieldSchema): Read {
  const { types } = field;
  if (types.length === 0 || types.includes('string')) return checked(word, field);
  let value: JsonValue;
  try {
    value = JSON.parse(word) as JsonValue;
  } catch {
    return { ok: false, expected: expectationOf(field) };
  }
  return checked(value, field);
}

/** Whether a value fits, as far as a word or a field of a form can be told; the server checks the rest. */
export function checked(value: JsonValue, field: FieldSchema): Read {
  const { types, schema } = field;
  const fits =
    (types.length === 0 || types.some((type) => isOfType(value, type))) &&
    (field.enum === undefined || field.enum.some((one) => JSON.stringify(one) === JSON.stringify(value))) &&
    (typeof value !== 'number' || within(value, schema.minimum, schema.maximum)) &&
    (typeof value !== 'string' || within(value.length, schema.minLength, schema.maxLength));
  return fits ? { ok: true, value } : { ok: false, expected: expectationOf(field) };
}

const WORDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
  array: 'a JSON array',
  object: 'a JSON object',
};

/** `a whole number, at least 1`, in the words of a message. */
export function expectationOf({ types, enum: values, schema }: FieldSchema): string {
  if (values !== undefined) return `one of ${values.map((one) => JSON.stringify(one)).join(', ')}`;
  const words = types.map((type) => WORDS[type] ?? type).join(' or ') || 'a value';
  const [least, most, unit] = types.includes('string')
    ? [schema.minLength, schema.maxLength, ' characters']
    : [schema.minimum, schema.maximum, ''];
  const bounds = [
    ...(typeof least === 'number' ? [`at least ${least}${unit}`] : []),
    ...(typeof most === 'number' ? [`at most ${most}${unit}`] : []),
  ];
  return [words, ...bounds].join(', ');
}

function resolved(root: JsonObject, schema: JsonValue | undefined): JsonObject {
  let at = schema;
  // A chain of references that never ends says nothing.
  for (let hop = 0; hop < 10 && isJsonObject(at) && typeof at.$ref === 'string'; hop += 1) {
    at = at.$ref.startsWith('#/') ? pointed(root, at.$ref.slice(2)) : undefined;
  }
  return isJsonObject(at) && typeof at.$ref !== 'string' ? at : {};
}

function pointed(root: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const part of pointer.split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at;
}

function typesOf(root: JsonObject, schema: JsonObject, depth: number): string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === 'string');
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : undefined;
  if (branches !== undefined && depth < 5) {
    const all = branches.map((branch) => typesOf(root, resolved(root, branch), depth + 1));
    return all.some((types) => types.length === 0) ? [] : [...new Set(all.flat())];
  }
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const as JsonValue] : [];
  return [...new Set(values.map(typeName))];
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isOfType(value: JsonValue, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return typeName(value) === type;
}

function within(value: number, least: JsonValue | undefined, most: JsonValue | undefined): boolean {
  return (typeof least !== 'number' || value >= least) && (typeof most !== 'number' || value <= most);
}
