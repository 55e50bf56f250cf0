import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';

/** The official schemas, as published; `schemas/` holds them unchanged. */
export type SchemaFile =
  | 'core-2025-11-25'
  | 'core-2026-07-28'
  | 'ext-tasks-2026-07-28'
  | 'ext-tasks-draft'
  | 'g1-core-draft-2025-10-31';
export type SchemaProblem = { path: string; reason: string };

const options = { strict: false, allErrors: true, formats: fullFormats };
const ajv2020 = new Ajv2020(options);
/** The first draft was written in an older JSON Schema than all that came later. */
const ajv7 = new Ajv(options);
const compiled = new Map<string, ValidateFunction>();

/** What is wrong with `value` by the definition `def` of that file; empty when nothing is. Throws if there is no such definition. */
export function schemaProblems(file: SchemaFile, def: string, value: unknown): SchemaProblem[] {
  const validate = validator(file, def);
  return validate(value) ? [] : problemsOf(validate.errors ?? []);
}

function validator(file: SchemaFile, def: string): ValidateFunction {
  const old = file === 'g1-core-draft-2025-10-31';
  const ajv = old ? ajv7 : ajv2020;
  const ref = `${file}#/${old ? 'definitions' : '$defs'}/${def}`;
  let validate = compiled.get(ref);
  if (!validate) {
    if (!ajv.getSchema(file)) {
      const path = join(import.meta.dirname, 'schemas', `${file}.schema.json`);
      // Their own `$id`s, where they have one, would have to be spelt out in each reference.
      ajv.addSchema({ ...patched(JSON.parse(readFileSync(path, 'utf8'))), $id: file });
    }
    validate = ajv.compile({ $ref: ref });
    compiled.set(ref, validate);
  }
  return validate;
}

type Definitions = Record<string, { properties?: Record<string, { type?: unknown }> }>;

/** The text of the first draft has null for unlimited, its schema forgot; the text counts. */
function patched(schema: { definitions?: Definitions }): object {
  for (const { properties } of Object.values(schema.definitions ?? {})) {
    if (properties?.['keepAlive'] !== undefined) properties['keepAlive'].type = ['integer', 'null'];
  }
  return schema;
}

/** Of a union, Ajv reports what is wrong with every branch: "must match a schema in anyOf" and a few leaves are enough. */
function problemsOf(errors: readonly ErrorObject[]): SchemaProblem[] {
  const seen = new Map<string, SchemaProblem>();
  for (const { instancePath, message, params } of errors) {
    const detail = 'allowedValue' in params ? ` ${JSON.stringify(params['allowedValue'])}` : '';
    const problem = { path: instancePath, reason: `${message ?? 'is invalid'}${detail}` };
    seen.set(`${problem.path} ${problem.reason}`, problem);
  }
  return [...seen.values()].slice(0, 8);
}
