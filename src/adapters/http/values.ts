import { isJsonObject, type JsonObject, type JsonValue, NonRetryableError } from '../../core/index.ts';
import { pathOf } from './json-path.ts';
import type { BodyTemplate, JobValue, Placed } from './options.ts';

/** What can be put into a request. */
export interface Values {
  input: JsonValue;
  /** What the service answered to the start, or what it shows of the job that was found. */
  answer?: JsonValue | undefined;
  job: Readonly<Record<JobValue, string | undefined>>;
}

/** A text, a number, or true or false; `undefined`: it is not there. */
export type Pick = (values: Values) => string | undefined;

/** A value that is needed is not there. */
export class MissingValueError extends NonRetryableError {}

export const JOB_VALUES: readonly JobValue[] = ['key', 'uuid', 'webhook'];

/** @throws {TypeError} naming `field` when it is nothing that can be put in. */
export function pickOf(text: string | Placed, field: string): Pick {
  if (typeof text === 'string') return () => text;
  if (!isJsonObject(text)) throw new TypeError(`httpTool: ${field} must be a text, { input: … } or { job: … }`);
  const placed = placedOf(text as JsonObject, field);
  if (placed === undefined) throw new TypeError(`httpTool: ${field} must be a text, { input: … } or { job: … }`);
  return (values) => textOf(placed(values), field);
}

/** @throws {NonRetryableError} when a value is there and no text, number, or true or false. */
export function textOf(value: JsonValue | undefined, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'object') {
    throw new NonRetryableError(`${field}: expected a text, a number, or true or false, got JSON of another kind`);
  }
  return String(value);
}

/** JSON with values put in. @throws {TypeError} naming `field` */
export function bodyOf(template: BodyTemplate, field: string): (values: Values) => JsonValue | undefined {
  if (Array.isArray(template)) {
    const members = template.map((member, at) => bodyOf(member, `${field}[${at}]`));
    return (values) => members.map((member) => member(values)).filter((member) => member !== undefined);
  }
  if (!isJsonObject(template)) return () => template;
  const names = Object.keys(template);
  if (names.length === 1 && names[0] === 'literal') return () => template.literal;
  const placed = placedOf(template, field);
  if (placed !== undefined) return placed;
  const members = names.map((name) => [name, bodyOf(template[name] as JsonValue, `${field}.${name}`)] as const);
  return (values) => {
    const entries = members.map(([name, member]) => [name, member(values)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject;
  };
}

/** `undefined`: it stands for no value. */
function placedOf(template: JsonObject, field: string): ((values: Values) => JsonValue | undefined) | undefined {
  const [name, ...others] = Object.keys(template);
  if (others.length > 0) return undefined;
  if (name === 'input' && typeof template.input === 'string') {
    const find = pathOf(template.input, `${field}.input`);
    return ({ input }) => find(input);
  }
  if (name === 'job' && typeof template.job === 'string') {
    const job = template.job as JobValue;
    if (!JOB_VALUES.includes(job)) {
      throw new TypeError(`httpTool: ${field}.job must be key, uuid or webhook, got ${JSON.stringify(job)}`);
    }
    return (values) => values.job[job];
  }
  return undefined;
}

/** Whether a template puts in this of the job. */
export function mentions(template: JsonValue | undefined, wanted: (job: string) => boolean): boolean {
  if (typeof template === 'string')
    return [...template.matchAll(/\{job\.(\w+)\}/g)].some(([, job = '']) => wanted(job));
  if (Array.isArray(template)) return template.some((member) => mentions(member, wanted));
  if (!isJsonObject(template)) return false;
  const names = Object.keys(template);
  if (names.length === 1 && names[0] === 'job' && typeof template.job === 'string') return wanted(template.job);
  return names.length === 1 && names[0] === 'literal'
    ? false
    : Object.values(template).some((member) => mentions(member as JsonValue, wanted));
}
