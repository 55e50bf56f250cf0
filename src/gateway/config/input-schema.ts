import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject } from '../../core/index.ts';
import { closest } from './problems.ts';
import { inside, type Sheet } from './sheet.ts';

/** Keywords of JSON Schema 2020-12, and what OpenAPI adds that says nothing of values. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$schema', '$id', '$anchor', '$dynamicAnchor', '$ref', '$dynamicRef', '$defs', '$comment', '$vocabulary'],
  ...['type', 'enum', 'const', 'title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames', 'required'],
  ...['minProperties', 'maxProperties', 'dependentRequired', 'dependentSchemas', 'dependencies', 'definitions'],
  ...['items', 'prefixItems', 'contains', 'minContains', 'maxContains', 'unevaluatedItems', 'minItems', 'maxItems'],
  ...['uniqueItems', 'minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['exclusiveMaximum', 'multipleOf', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'contentEncoding'],
  ...['contentMediaType', 'contentSchema', 'example'],
]);

/** Members of these are schemas, by names of anybody's choosing. */
const MAPS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'],
]);
/** What stands in these is no schema. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example', 'required']);
/** Beside these, `additionalProperties` would refuse what they allow. */
const APPLICATORS = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];

const NO_INPUT: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

let metaSchema: Ajv2020 | undefined;

/**
 * The JSON Schema of a tool's input as it is listed and checked: that of the file, closed to properties that it does not name unless
 * it says of those itself. `undefined` after a problem, each told where it stands.
 */
export function inputSchemaOf(pointer: string, written: JsonObject | undefined, sheet: Sheet): JsonObject | undefined {
  if (written === undefined) return NO_INPUT;
  const before = sheet.problems.length;
  const schema = JSON.parse(JSON.stringify(written)) as JsonObject; // Objects as everybody has them.
  if (schema.type !== undefined && schema.type !== 'object') {
    sheet.report(inside(pointer, 'type'), 'expected object, since the input of a tool is one');
  }
  reportUnknown(pointer, schema, sheet);
  metaSchema ??= new Ajv2020({ strict: false, allErrors: true, logger: false });
  if (metaSchema.validateSchema(schema) !== true) {
    for (const error of metaSchema.errors ?? []) reportMisfit(pointer, error, sheet);
  }
  if (sheet.problems.length > before) return undefined;
  try {
    const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false });
    addFormats.default(ajv);
    ajv.compile(schema);
  } catch (error) {
    sheet.report(pointer, `expected a JSON Schema that can be checked by: ${(error as Error).message}`);
    return undefined;
  }
  return closed({ ...schema, type: 'object' });
}

function closed(schema: JsonObject): JsonObject {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return schema;
  const applies = APPLICATORS.some((keyword) => schema[keyword] !== undefined);
  return { ...schema, [applies ? 'unevaluatedProperties' : 'additionalProperties']: false };
}

function reportMisfit(
  pointer: string,
  { instancePath, keyword, params, message = '' }: ErrorObject,
  sheet: Sheet,
): void {
  if (['anyOf', 'oneOf', 'if', '$ref', '$dynamicRef'].includes(keyword)) return; // Said by what is within.
  const at = `${pointer}${instancePath}`;
  if (keyword === 'enum') {
    const known = params.allowedValues as string[];
    const meant = closest(sheet.text(at) ?? '', known);
    const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
    sheet.report(at, `expected one of ${known.join(', ')}${hint}`);
    return;
  }
  // What can be a word can also be a list of them: the word's own error says more.
  if (keyword === 'type' && instancePath.endsWith('/type') && params.type === 'array') return;
  sheet.report(at, `as JSON Schema, this ${message}`);
}

/** A slip of the pen would let everything pass. What begins with `x-` is somebody's own. */
function reportUnknown(pointer: string, schema: unknown, sheet: Sheet, isMap = false): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [key, value] of Object.entries(schema)) {
    const at = inside(pointer, key);
    if (isMap || Array.isArray(schema)) reportUnknown(at, value, sheet);
    else if (KEYWORDS.has(key)) {
      if (!VALUES.has(key)) reportUnknown(at, value, sheet, MAPS.has(key));
    } else if (!key.startsWith('x-')) {
      const meant = closest(key, [...KEYWORDS]);
      const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
      sheet.report(at, `unknown to JSON Schema${hint}`, 'key');
    }
  }
}
