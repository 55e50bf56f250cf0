import { type FieldSchema, type JsonValue, typeName } from '../../core/index.ts';

export type Read = { ok: true; value: JsonValue } | { ok: false; expected: string };

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

function isOfType(value: JsonValue, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return typeName(value) === type;
}

function within(value: number, least: JsonValue | undefined, most: JsonValue | undefined): boolean {
  return (typeof least !== 'number' || value >= least) && (typeof most !== 'number' || value <= most);
}
