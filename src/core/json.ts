/** Any value JSON can carry. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** True for a plain JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Serialises a value that must survive a round trip through the store.
 *
 * Properties that are `undefined` are dropped, as JSON does; anything else JSON would change silently (dates, maps,
 * class instances, functions, bigints, NaN, cycles) is refused, since a handler that is run again would see another
 * value than it saw the first time.
 * @throws {TypeError} naming `what` and the path of the offending value.
 */
export function encodeJson(value: unknown, what: string): string {
  const problem = jsonProblem(value, '', new Set());
  if (problem !== undefined) throw new TypeError(`${what}: ${problem}; only JSON values can be recorded`);
  return JSON.stringify(value);
}

function jsonProblem(value: unknown, path: string, ancestors: Set<object>): string | undefined {
  const at = path === '' ? 'the value' : `"${path}"`;
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${at} is ${value}`;
    case 'undefined':
    case 'function':
    case 'symbol':
    case 'bigint':
      return `${at} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`;
    case 'object':
      return value === null ? undefined : containerProblem(value, path, at, ancestors);
  }
}

function containerProblem(value: object, path: string, at: string, ancestors: Set<object>): string | undefined {
  if (ancestors.has(value)) return `${at} contains itself`;
  ancestors.add(value);
  const problem = Array.isArray(value)
    ? arrayProblem(value, path, ancestors)
    : objectProblem(value, path, at, ancestors);
  ancestors.delete(value);
  return problem;
}

function arrayProblem(value: unknown[], path: string, ancestors: Set<object>): string | undefined {
  for (const [index, item] of value.entries()) {
    const problem = jsonProblem(item, `${path}[${index}]`, ancestors);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function objectProblem(value: object, path: string, at: string, ancestors: Set<object>): string | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return `${at} is a ${prototype.constructor?.name ?? 'class instance'}`;
  }
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const problem = jsonProblem(item, path === '' ? key : `${path}.${key}`, ancestors);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** JSON text with sorted keys: equal for values that mean the same, whatever order their members were written in. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
  return `{${members.join(',')}}`;
}
