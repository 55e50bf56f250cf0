import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { isMovable } from '../tool-list.ts';

const COMPOSITIONS = ['oneOf', 'anyOf', 'allOf'];
const OBJECT_KEYWORDS = ['properties', 'patternProperties', 'additionalProperties', 'required'];

/**
 * The output schema of a tool as this revision lists it, where structured content is an object.
 * @param schema `undefined`: the tool has none
 * @returns `wrapped`: structured content of the tool goes out as the `result` of an object. The schema is left out where
 *   it cannot be moved without a change of meaning, which promises nothing
 * @see 2025-11-25 schema, `Tool.outputSchema`
 */
export function outputSchemaOf(schema: JsonObject | undefined): { outputSchema?: JsonObject; wrapped: boolean } {
  if (schema === undefined) return { wrapped: false };
  if (schema.type === 'object') return { outputSchema: schema, wrapped: false };
  if (schema.type === undefined && isOfObjects(schema, schema)) {
    return { outputSchema: { type: 'object', ...schema }, wrapped: false };
  }
  const { $schema, $defs, definitions, ...own } = schema;
  if (![own, $defs, definitions].every(isMovable)) return { wrapped: true };
  const top = Object.entries({ $schema, $defs, definitions }).filter(([, value]) => value !== undefined);
  const outputSchema = {
    ...Object.fromEntries(top),
    type: 'object',
    properties: { result: own },
    required: ['result'],
  };
  return { outputSchema, wrapped: true };
}

/** A result whose structured content is what the listed schema says: an object, if need be around it. */
export function withObjectContent<Result extends object>(result: Result, { wrapped }: { wrapped: boolean }): Result {
  const { structuredContent } = result as { structuredContent?: unknown };
  if (structuredContent === undefined || (!wrapped && isJsonObject(structuredContent))) return result;
  return { ...result, structuredContent: { result: structuredContent } };
}

/** Whether whatever a schema without a type admits is an object, as far as can be told without following it far. */
function isOfObjects(schema: JsonObject, root: JsonObject): boolean {
  if (OBJECT_KEYWORDS.some((keyword) => keyword in schema)) return true;
  const referred = referredTo(schema.$ref, root);
  if (isJsonObject(referred) && referred.type === 'object') return true;
  const members = COMPOSITIONS.map((keyword) => schema[keyword]).find(Array.isArray) as JsonValue[] | undefined;
  if (members === undefined || members.length === 0) return false;
  return members.every((member) => isJsonObject(member) && (member.type === 'object' || isOfObjects(member, root)));
}

function referredTo(ref: JsonValue | undefined, root: JsonObject): JsonValue | undefined {
  const [, where = '', name = ''] = (typeof ref === 'string' && /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref)) || [];
  const shared = root[where];
  return isJsonObject(shared) && Object.hasOwn(shared, name) ? shared[name] : undefined;
}
