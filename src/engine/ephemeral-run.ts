import { type JsonValue, TaskTimedOutError, type TerminalState } from '../core/index.ts';
import type { Definition } from './definition.ts';
import { EphemeralContext } from './ephemeral-context.ts';
import { completed, thrown } from './outcome.ts';

type Options = ConstructorParameters<typeof EphemeralContext>[0] & { maxResultBytes: number };

/** Runs a tool that is never a task. Its own limit of time holds all the same. */
export async function runEphemeral(definition: Definition, input: JsonValue, options: Options): Promise<TerminalState> {
  const { name, timeoutMs } = definition;
  const { clock, maxResultBytes } = options;
  const limit = new AbortController();
  const late = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true });
  });
  const context = new EphemeralContext({ ...options, signal: AbortSignal.any([options.signal, limit.signal]) });
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimer(timeoutMs, () => limit.abort(new TaskTimedOutError(timeoutMs)));
  try {
    return completed(await Promise.race([definition.run(input, context), late]), name, maxResultBytes);
  } catch (error) {
    return thrown(error);
  } finally {
    timer?.cancel();
  }
}
