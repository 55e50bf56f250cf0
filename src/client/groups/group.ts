import type { JsonObject } from '../../core/index.ts';
import { type Call, resultOf } from '../call.ts';
import type { CallEnd } from '../call-state.ts';
import type { Changes } from '../changes.ts';
import { CallNotFoundError } from '../errors.ts';
import type { CallSnapshot } from '../snapshot.ts';
import { type GroupProgress, progressOf } from './group-progress.ts';

/** A call of a group that has ended, and how. */
export interface GroupEnd {
  call: Call;
  /** Its place in the group, from 0. */
  index: number;
  end: CallEnd;
}

export interface ResultsOptions {
  /** Cancel what still runs as soon as one call ends without a result. @default false: the others go on */
  cancelRest?: boolean;
}

const forgotten: CallEnd = { kind: 'lost', message: 'it was acknowledged and forgotten' };

/**
 * Calls that are looked at together. Each is in the journal by itself; calls that `client.callAll` made are found again after a
 * restart by the `id` of their group.
 */
export class CallGroup {
  /** Undefined: calls that were put together, and not made together. */
  readonly id: string | undefined;
  /** In the order in which they were asked for. */
  readonly calls: readonly Call[];
  readonly #changes: Changes;

  /** @internal */
  constructor(changes: Changes, id: string | undefined, calls: readonly Call[]) {
    this.#changes = changes;
    this.id = id;
    this.calls = calls;
  }

  /** How far they are, all together, now. */
  async progress(): Promise<GroupProgress> {
    const states = await Promise.all(this.calls.map((call) => stateOf(call)));
    return progressOf(states);
  }

  /** How far they are, now and after every change, until all have ended. Who reads slowly misses what was in between. */
  async *updates({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<GroupProgress, void, undefined> {
    const states = new Map<string, CallSnapshot | undefined>();
    let told: string | undefined;
    for await (const changed of this.#changed(signal)) {
      for (const call of changed) states.set(call.id, await stateOf(call));
      const progress = progressOf(this.calls.map(({ id }) => states.get(id)));
      const text = JSON.stringify(progress);
      if (text !== told) yield progress;
      told = text;
      if (progress.waiting + progress.running === 0) return;
    }
  }

  /** Each call as it ends, in the order in which they end. */
  async *ends({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<GroupEnd, void, undefined> {
    const left = new Map(this.calls.map((call, index) => [call.id, { call, index }]));
    if (left.size === 0) return;
    for await (const changed of this.#changed(signal)) {
      for (const { id } of changed) {
        const open = left.get(id);
        if (open === undefined) continue;
        const state = await stateOf(open.call);
        const end = state === undefined ? forgotten : state.end;
        if (end === undefined) continue;
        left.delete(id);
        yield { ...open, end };
      }
      if (left.size === 0) return;
    }
  }

  /** How each ended, in the order in which they were asked for, once all have. Never rejects for the end of a call. */
  async settled(): Promise<CallEnd[]> {
    const ends: CallEnd[] = [];
    for await (const { index, end } of this.ends()) ends[index] = end;
    return ends;
  }

  /**
   * Their results, in the order in which they were asked for, also those with `isError`.
   * @throws the error of the first call that ends without one; the others go on, unless `cancelRest`.
   */
  async results({ cancelRest = false }: ResultsOptions = {}): Promise<JsonObject[]> {
    const results: JsonObject[] = [];
    for await (const { call, index, end } of this.ends()) {
      if (end.kind !== 'completed' && cancelRest) await this.cancel();
      results[index] = resultOf(call.id, end);
    }
    return results;
  }

  /** Asks for all of them to be cancelled; resolves once that is on disk. Those that ended stay as they ended. */
  async cancel(): Promise<void> {
    await Promise.all(this.calls.map((call) => call.cancel()));
  }

  /** Those that have ended were taken in: the inbox never tells of them again. */
  async acknowledge(): Promise<void> {
    await Promise.all(this.calls.map((call) => call.acknowledge()));
  }

  /** Calls that may have changed, each at least once. Ends with the signal. */
  async *#changed(signal: AbortSignal | undefined): AsyncGenerator<Call[], void, undefined> {
    const byId = new Map(this.calls.map((call) => [call.id, call]));
    for await (const ids of this.#changes.ofCalls(byId.keys(), signal)) {
      yield ids.flatMap((id) => byId.get(id) ?? []);
    }
  }
}

/** `undefined`: it is not in the journal any more. */
async function stateOf(call: Call): Promise<CallSnapshot | undefined> {
  try {
    return await call.refresh();
  } catch (error) {
    if (error instanceof CallNotFoundError) return undefined;
    throw error;
  }
}
