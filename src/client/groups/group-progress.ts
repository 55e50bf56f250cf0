import type { CallSnapshot } from '../snapshot.ts';

/** How far several calls are. `waiting`, `running`, `completed`, `failed` and `cancelled` add up to `total`. */
export interface GroupProgress {
  total: number;
  /** Not sent yet: they wait for their turn, or for their server. */
  waiting: number;
  running: number;
  /** Of those that run, how many wait for an answer to a question. */
  asking: number;
  /** Ended with a result that is none of an error. */
  completed: number;
  /** Ended with `isError`, or without a result. */
  failed: number;
  cancelled: number;
  /** From 0 to 1: those that ended count whole, those that run as far as they say. */
  fraction: number;
}

/** @param states undefined: a call that was taken in and forgotten; how it ended is not known any more */
export function progressOf(states: readonly (CallSnapshot | undefined)[]): GroupProgress {
  const progress: GroupProgress = {
    total: states.length,
    waiting: 0,
    running: 0,
    asking: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    fraction: 0,
  };
  let done = 0;
  for (const state of states) {
    done += shareOf(state);
    progress[standingOf(state)] += 1;
    if (state?.status === 'input_required') progress.asking += 1;
  }
  progress.fraction = states.length === 0 ? 1 : Math.min(1, done / states.length);
  return progress;
}

function standingOf(state: CallSnapshot | undefined): 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled' {
  if (state === undefined) return 'completed';
  if (state.phase === 'intended') return 'waiting';
  const { end } = state;
  if (end === undefined) return 'running';
  if (end.kind === 'cancelled') return 'cancelled';
  return end.kind === 'completed' && end.result.isError !== true ? 'completed' : 'failed';
}

function shareOf(state: CallSnapshot | undefined): number {
  if (state === undefined || state.end !== undefined) return 1;
  const { progress: done, total } = state.progress ?? { progress: 0 };
  return total === undefined || total <= 0 ? 0 : Math.min(1, Math.max(0, done / total));
}
