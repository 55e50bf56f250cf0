import type { TaskRecord } from '../core/index.ts';
import type { ServingParts } from './parts.ts';

/** The task under the name by which its caller knows the tool. */
export function shownTask(record: TaskRecord, { shownAs }: Pick<ServingParts, 'shownAs'>): TaskRecord {
  const name = shownAs(record.name) ?? record.name;
  return name === record.name ? record : { ...record, name };
}
