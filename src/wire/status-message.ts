import { isTerminal, type TaskProgress, type TaskRecord } from '../core/index.ts';

/** Progress has no field of its own, so the message carries it; an ended task says how it ended. */
export function statusMessageOf({ state, statusMessage, progress }: TaskRecord): string | undefined {
  if (state.status === 'failed') return state.error.message;
  if (state.status === 'cancelled') return state.reason;
  if (isTerminal(state)) return undefined;
  return statusMessage ?? (progress === undefined ? undefined : progressText(progress));
}

/** `45/100 name`, `45 name`, `45/100`. A message that counts by itself, as `44 passed, 1 failed`, says it without an end to come. */
export function progressText({ progress, total, message = '' }: TaskProgress): string {
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  if (message === '') return count;
  return total === undefined && /^\d/.test(message) ? message : `${count} ${message}`;
}

export function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
