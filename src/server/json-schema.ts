import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject, StandardSchema } from '../core/index.ts';

const ajv = new Ajv2020({ strict: false });

/** What a JSON Schema says, for whoever takes schemas only as Standard Schema has them. */
export function standardSchema(schema: JsonObject): StandardSchema<JsonObject> {
  const check = ajv.compile(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'longcall',
      validate: (value) =>
        check(value) ? { value: value as JsonObject } : { issues: [{ message: ajv.errorsText(check.errors) }] },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
