import { isJsonObject, type JsonObject, randomFraction } from '../../core/index.ts';
import { decodeTask, encodeListen } from '../../wire/rev2026-07-28/client.ts';
import { encodeCancelRequest, grantedBy, subscriptionOf } from '../../wire/rev2026-07-28/index.ts';
import type { Asking, Connection } from '../connection.ts';
import type { RemoteTask } from '../remote.ts';
import { RemoteUnreachableError } from '../remote-errors.ts';
import type { Speaking } from './dialect.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Names under which servers push the state of a task: the text's, and that of an SDK which kept the earlier one. */
const PUSHES: ReadonlySet<unknown> = new Set(['notifications/tasks', 'notifications/tasks/status']);

export interface Subscriber {
  taskIds: readonly string[];
  onTask: (task: RemoteTask) => void;
  onPushed: (taskIds: ReadonlySet<string>) => void;
}

/**
 * Listens for changes of tasks, and again whenever the stream ends before its time, with pauses that grow until one brings
 * something. A push is read as the answer to a poll would be, and what makes no sense is left to the next poll.
 * @returns ends it
 * @see 2026-07-28 subscriptions; ext-tasks 2026-07-28, "Status Notifications"
 */
export function subscribe(
  { taskIds, onTask, onPushed }: Subscriber,
  { connection, clock, random, logger }: Speaking,
  request: (params: JsonObject, asking: Asking) => Promise<JsonObject>,
): () => void {
  const stopped = new AbortController();
  const wanted = new Set(taskIds);
  let pauseMs = FIRST_PAUSE_MS;
  let id = connection.nextId();
  /** The server pushes: what ends the stream then is no refusal. */
  let isGranted = false;

  const unlisten = connection.listen((message) => {
    if (subscriptionOf(message) !== id || !('method' in message)) return false;
    const granted = grantedBy(message);
    if (granted !== undefined) {
      isGranted = true;
      pauseMs = FIRST_PAUSE_MS;
      const named = new Set<unknown>(Array.isArray(granted.taskIds) ? granted.taskIds : []);
      const told = new Set([...wanted].filter((taskId) => named.has(taskId)));
      onPushed(told);
      const left = wanted.size - told.size;
      if (left > 0) logger.debug({ left }, 'the server does not tell of some tasks; they are only polled');
    }
    if (!PUSHES.has(message.method)) return true; // Its own, and nothing else that concerns us.
    const task = decodeTask(message.params);
    if (!task.ok) logger.warn({ problem: task.message }, 'a push about a task makes no sense');
    else if (wanted.has(task.value.taskId)) {
      if (task.value.outcome !== undefined) wanted.delete(task.value.taskId);
      onTask(task.value);
    }
    return true;
  });

  const once = async (): Promise<'again' | 'over'> => {
    isGranted = false;
    try {
      await request(encodeListen([...wanted]), { id, signal: stopped.signal, hangUp: true });
    } catch (error) {
      if (stopped.signal.aborted || connection.closed) return 'over';
      if (error instanceof RemoteUnreachableError) pauseMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
      else if (!isGranted) {
        logger.debug({ error }, 'the server does not push');
        return 'over'; // What is refused once is refused again.
      }
    }
    return wanted.size === 0 ? 'over' : 'again';
  };
  const listen = async (): Promise<void> => {
    for (;;) {
      const next = await once();
      if (!stopped.signal.aborted) onPushed(new Set());
      if (next === 'over' || stopped.signal.aborted) break;
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          timer.cancel();
          stopped.signal.removeEventListener('abort', goOn);
          resolve();
        };
        const timer = clock.setTimer(pauseMs * (1 + randomFraction(random) / 4), goOn);
        stopped.signal.addEventListener('abort', goOn);
      });
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      id = connection.nextId();
    }
    unlisten();
  };
  void listen();

  return () => {
    if (stopped.signal.aborted) return;
    stopped.abort(new Error('not watched any more'));
    unlisten();
    endListening(connection, id);
  };
}

/** Where a stream of its own was hung up on, that says it. */
export function endListening(connection: Connection, id: string): void {
  if (connection.hasStreams || connection.closed) return;
  const { method, params } = encodeCancelRequest(id) as { method: string; params: JsonObject };
  connection.notify(method, isJsonObject(params) ? params : {}).catch(() => undefined); // It ends with the connection.
}
