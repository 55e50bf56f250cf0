import type { Tasks } from '../engine/index.ts';
import type { ServingParts } from './parts.ts';

const leaving = new WeakSet<Tasks>();

/** This process stops serving: that connections break from now on does not mean that their clients cancel anything. */
export function leave(tasks: Tasks): void {
  leaving.add(tasks);
}

/** Whether requests break off because this process ends, or the connection they came on. */
export function isLeaving({ tasks, connection }: Pick<ServingParts, 'tasks' | 'connection'>): boolean {
  return leaving.has(tasks) || connection.over;
}
