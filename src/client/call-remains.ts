import type { TaskLogPage } from '../wire/task-log.ts';
import type { Changes } from './changes.ts';
import { CallLogUnavailableError, CallNotFoundError, CallOpenError } from './errors.ts';
import { type CallRecord, type Journal, taskIdOf } from './journal/journal.ts';
import { RemoteGoneError, RemoteRefusedError } from './remote-errors.ts';
import type { ServerDesk } from './server-desk.ts';

export interface CallRemainsParts {
  journal: Journal;
  changes: Changes;
  desks: ReadonlyMap<string, ServerDesk>;
}

/** What a server keeps of the task of a call, during and after it: its log, and the task itself. */
export class CallRemains {
  readonly #parts: CallRemainsParts;

  constructor(parts: CallRemainsParts) {
    this.#parts = parts;
  }

  /** Whether the server has deleted it too. */
  async delete(callId: string): Promise<boolean> {
    const { journal, changes, desks } = this.#parts;
    const { state, server } = await this.#record(callId);
    if (state.phase !== 'ended') throw new CallOpenError(callId);
    const { taskId } = state;
    const remote = desks.get(server)?.remote;
    const deleted = taskId !== undefined && remote?.delete !== undefined;
    if (deleted) {
      await remote.delete?.(taskId).catch((error: unknown) => {
        if (!(error instanceof RemoteGoneError)) throw error; // It is not there any more: so much the better.
      });
    }
    await journal.delete(callId);
    changes.ofEnd(callId);
    return deleted;
  }

  async readLog(
    callId: string,
    cursor: number,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<TaskLogPage> {
    const { state, server } = await this.#record(callId);
    const taskId = taskIdOf({ state });
    if (taskId === undefined) {
      if (state.phase !== 'ended') return { lines: [], cursor }; // It may still become a task.
      throw new CallLogUnavailableError(callId, 'the call was answered without a task');
    }
    const desk = this.#parts.desks.get(server);
    if (desk === undefined) throw new CallLogUnavailableError(callId, `the server "${server}" is not connected`);
    const { log } = desk.remote;
    if (log === undefined) throw new CallLogUnavailableError(callId, `the server "${server}" tells none`);
    try {
      return await desk.ask(signal, (asking) => log(taskId, cursor, { signal: asking }));
    } catch (error) {
      if (!(error instanceof RemoteRefusedError) && !(error instanceof RemoteGoneError)) throw error;
      throw new CallLogUnavailableError(callId, 'the server does not have it, or not any more', { cause: error });
    }
  }

  /** Has its server tell that the task of a call has logged something; `undefined`: it does not, or there is no task (yet). */
  async watchLog(
    callId: string,
    onNews: () => void,
    onTold: (told: boolean) => void,
  ): Promise<(() => void) | undefined> {
    const { state, server } = await this.#record(callId);
    const taskId = taskIdOf({ state });
    if (taskId === undefined || state.phase === 'ended') return undefined;
    return this.#parts.desks.get(server)?.remote.watchLog?.(taskId, onNews, onTold);
  }

  async #record(callId: string): Promise<CallRecord> {
    const record = await this.#parts.journal.call(callId);
    if (record === undefined) throw new CallNotFoundError(callId);
    return record;
  }
}
