import { type Clock, isTerminalStatus, type Logger, type TaskId } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import type { Journal } from '../journal/journal.ts';

export interface ParentsParts {
  tasks: Tasks;
  journal: Journal;
  clock: Clock;
  logger: Logger;
  cancel: (callId: string) => Promise<void>;
}

/** A parent that was just being put away when it was woken is woken once more. */
const AGAIN_MS = 1_000;
const PAGE = 200;

/** The tasks whose handlers made calls: their end ends the calls, and what becomes of the calls wakes them. */
export class Parents {
  readonly #parts: ParentsParts;
  readonly #watches = new Map<string, () => void>();

  constructor(parts: ParentsParts) {
    this.#parts = parts;
  }

  /** A call that a handler made is followed in this process. */
  began(callId: string, parent: TaskId): void {
    this.ended(callId);
    let looking = false;
    let news = true;
    const look = async (): Promise<void> => {
      news = true;
      if (looking) return;
      looking = true;
      try {
        while (news) {
          news = false;
          await this.#look(callId, parent);
        }
      } catch (error) {
        this.#parts.logger.error({ error }, 'the task that a call was made for could not be looked after');
      } finally {
        looking = false;
      }
    };
    this.#watches.set(
      callId,
      this.#parts.tasks.engine.watch(parent, () => void look()),
    );
    void look();
  }

  /** It is over, or not followed here any more. */
  ended(callId: string): void {
    this.#watches.get(callId)?.();
    this.#watches.delete(callId);
  }

  /** Something became of a call that its parent may wait for. */
  wake(parent: TaskId): void {
    const { tasks, clock, logger } = this.#parts;
    const wake = (): void => {
      tasks.engine.wake(parent).catch((error: unknown) => logger.debug({ error }, 'a task could not be woken'));
    };
    wake();
    clock.setTimer(AGAIN_MS, wake);
  }

  /**
   * Takes in ends for parents that are over and cannot any more: their process died in that moment, or they did not wait. Else they
   * would be kept for ever.
   */
  async takeInLeftOvers(): Promise<void> {
    const { tasks, journal } = this.#parts;
    let after = 0;
    for (;;) {
      const ends = await journal.unreadOfTasks(after, PAGE);
      for (const { callId, parent } of ends) {
        const status = await tasks.engine.statusOf(parent);
        if (status === undefined || isTerminalStatus(status)) await journal.acknowledge(callId);
      }
      const last = ends.at(-1);
      if (last === undefined || ends.length < PAGE) return;
      after = last.seq;
    }
  }

  stop(): void {
    for (const callId of [...this.#watches.keys()]) this.ended(callId);
  }

  /** A parent that completed has no use for the call, and may have meant it to go on. */
  async #look(callId: string, parent: TaskId): Promise<void> {
    const status = await this.#parts.tasks.engine.statusOf(parent);
    if (!this.#watches.has(callId)) return;
    if (status !== undefined && !isTerminalStatus(status)) return;
    this.ended(callId);
    if (status !== 'completed') await this.#parts.cancel(callId);
  }
}
