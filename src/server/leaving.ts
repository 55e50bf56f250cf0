import type { Tasks } from '../engine/index.ts';

const leaving = new WeakSet<Tasks>();

/** This process stops serving: that connections break from now on does not mean that their clients cancel anything. */
export function leave(tasks: Tasks): void {
  leaving.add(tasks);
}

export function isLeaving(tasks: Tasks): boolean {
  return leaving.has(tasks);
}
