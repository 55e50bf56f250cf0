import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject, SchemaIssue, StandardSchema } from '../core/index.ts';

/**
 * What a JSON Schema says, for whoever takes schemas only as Standard Schema has them; it is listed as it is written.
 * @throws {Error} where it cannot be checked by
 */
export function standardSchema(schema: JsonObject): StandardSchema<JsonObject> {
  // One of its own: schemas may have ids, and whoever wrote one knows nothing of the others.
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats.default(ajv);
  const check = ajv.compile(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'longcall',
      validate: (value) =>
        check(value) ? { value: value as JsonObject } : { issues: (check.errors ?? []).map(issueOf) },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

function issueOf({ instancePath, keyword, params, message = 'does not fit' }: ErrorObject): SchemaIssue {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  switch (keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { path: [...path, String(params.additionalProperty ?? params.unevaluatedProperty)], message: 'unknown' };
    case 'required':
      return { path: [...path, String(params.missingProperty)], message: 'missing' };
    case 'enum':
      return {
        path,
        message: `must be one of ${(params.allowedValues as unknown[]).map((one) => JSON.stringify(one)).join(', ')}`,
      };
    default:
      return { path, message };
  }
}
