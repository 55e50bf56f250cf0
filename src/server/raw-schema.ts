import { describeIssues, type JsonValue, type StandardSchema, toJsonSchema } from '../core/index.ts';

/** Arguments twice: as they came, to be stored, and as the tool's schema made them, to be used. */
export interface RawArguments {
  raw: JsonValue;
  parsed: unknown;
  /** Why the schema refuses them, if it does. */
  problem?: string;
}

/**
 * The same schema, also remembering what it was given: a task stores the arguments as they came, since what a schema
 * makes of them (dates, defaults, classes) may not survive as JSON. It refuses nothing but reports, since a call without
 * the capability it needs has to be told that first.
 */
export const rememberingRaw = oncePer((schema: StandardSchema): StandardSchema<unknown, RawArguments> => {
  const { jsonSchema } = convertedOnce(schema)['~standard'];
  const { validate } = schema['~standard'];
  return {
    '~standard': {
      version: 1,
      vendor: 'longcall',
      validate: async (value) => {
        const raw = value as JsonValue;
        const result = await validate(value);
        if (result.issues === undefined) return { value: { raw, parsed: result.value } };
        return { value: { raw, parsed: undefined, problem: describeIssues(result.issues) } };
      },
      jsonSchema,
    },
  };
});

/** The same schema, converted to JSON Schema once and not for every request that lists or calls the tool. */
export const convertedOnce = oncePer((schema: StandardSchema): StandardSchema => {
  const { vendor, validate } = schema['~standard'];
  const input = once(() => toJsonSchema(schema, 'input'));
  const output = once(() => toJsonSchema(schema, 'output'));
  return { '~standard': { version: 1, vendor, validate, jsonSchema: { input, output } } };
});

/** Made once for each schema, since servers come per request. */
function oncePer<Made>(make: (schema: StandardSchema) => Made): (schema: StandardSchema) => Made {
  const made = new WeakMap<StandardSchema, Made>();
  return (schema) => {
    let known = made.get(schema);
    if (known === undefined) {
      known = make(schema);
      made.set(schema, known);
    }
    return known;
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
