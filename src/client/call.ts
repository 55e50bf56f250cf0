import { type Answer, type JsonObject, unreachable } from '../core/index.ts';
import type { TaskLogLine } from '../wire/task-log.ts';
import { type CallLogOptions, type CallUpdate, type LogSource, readCallLog, updatesWithLog } from './call-log.ts';
import type { CallEnd } from './call-state.ts';
import type { Changes } from './changes.ts';
import {
  CallCancelledError,
  CallDetachedError,
  CallExpiredError,
  CallFailedError,
  CallLostError,
  CallRefusedError,
  CallUnknownError,
} from './errors.ts';
import type { CallSnapshot } from './snapshot.ts';

/** What a handle asks of its client. */
export interface CallSource {
  changes: Changes;
  /** @throws {CallNotFoundError} when the journal does not hold the call any more. */
  look(callId: string): Promise<CallSnapshot>;
  cancel(callId: string): Promise<void>;
  answer(callId: string, key: string, answer: Answer): Promise<boolean>;
  acknowledge(callId: string): Promise<void>;
  /** @throws {CallOpenError} when the call is not over. */
  delete(callId: string): Promise<boolean>;
  log(callId: string): LogSource;
}

/**
 * One call of a tool, running or over. The call is in the journal and goes on whatever becomes of this object; another one is
 * made from its id by `client.call`.
 */
export class Call {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly #source: CallSource;
  readonly #detached = new AbortController();
  #state: CallSnapshot;

  /** @internal */
  constructor(source: CallSource, state: CallSnapshot) {
    this.#source = source;
    this.#state = state;
    this.id = state.id;
    this.server = state.server;
    this.tool = state.tool;
  }

  /** Where the call stood when it was looked at last: at first use, and after every update and result. */
  get state(): CallSnapshot {
    return this.#state;
  }

  /** Looks where the call stands now. */
  async refresh(): Promise<CallSnapshot> {
    this.#state = await this.#source.look(this.id);
    return this.#state;
  }

  /**
   * The tool's own result, also one with `isError: true`. May be asked for as often as wanted, also at one time.
   * @throws {CallFailedError} the call ended with an error of the protocol: `rpcCode`, `data`
   * @throws {CallRefusedError} the server refused it, nothing ran
   * @throws {CallCancelledError} it was cancelled, by this side or by the server
   * @throws {CallExpiredError} its time was over before a result was read
   * @throws {CallLostError} the server does not know the task any more
   * @throws {CallUnknownError} no answer was kept; whether the tool ran is not known
   * @throws {CallDetachedError} nobody waits here any more (`detach`, `timeoutMs`); the call goes on
   * @throws {ClientClosedError} the client was closed; the call is in the journal
   */
  async result(): Promise<JsonObject> {
    const end = await this.#source.changes.until(
      { callId: this.id },
      async () => (await this.refresh()).end,
      this.#detached.signal,
    );
    return resultOf(this.id, end);
  }

  /**
   * Where the call stands, now and after every change, its end included. Who reads slowly misses what was in between.
   * @param options `log`: each update also brings what the task has logged since the one before, where its server tells that
   * @throws {CallDetachedError} after `detach` or `timeoutMs`.
   */
  async *updates({ log = false }: { log?: boolean } = {}): AsyncGenerator<CallUpdate, void, undefined> {
    if (log) {
      for await (const { state, log: lines } of updatesWithLog(this.#source.log(this.id), this.#detached.signal)) {
        this.#state = state;
        yield { ...state, ...(lines.length > 0 && { log: lines }) };
      }
      return;
    }
    let told: string | undefined;
    for (;;) {
      const next = await this.#source.changes.until(
        { callId: this.id },
        async () => {
          const state = await this.refresh();
          const text = JSON.stringify(state);
          if (text === told) return undefined;
          told = text;
          return state;
        },
        this.#detached.signal,
      );
      yield next;
      if (next.end !== undefined) return;
    }
  }

  /**
   * Asks for the call to be cancelled; resolves once that is on disk. It is passed on to the server as soon as that can be
   * reached, also after a restart. A call that ended before stays as it ended.
   */
  cancel(): Promise<void> {
    return this.#source.cancel(this.id);
  }

  /**
   * Answers an open question (`state.questions`) by its key; resolves once the answer is on disk. It is sent as soon as the
   * server can be reached. False: the question has an answer already, or the call is over.
   * @throws {CallAnswerInvalidError} naming the field, when it does not fit the question; that is still open then
   */
  answer(key: string, answer: Answer): Promise<boolean> {
    return this.#source.answer(this.id, key, answer);
  }

  /** Nobody waits here any more: `result` and `updates` end with {@link CallDetachedError}. The call goes on. */
  detach(): void {
    this.#detached.abort(new CallDetachedError(this.id, 'detached'));
  }

  /** @internal */
  detachBecause(why: string): void {
    this.#detached.abort(new CallDetachedError(this.id, why));
  }

  /**
   * Deletes the call from the journal, with its end, and its task from the server where the protocol lets a client do that
   * (the first draft, companion tools) and the server is connected. True: the server has deleted it too; else it keeps what
   * it has until the task's time is over.
   * @throws {CallOpenError} when the call is not over: `cancel` it first.
   * @throws {RemoteUnreachableError} when the server should delete it and cannot be asked. Nothing was deleted then.
   */
  delete(): Promise<boolean> {
    return this.#source.delete(this.id);
  }

  /**
   * What the task has logged, line by line; with `follow`, until the call is over. Only of servers that tell logs, as those
   * made with this library do. Text in it is the tool's: data, never instructions.
   * @throws {CallLogUnavailableError} when there is none to read.
   */
  log(options: CallLogOptions = {}): AsyncGenerator<TaskLogLine, void, undefined> {
    return readCallLog(this.#source.log(this.id), options);
  }

  /** The end of this call was taken in: the inbox never tells of it again. Does nothing before there is one. */
  acknowledge(): Promise<void> {
    return this.#source.acknowledge(this.id);
  }
}

/** The result of a call that ended with one; else its error. */
export function resultOf(callId: string, end: CallEnd): JsonObject {
  switch (end.kind) {
    case 'completed':
      return end.result;
    case 'failed':
      throw new CallFailedError(callId, end.error);
    case 'refused':
      throw new CallRefusedError(callId, end.error);
    case 'cancelled':
      throw new CallCancelledError(callId, end.reason);
    case 'expired':
      throw new CallExpiredError(end.message, callId);
    case 'lost':
      throw new CallLostError(end.message, callId);
    case 'unknown':
      throw new CallUnknownError(end.message, callId);
    default:
      return unreachable(end);
  }
}
