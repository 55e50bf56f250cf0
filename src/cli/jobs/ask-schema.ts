import { readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../core/index.ts';
import { CliError } from '../errors.ts';
import { objectOf } from '../parse.ts';

export interface AskSchemaOptions {
  schema?: string;
  schemaFile?: string;
  field?: string[];
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean']);

/**
 * The form that a question has. Undefined: a plain confirmation.
 * @throws {CliError} naming the option that makes no sense
 */
export function askSchema({ schema, schemaFile, field = [] }: AskSchemaOptions): JsonObject | undefined {
  const given = [schema !== undefined, schemaFile !== undefined, field.length > 0].filter((one) => one).length;
  if (given > 1) throw new CliError('give --schema, --schema-file or --field: one of them');
  if (schema !== undefined) return objectOf(schema, '--schema');
  if (schemaFile !== undefined) return objectOf(readText(schemaFile), `--schema-file ${schemaFile}`);
  return field.length === 0 ? undefined : fieldsSchema(field);
}

/** `name`, `name:integer`, `name:red,green` and, for what may be left out, `name?`. */
function fieldsSchema(fields: readonly string[]): JsonObject {
  const properties = new Map<string, JsonValue>();
  const required: string[] = [];
  for (const text of fields) {
    const [, name, optional, type = 'string'] = /^([^:?]+)(\?)?(?::(.+))?$/s.exec(text) ?? [];
    const schema = schemaOf(type);
    if (name === undefined || schema === undefined) {
      throw new CliError(
        `--field: expected NAME, NAME:${[...TYPES].join('|')} or NAME:one,other, NAME? if it may be left out, got ${JSON.stringify(text)}`,
      );
    }
    if (properties.has(name)) throw new CliError(`--field ${name}: given twice`);
    properties.set(name, schema);
    if (optional === undefined) required.push(name);
  }
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
}

function schemaOf(type: string): JsonObject | undefined {
  if (TYPES.has(type)) return { type };
  const choices = type.split(',');
  const some = choices.length > 1 && choices.every((choice) => choice !== '');
  return some ? { type: 'string', enum: choices } : undefined;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`--schema-file ${file}: ${(error as Error).message}`);
  }
}
