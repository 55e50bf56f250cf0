import {
  isTerminal,
  type Principal,
  StoreClosedError,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';

/** Nobody is told more often that a log has grown, unless he is served otherwise. */
const EVERY_MS = 1_000;
/** After a look that was in vain the next one waits as long: other processes only say that something has changed. */
const VAIN_MS = 250;
/** After this long a log that could not be looked at is looked at again. */
const RETRY_MS = 1_000;

/** Of a task or its log, for one subscriber. */
export interface News {
  taskId: TaskId;
  principal: Principal;
  /** Resolves when another message would be read soon. */
  room(): Promise<void>;
  tell(): void | Promise<void>;
  /** This often at most, in milliseconds, where it is about a log. @default 1000 */
  everyMs?: number | undefined;
  /** Aborted: nobody listens any more. */
  signal: AbortSignal;
}

/**
 * Tells that the log of a task has grown: at first if there is anything in it, then at most once a second, and for the last time when
 * the task is over. Nothing is kept of it but where it ended. Never rejects.
 */
export async function tellOfLog({ engine, logger }: Tasks, news: News): Promise<void> {
  const { taskId, principal, signal, everyMs = EVERY_MS } = news;
  const bell = new Bell();
  const unwatch = engine.watchLog(taskId, bell.ring);
  signal.addEventListener('abort', bell.ring, { once: true });
  const pause = async (ms: number): Promise<void> => {
    const rest = new Bell();
    const timer = engine.clock.setTimer(ms, rest.ring);
    signal.addEventListener('abort', rest.ring, { once: true });
    if (!signal.aborted) await rest.rung();
    timer.cancel();
    signal.removeEventListener('abort', rest.ring);
  };
  let told = 0;
  const look = async (): Promise<'told' | 'nothing new' | 'over'> => {
    await news.room();
    if (signal.aborted) return 'over';
    const { state } = await engine.get(taskId, principal); // Before its log: nothing follows the end.
    const end = await engine.logEnd(taskId, principal);
    if (signal.aborted) return 'over';
    if (end > told) await news.tell();
    const isNew = end > told;
    told = end;
    if (isTerminal(state)) return 'over';
    return isNew ? 'told' : 'nothing new';
  };
  try {
    while (!signal.aborted) {
      try {
        const found = await look();
        if (found === 'over') return;
        await pause(found === 'told' ? everyMs : Math.min(everyMs, VAIN_MS));
        if (!signal.aborted) await bell.rung();
      } catch (error) {
        if (error instanceof TaskNotFoundError || error instanceof StoreClosedError || signal.aborted) return;
        logger.warn({ error }, 'a subscriber could not be told about the log of its task yet');
        await pause(RETRY_MS);
      }
    }
  } finally {
    unwatch();
    signal.removeEventListener('abort', bell.ring);
  }
}

/** Tells how a task stands at first, and that it has changed, until it is over. Never rejects. */
export async function tellOfTask(
  { engine, logger }: Tasks,
  { taskId, principal, room, tell, signal }: News,
): Promise<void> {
  let told = 0;
  let latest = 0;
  let telling = Promise.resolve();
  const onChange = ({ updatedAt }: TaskRecord): void => {
    latest = updatedAt;
    telling = telling.then(async () => {
      if (signal.aborted || told >= latest) return; // What changed meanwhile was told as one change.
      await room();
      told = latest;
      if (!signal.aborted) await tell();
    });
    telling.catch(() => {}); // Thrown below.
  };
  try {
    await engine.wait(taskId, principal, { signal, onChange });
    await telling;
  } catch (error) {
    if (!signal.aborted) logger.debug({ error }, 'a subscriber could not be told about its task');
  }
}

/** Rung once or more, it wakes whoever waits for it once. */
class Bell {
  #isRung = false;
  #wake: () => void = () => {};

  readonly ring = (): void => {
    this.#isRung = true;
    this.#wake();
  };

  async rung(): Promise<void> {
    if (!this.#isRung) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isRung = false;
  }
}
