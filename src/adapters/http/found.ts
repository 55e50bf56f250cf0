import type { JsonValue } from '../../core/index.ts';
import type { HttpAnswer } from './answer.ts';
import { listOf } from './json-path.ts';
import type { FindSettings } from './settings.ts';
import type { Values } from './values.ts';

/** The member of a list that shows a job's key: that one, whatever else is in the list and in which order. */
export function foundIn(
  { json }: Pick<HttpAnswer, 'json'>,
  { items, match, how }: FindSettings,
  { key, uuid }: Values['job'],
): JsonValue | undefined {
  const keys = [key, uuid].filter((one) => one !== undefined);
  return listOf<JsonValue>(items(json)).find((item) => {
    const shown = match(item);
    if (typeof shown !== 'string') return false;
    return keys.some((one) => (how === 'includes' ? shown.includes(one) : shown === one));
  });
}
