import { errorKind, type JsonValue, retryReadDelayMs } from '../../core/index.ts';
import type { JobState } from './job-state.ts';
import type { OneStart } from './one-start.ts';

/** After so many looks in a row that failed, pollers are told. */
const TELL_AFTER_FAILURES = 3;

/** Notes that a job could not be asked. @returns milliseconds until it is tried again */
export async function troubled(
  { task, support, options, name }: OneStart<unknown, JsonValue>,
  state: JobState,
  error: unknown,
): Promise<number> {
  const failures = state.now.failures + 1;
  const where = options.origin ?? name;
  if (failures === 1) task.log(`${where} could not be asked (${errorKind(error)}); trying again`, 'warning');
  const tells = options.tells !== false && failures >= TELL_AFTER_FAILURES;
  if (tells) support.say(`${where} cannot be reached; trying again`);
  await state.keep({ failures, said: tells || state.now.said });
  return retryReadDelayMs(failures, (error as { retryAfterMs?: unknown } | null)?.retryAfterMs, support.random);
}

/** It can be asked again. @param message what it says now */
export async function recovered(
  { task, support, options, name }: OneStart<unknown, JsonValue>,
  state: JobState,
  message = 'working',
): Promise<void> {
  if (state.now.failures === 0) return;
  task.log(`${options.origin ?? name} can be asked again`, 'info');
  if (state.now.said) support.say(message);
  await state.keep({ failures: 0, said: false });
}
