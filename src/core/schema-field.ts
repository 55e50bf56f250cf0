import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';

/** What one property of a schema says that matters for a word of a command line or a form. */
export interface FieldSchema {
  /** Names of JSON types; empty: anything. */
  types: readonly string[];
  enum?: readonly JsonValue[];
  schema: JsonObject;
}

/** The schema of a property, local references followed. */
export function fieldOf(root: JsonObject, name: string): FieldSchema {
  const { properties } = root;
  const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const schema = resolved(root, own);
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const as JsonValue] : undefined;
  return { types: typesOf(root, schema), schema, ...(values !== undefined && { enum: values }) };
}

/** What the items of a list can be, by JSON type; empty: anything. */
export function itemTypesOf(root: JsonObject, { schema }: FieldSchema): readonly string[] {
  return typesOf(root, resolved(root, schema.items));
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

function typesOf(root: JsonObject, schema: JsonObject, depth = 0): string[] {
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

export function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
