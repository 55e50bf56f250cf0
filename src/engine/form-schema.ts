import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {
  type Answer,
  isJsonObject,
  isStandardSchema,
  type JsonObject,
  type Question,
  type StandardSchema,
  toJsonSchema,
  unreachable,
} from '../core/index.ts';

const PRIMITIVES = new Set(['string', 'number', 'integer', 'boolean']);
/** What a form field may say about itself; anything else would be dropped by hosts, or refused. */
const FIELD_KEYWORDS = new Set([
  ...[
    'type',
    'title',
    'description',
    'default',
    'enum',
    'enumNames',
    'oneOf',
    'const',
    'items',
    'minItems',
    'maxItems',
  ],
  ...['format', 'minLength', 'maxLength', 'minimum', 'maximum'],
]);
const FORMATS = new Set(['email', 'uri', 'date', 'date-time']);

/**
 * The form that `schema` describes, in the subset of JSON Schema that elicitation allows: a flat object of primitive
 * fields. What only narrows a field beyond that subset (a pattern, exclusive bounds) is left out here and still holds
 * when the answer is checked by the schema itself.
 * @throws {TypeError} naming the field that cannot be shown.
 * @see 2026-07-28 schema, `ElicitRequestFormParams.requestedSchema`
 */
export function toFormSchema(schema: StandardSchema | JsonObject, question: string): JsonObject {
  const full = isStandardSchema(schema) ? toJsonSchema(schema, 'input') : (schema as JsonObject);
  const what = `ask "${question}": schema`;
  if (full.type !== 'object' || !isJsonObject(full.properties)) {
    throw new TypeError(`${what} must be an object with properties, e.g. z.object({ ok: z.boolean() })`);
  }
  const properties: JsonObject = {};
  for (const [name, field] of Object.entries(full.properties)) properties[name] = formField(field, `${what}.${name}`);
  const required = Array.isArray(full.required) ? full.required : [];
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

function formField(field: unknown, what: string): JsonObject {
  if (!isJsonObject(field) || !isShowable(field)) {
    throw new TypeError(`${what} must be a string, number, integer, boolean or a choice: hosts draw flat forms only`);
  }
  const kept: JsonObject = {};
  for (const [keyword, value] of Object.entries(field)) {
    if (!FIELD_KEYWORDS.has(keyword)) continue;
    if (keyword === 'format' && !FORMATS.has(String(value))) continue;
    // Zod bounds every integer by what a double holds; a form need not say so.
    if ((keyword === 'minimum' || keyword === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER)
      continue;
    kept[keyword] = value;
  }
  return kept;
}

function isShowable(field: JsonObject): boolean {
  if (typeof field.type === 'string' && PRIMITIVES.has(field.type)) return true;
  if (field.type !== 'array' || !isJsonObject(field.items)) return false;
  return Array.isArray(field.items.enum) || Array.isArray(field.items.anyOf);
}

const ajv = new Ajv2020({ strict: false, allErrors: false, coerceTypes: false });
addFormats.default(ajv);
const validators = new WeakMap<JsonObject, ValidateFunction>();

/** What is wrong with `answer`, in words that name the field; undefined if nothing is. */
export function answerProblem(question: Question, answer: Answer): string | undefined {
  if (answer.action !== 'accept') return undefined;
  switch (question.kind) {
    case 'form':
      return formProblem(question.schema, answer);
    case 'url':
      return undefined; // That they went is all there is to say.
    case 'sampling': {
      const { role, content, model } = answer.content;
      if (role !== 'user' && role !== 'assistant') return "role must be 'user' or 'assistant'";
      if (!isJsonObject(content) && !Array.isArray(content)) return 'content must be a block or a list of blocks';
      return typeof model === 'string' ? undefined : 'model must be a string';
    }
    case 'roots': {
      const { roots } = answer.content;
      const fine = Array.isArray(roots) && roots.every((root) => isJsonObject(root) && typeof root.uri === 'string');
      return fine ? undefined : 'roots must be a list of objects with a uri';
    }
    default:
      return unreachable(question);
  }
}

function formProblem(form: JsonObject, answer: Answer & { action: 'accept' }): string | undefined {
  let validate = validators.get(form);
  if (validate === undefined) {
    validate = ajv.compile(form);
    validators.set(form, validate);
  }
  if (validate(answer.content)) return undefined;
  const [problem] = validate.errors ?? [];
  const field = problem?.instancePath.replace(/^\//, '').replaceAll('/', '.') ?? '';
  return `content${field === '' ? '' : `.${field}`} ${problem?.message ?? 'does not fit the schema'}`;
}
