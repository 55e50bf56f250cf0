import type { Clock, Logger, RandomSource } from '../core/index.ts';
import { CallRun } from './call-run.ts';
import type { Changes } from './changes.ts';
import type { Parents } from './children/parents.ts';
import { Lanes } from './groups/lanes.ts';
import type { HeldCall, Journal } from './journal/journal.ts';
import type { PollLimits } from './poll-delay.ts';
import type { ServerDesk } from './server-desk.ts';

export interface FollowingParts {
  journal: Journal;
  changes: Changes;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  limits: PollLimits & { stuckAfterMs: number };
  giveUpMs: number;
  /** The tasks whose handlers make calls, where there are such. */
  parents: Parents | undefined;
}

/** The calls that this process follows. */
export class Following {
  readonly #parts: FollowingParts;
  readonly #runs = new Map<string, { run: CallRun; done: Promise<void> }>();
  readonly #lanes = new Lanes();
  readonly #atEnd = new Map<string, () => void>();

  constructor(parts: FollowingParts) {
    this.#parts = parts;
  }

  get(callId: string): CallRun | undefined {
    return this.#runs.get(callId)?.run;
  }

  /** The call that became a task of a server. */
  ofTask(server: string, taskId: string): CallRun | undefined {
    const isIt = ({ state, record }: CallRun): boolean =>
      record.server === server && state.phase === 'following' && state.task.taskId === taskId;
    return [...this.#runs.values()].find(({ run }) => isIt(run))?.run;
  }

  count(server: string): number {
    return [...this.#runs.values()].filter(({ run }) => run.record.server === server).length;
  }

  /** Calls to a server that it has not answered in any way. */
  unanswered(server: string): CallRun[] {
    const runs = [...this.#runs.values()].map(({ run }) => run);
    return runs.filter(({ record, state }) => record.server === server && state.phase === 'sent');
  }

  begin(desk: ServerDesk, held: HeldCall, { fresh }: { fresh: boolean }): void {
    const { changes, logger, parents, ...parts } = this.#parts;
    const { callId } = held.hold;
    const { parent } = held.record;
    this.get(callId)?.stop(); // One that lost its hold and has not noticed yet.
    const changed = (): void => {
      changes.ofCall(callId);
      if (parent !== undefined && run.asksAnew()) parents?.wake(parent);
    };
    const run = new CallRun({ ...parts, logger, desk, changed, lanes: this.#lanes }, held, fresh);
    const entry = { run, done: Promise.resolve() };
    this.#runs.set(callId, entry);
    if (parent !== undefined) parents?.began(callId, parent);
    entry.done = run.follow().then(
      () => this.#ended(callId, entry),
      (error: unknown) => {
        logger.error(
          { server: held.record.server, tool: held.record.tool, error },
          'a call cannot be followed any more',
        );
        this.#ended(callId, entry);
      },
    );
    changed();
  }

  /** Runs `cleanUp` when this process does not follow the call any more. */
  atEnd(callId: string, cleanUp: () => void): void {
    if (this.#runs.has(callId)) this.#atEnd.set(callId, cleanUp);
    else cleanUp();
  }

  /** Stops following, all calls or those of one server; the journal keeps them. */
  async stop(of: (run: CallRun) => boolean = () => true): Promise<void> {
    const stopping = [...this.#runs.values()].filter(({ run }) => of(run));
    for (const { run } of stopping) run.stop();
    await Promise.all(stopping.map(({ done }) => done));
  }

  #ended(callId: string, entry: { run: CallRun }): void {
    if (this.#runs.get(callId) === entry) {
      this.#runs.delete(callId);
      const { parent } = entry.run.record;
      if (parent !== undefined) {
        this.#parts.parents?.ended(callId);
        if (entry.run.hasEnded) this.#parts.parents?.wake(parent);
      }
      this.#atEnd.get(callId)?.();
      this.#atEnd.delete(callId);
    }
    this.#parts.changes.ofEnd(callId);
  }
}
