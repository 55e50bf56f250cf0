import { InvalidArgumentError } from 'commander';
import { isJsonObject, type JsonObject, TASK_STATUSES, type TaskStatus } from '../core/index.ts';
import { CliError } from './errors.ts';

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `30m`, `2h`, `7d` before now, or a date; milliseconds since the Unix epoch. */
export function since(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * (UNITS[unit] ?? 0);
  const at = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError('Give an age (30m, 2h, 7d) or a date (2026-01-31, with or without time).');
  return at;
}

/** One status, or several with commas between them; `open` stands for those that are not over. */
export function statuses(text: string): TaskStatus[] {
  return text.split(',').flatMap((word): TaskStatus[] => {
    if (word === 'open') return ['working', 'input_required'];
    const status = TASK_STATUSES.find((known) => known === word);
    if (status === undefined) {
      throw new InvalidArgumentError(`Choose from open, ${TASK_STATUSES.join(', ')}; several with commas.`);
    }
    return [status];
  });
}

export function count(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
    throw new InvalidArgumentError(`Give a whole number from 1 to ${most}.`);
  };
}

/** `500ms`, `30s`, `5m`, `2h`, `7d`, in milliseconds, however long. */
export function duration(text: string): number {
  const ms = millisecondsOf(text);
  if (Number.isSafeInteger(ms) && ms >= 1) return ms;
  throw new InvalidArgumentError('expected a time, such as 30s, 5m or 2h');
}

function millisecondsOf(text: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

/** The same of what a timer waits for. */
export function time(text: string): number {
  const ms = millisecondsOf(text);
  if (ms >= 1 && ms <= 2_147_483_647) return ms;
  throw new InvalidArgumentError('Give a time: 500ms, 30s, 5m, 2h, at most 24d.');
}

/** Collects the values of an option that may be given more than once. */
export function several(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A JSON object. @param where as errors name it @throws {CliError} */
export function objectOf(text: string, where: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (!isJsonObject(value)) throw new CliError(`${where}: expected a JSON object`);
  return value;
}
