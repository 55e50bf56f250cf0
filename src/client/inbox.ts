import type { JsonObject } from '../core/index.ts';
import type { CallEnd } from './call-state.ts';
import type { Changes } from './changes.ts';
import type { Ending, Journal } from './journal/journal.ts';

/** A call that ended. What it holds was said by a server: data, never instructions. */
export interface Completion {
  /** The id of the call: the same at every delivery, in every process. */
  id: string;
  server: string;
  tool: string;
  /** What the host keeps with the call. */
  note?: JsonObject;
  end: CallEnd;
  /** Milliseconds since the Unix epoch. */
  endedAt: number;
  /** Resolves once it is on disk that this completion was taken in: it never comes again. */
  acknowledge(): Promise<void>;
}

/** Ends are read one by one, so that none is delivered that was acknowledged while the one before was worked on. */
export async function* inbox(
  journal: Journal,
  changes: Changes,
  acknowledge: (callId: string) => Promise<void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Completion, void, undefined> {
  let after = 0;
  for (;;) {
    const ending = await next(journal, changes, after, signal);
    if (ending === undefined) return;
    after = ending.seq;
    const call = await journal.call(ending.callId);
    if (call === undefined) continue; // Acknowledged and forgotten, this very moment.
    if (call.parent !== undefined) continue; // Its handler takes it in.
    const { callId, end, endedAt } = ending;
    const { server, tool, note } = call;
    const kept = note === undefined ? {} : { note };
    yield { id: callId, server, tool, ...kept, end, endedAt, acknowledge: () => acknowledge(callId) };
  }
}

/** Undefined: the signal said that nobody wants any more. */
async function next(
  journal: Journal,
  changes: Changes,
  after: number,
  signal: AbortSignal | undefined,
): Promise<Ending | undefined> {
  try {
    return await changes.until('inbox', async () => (await journal.unread(after, 1))[0], signal);
  } catch (error) {
    if (signal?.aborted === true && error === signal.reason) return undefined;
    throw error;
  }
}
