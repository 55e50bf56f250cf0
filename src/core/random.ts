import { randomBytes } from 'node:crypto';

/** Randomness, injected so that a simulation can be replayed from its seed. */
export interface RandomSource {
  bytes(size: number): Uint8Array;
}

export const systemRandom: RandomSource = { bytes: (size) => randomBytes(size) };

export type TaskId = string;

/**
 * A new task id: 144 random bits in URL-, header- and shell-safe letters. Without authentication the id is all that
 * guards a task, so nothing in it may be guessed: no time, no counter.
 * @see SEP-2663, "Security": ids with enough entropy to defeat guessing
 */
export function newTaskId(random: RandomSource): TaskId {
  return `tsk_${Buffer.from(random.bytes(18)).toString('base64url')}`;
}

/** A number in [0, 1). */
export function randomFraction(random: RandomSource): number {
  const bytes = random.bytes(4);
  return Buffer.from(bytes.buffer, bytes.byteOffset, 4).readUInt32BE(0) / 2 ** 32;
}

/** An id as it may be logged: enough to tell tasks apart, too little to use. */
export function shortId(taskId: string): string {
  return taskId.length <= 10 ? taskId : `${taskId.slice(0, 10)}…`;
}
