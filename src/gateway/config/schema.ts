import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { closest } from './problems.ts';
import { inside, keysOf, kindOf, type Sheet, shown } from './sheet.ts';

/** The one description of the file: editors read it, and it is what the loader checks. As far up from sources as from built files. */
const FILE = new URL('../../../schema/longcall.schema.json', import.meta.url);

/** The JSON Schema of `longcall.yaml`, as text. */
export function configSchema(): string {
  return readFileSync(FILE, 'utf8');
}

let compiled: ValidateFunction | undefined;

/**
 * Checks a value, and takes out of it what is wrong: what is left can be read without looking again.
 * @returns whether it can be read at all
 */
export function checkAgainstSchema(value: JsonValue | undefined, sheet: Sheet): boolean {
  compiled ??= new Ajv({ allErrors: true, verbose: true, strict: false }).compile(JSON.parse(configSchema()) as object);
  if (compiled(value)) return true;
  const wrong: string[] = [];
  for (const error of compiled.errors ?? []) {
    const found = problemOf(error);
    if (found === undefined) continue;
    sheet.report(found.at, found.message, found.on, found.field);
    if (found.wrong) wrong.push(found.at);
  }
  if (wrong.includes('')) return false;
  for (const pointer of wrong) takeOut(value as JsonValue, keysOf(pointer));
  return true;
}

interface Found {
  at: string;
  /** As which member it is told. @default `at` */
  field?: string;
  on: 'key' | 'value';
  message: string;
  /** The value cannot be read. */
  wrong: boolean;
}

function problemOf(error: ErrorObject): Found | undefined {
  const { instancePath: at, keyword, params, data, parentSchema } = error;
  const { errorMessage: expected = 'expected something else', properties = {} } = parentSchema as {
    errorMessage?: string;
    properties?: object;
  };
  if (error.propertyName !== undefined) {
    const name = inside(at, error.propertyName);
    return tellable(name)
      ? { at: name, on: 'key', message: `${expected}, got ${shown(error.propertyName)}`, wrong: true }
      : { at: name, field: at, on: 'key', message: `${expected}, got another (not shown)`, wrong: true };
  }
  switch (keyword) {
    case 'if': // What is wrong in `then` or `else` is told by itself.
    case 'propertyNames':
      return undefined;
    case 'additionalProperties': {
      return unknownKey(at, String(params.additionalProperty), Object.keys(properties));
    }
    case 'required':
      // Below a choice between two, the choice says it.
      return parentSchema?.type === undefined
        ? undefined
        : { at, on: 'key', message: `${expected}; ${params.missingProperty} is missing`, wrong: false };
    case 'anyOf':
    case 'oneOf':
      if (!isJsonObject(data)) return undefined; // Which its type says already.
      return {
        at,
        on: 'key',
        message: `${expected}, got ${Array.isArray(params.passingSchemas) ? 'both' : 'neither'}`,
        wrong: false,
      };
    case 'dependencies':
      return {
        at: inside(at, String(params.property)),
        on: 'key',
        message: `goes with ${params.missingProperty}, which is not there`,
        wrong: true,
      };
    default: {
      const got = tellable(at) ? shown(data as JsonValue) : kindOf(data as JsonValue);
      return { at, on: 'value', message: `${expected}, got ${got}${hint(data, parentSchema?.enum)}`, wrong: true };
    }
  }
}

function unknownKey(at: string, key: string, known: readonly string[]): Found {
  const found = { at: inside(at, key), on: 'key', wrong: true } as const;
  if (key === '<<') return { ...found, message: 'merge keys are not read; an alias can only stand for a whole value' };
  const meant = closest(key, known);
  if (meant !== undefined) return { ...found, message: `unknown; did you mean ${JSON.stringify(meant)}?` };
  // What stands where a secret should may be a piece of one.
  if (!tellable(found.at))
    return { ...found, field: at, message: `expected only ${known.join(', ')}, got another name` };
  return { ...found, message: `unknown; expected one of ${known.join(', ')}` };
}

function hint(value: unknown, allowed: unknown): string {
  if (!Array.isArray(allowed) || typeof value !== 'string') return '';
  const meant = closest(value, allowed);
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
}

/** Whether what stands there can be told: where secrets are wont to be, no value ever is. */
function tellable(pointer: string): boolean {
  const keys = keysOf(pointer);
  return !keys.some((key) =>
    ['env', 'headers', 'auth', 'url', 'args', 'command', 'body', 'query', 'secret'].includes(key),
  );
}

function takeOut(value: JsonValue, keys: readonly string[]): void {
  let at: JsonValue | undefined = value;
  for (const key of keys.slice(0, -1)) at = member(at, key);
  const last = keys.at(-1) ?? '';
  if (Array.isArray(at))
    delete at[Number(last)]; // The others keep their places.
  else if (typeof at === 'object' && at !== null) delete (at as JsonObject)[last];
}

function member(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? value[key] : undefined;
}
