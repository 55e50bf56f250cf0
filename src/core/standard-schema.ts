import type { JsonObject } from './json.ts';

/**
 * The parts of Standard Schema (https://standardschema.dev) that Longcall needs: validation, and conversion to JSON
 * Schema. Zod 4.2 and ArkType implement both; declared here so that no validation library is a dependency of core.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly jsonSchema: {
      // Methods, not properties: libraries differ in how widely they type the target.
      input(options: { target: JsonSchemaTarget }): Record<string, unknown>;
      output(options: { target: JsonSchemaTarget }): Record<string, unknown>;
    };
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** Open at the end, as Standard Schema has it: libraries may know more targets. */
type JsonSchemaTarget = 'draft-2020-12' | 'draft-07' | 'openapi-3.0' | ({} & string);

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type OutputOf<Schema> = Schema extends StandardSchema<infer _Input, infer Output> ? Output : unknown;

/** True when `schema` can both validate and describe itself as JSON Schema. */
export function isStandardSchema(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard = (schema as Partial<StandardSchema>)['~standard'];
  return typeof standard?.validate === 'function' && typeof standard.jsonSchema?.input === 'function';
}

/** The JSON Schema of what `schema` accepts (`input`) or yields (`output`). */
export function toJsonSchema(schema: StandardSchema, side: 'input' | 'output'): JsonObject {
  return schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' }) as JsonObject;
}

/** `field: message` for each issue, in one line. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .map((issue) => {
      const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return path === '' ? issue.message : `${path}: ${issue.message}`;
    })
    .join(', ');
}
