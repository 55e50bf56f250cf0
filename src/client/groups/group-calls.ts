import type { RandomSource } from '../../core/index.ts';
import { Call } from '../call.ts';
import type { Changes } from '../changes.ts';
import { type CallOptions, type ConnectedServer, letters, type ToolCall } from '../connected-server.ts';
import { CallNotFoundError } from '../errors.ts';
import type { CallRecord, HeldCall, Journal, NewCall } from '../journal/journal.ts';
import { CallGroup } from './group.ts';

/** A call of several. */
export interface GroupedCall extends ToolCall, Pick<CallOptions, 'ttlMs' | 'idempotencyKey'> {
  /** The server, or the name it is connected under. */
  server: ConnectedServer | string;
}

export interface GroupOptions extends Pick<CallOptions, 'timeoutMs' | 'signal' | 'onAbort'> {
  /** How many of the calls may be under way at once; `Infinity`: all. @default 16; for `race`: all */
  concurrency?: number;
}

export interface GroupCallsParts {
  journal: Journal;
  changes: Changes;
  servers: ReadonlyMap<string, ConnectedServer>;
  random: RandomSource;
  handle: (record: CallRecord) => Call;
}

const DEFAULT_CONCURRENCY = 16;

/** Makes calls together, and finds those that were. */
export class GroupCalls {
  readonly #parts: GroupCallsParts;

  constructor(parts: GroupCallsParts) {
    this.#parts = parts;
  }

  async make(calls: Iterable<GroupedCall>, options: GroupOptions): Promise<CallGroup> {
    const { random, journal, changes } = this.#parts;
    const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
    if (concurrency !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(concurrency) && concurrency > 0))
      throw new TypeError(`concurrency: a whole number, at least 1, or Infinity, got ${concurrency}`);
    const limit = concurrency === Number.POSITIVE_INFINITY ? {} : { limit: concurrency };
    const group = { id: `group_${letters(random)}`, ...limit };
    const made = [...calls].map((call, index) => this.#intent(call, index, options, group));
    signal?.throwIfAborted();
    const held = await journal.intendAll(made.map(({ intent }) => intent));
    const begun = made.map(({ server, own }, index) => server.begin(held[index] as HeldCall, own));
    return new CallGroup(changes, group.id, await Promise.all(begun));
  }

  async made(groupId: string): Promise<CallGroup> {
    const { journal, changes, handle } = this.#parts;
    const records = await journal.group(groupId);
    if (records.length === 0) throw new CallNotFoundError(groupId);
    return new CallGroup(changes, groupId, records.map(handle));
  }

  /** Calls to be made and calls made before, in the order given. */
  async together(calls: Iterable<Call | GroupedCall>, options: GroupOptions): Promise<CallGroup> {
    const wanted = [...calls];
    const fresh = wanted.filter((one): one is GroupedCall => !(one instanceof Call));
    const group = fresh.length === 0 ? undefined : await this.make(fresh, options);
    if (group !== undefined && fresh.length === wanted.length) return group;
    const made = group === undefined ? [] : [...group.calls];
    const together = wanted.map((one) => (one instanceof Call ? one : (made.shift() as Call)));
    return new CallGroup(this.#parts.changes, undefined, together);
  }

  #intent(
    { server: wanted, name, arguments: args, ...rest }: GroupedCall,
    index: number,
    { signal, timeoutMs, onAbort }: GroupOptions,
    group: NonNullable<NewCall['group']>,
  ) {
    const server = typeof wanted === 'string' ? this.#parts.servers.get(wanted) : wanted;
    if (server === undefined) throw new TypeError(`calls[${index}].server: ${JSON.stringify(wanted)} is not connected`);
    const own: CallOptions = {
      ...rest,
      ...(signal !== undefined && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(onAbort !== undefined && { onAbort }),
    };
    try {
      const intent = server.intent({ name, ...(args !== undefined && { arguments: args }) }, own, group);
      return { server, intent, own };
    } catch (error) {
      if (error instanceof TypeError) error.message = `calls[${index}].${error.message}`;
      throw error;
    }
  }
}
