import { compile } from 'json-p3';
import type { JsonValue } from '../../core/index.ts';
import type { JsonPath } from './options.ts';

/** The first value that a path finds; `undefined`: none. */
export type Find = (value: JsonValue | undefined) => JsonValue | undefined;

/** @throws {TypeError} naming `field` when it is no path. */
export function pathOf(path: JsonPath, field: string): Find {
  if (typeof path !== 'string' || path === '') {
    throw new TypeError(`httpTool: ${field} must be a JSON path such as $.status, or the name of a member`);
  }
  if (!path.startsWith('$')) return (value) => memberOf(value, path);
  const query = (() => {
    try {
      return compile(path);
    } catch (error) {
      throw new TypeError(`httpTool: ${field} must be a JSON path (RFC 9535): ${(error as Error).message}`);
    }
  })();
  return (value) => {
    if (value === undefined) return undefined;
    for (const node of query.lazyQuery(value)) return node.value as JsonValue;
    return undefined;
  };
}

/** The first that any of several paths finds. Null counts as nothing. */
export function firstOf(paths: JsonPath | readonly JsonPath[] | undefined, field: string): Find {
  const finds = listOf(paths).map((path, at) => pathOf(path, Array.isArray(paths) ? `${field}[${at}]` : field));
  return (value) => {
    for (const find of finds) {
      const found = find(value);
      if (found !== undefined && found !== null) return found;
    }
    return undefined;
  };
}

export function listOf<Item>(items: Item | readonly Item[] | undefined): readonly Item[] {
  if (items === undefined) return [];
  return Array.isArray(items) ? items : [items as Item];
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
