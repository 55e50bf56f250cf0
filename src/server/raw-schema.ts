import { type JsonValue, type StandardSchema, toJsonSchema } from '../core/index.ts';

/** Arguments twice: as they came, to be stored, and as the tool's schema made them, to be used. */
export interface RawArguments {
  raw: JsonValue;
  parsed: unknown;
}

/**
 * The same schema, also remembering what it was given: a task stores the arguments as they came, since what a schema
 * makes of them (dates, defaults, classes) may not survive as JSON.
 */
export function rememberingRaw(schema: StandardSchema): StandardSchema<unknown, RawArguments> {
  const { jsonSchema } = convertedOnce(schema)['~standard'];
  const { validate } = schema['~standard'];
  return {
    '~standard': {
      version: 1,
      vendor: 'longcall',
      validate: async (value) => {
        const result = await validate(value);
        return result.issues === undefined ? { value: { raw: value as JsonValue, parsed: result.value } } : result;
      },
      jsonSchema,
    },
  };
}

/** The same schema, converted to JSON Schema once and not for every request that lists or calls the tool. */
export function convertedOnce(schema: StandardSchema): StandardSchema {
  const { vendor, validate } = schema['~standard'];
  const input = once(() => toJsonSchema(schema, 'input'));
  const output = once(() => toJsonSchema(schema, 'output'));
  return { '~standard': { version: 1, vendor, validate, jsonSchema: { input, output } } };
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
