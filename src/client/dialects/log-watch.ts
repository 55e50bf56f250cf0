import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { grantedBy, subscriptionOf } from '../../wire/rev2026-07-28/index.ts';
import { logUri } from '../../wire/task-log.ts';
import type { Connection } from '../connection.ts';
import type { Dialect, Speaking } from './dialect.ts';
import { endListening } from './subscription.ts';

// How a server is asked to tell that a task has logged something. What it tells is a hint: who hears nothing looks all the same.

type Watch = NonNullable<Dialect['watchLog']>;

/** After this long a subscription that ended is made again. */
const AGAIN_MS = 5_000;

/** By listening. @see 2026-07-28 subscriptions */
export function logByListening(
  { connection, clock }: Pick<Speaking, 'connection' | 'clock'>,
  request: (params: JsonObject, asking: { id: string; signal: AbortSignal; hangUp: true }) => Promise<JsonObject>,
): Watch {
  return (taskId, onNews, onTold) => {
    const uri = logUri(taskId);
    const stopped = new AbortController();
    let id = '';
    let wasGranted = false;
    const unlisten = connection.listen((message) => {
      if (subscriptionOf(message) !== id || !('method' in message)) return false;
      const granted = grantedBy(message);
      if (granted === undefined) onNews();
      else {
        wasGranted = Array.isArray(granted.resourceSubscriptions) && granted.resourceSubscriptions.includes(uri);
        onTold(wasGranted);
      }
      return true;
    });
    const listen = (): void => {
      if (stopped.signal.aborted || connection.closed) return;
      id = connection.nextId();
      wasGranted = false;
      const params = { notifications: { resourceSubscriptions: [uri] } };
      void request(params, { id, signal: stopped.signal, hangUp: true })
        .catch(() => {}) // What is refused, or breaks off, is told of no more.
        .then(() => {
          if (stopped.signal.aborted) return;
          onTold(false);
          if (wasGranted) clock.setTimer(AGAIN_MS, listen);
        });
    };
    listen();
    return () => {
      if (stopped.signal.aborted) return;
      stopped.abort(new Error('not watched any more'));
      unlisten();
      endListening(connection, id);
    };
  };
}

/** By subscribing, in sessions. @see 2025-11-25 resources, "Subscriptions" */
export function logBySubscribing(connection: Connection, timeoutMs: number): Watch {
  return (taskId, onNews, onTold) => {
    const uri = logUri(taskId);
    let stopped = false;
    const unlisten = connection.listen(({ method, params }) => {
      if (method !== 'notifications/resources/updated' || !isJsonObject(params) || params.uri !== uri) return false;
      onNews();
      return true;
    });
    const ask = (method: string): Promise<JsonObject> => connection.request(method, { uri }, { timeoutMs });
    ask('resources/subscribe').then(
      () => stopped || onTold(true),
      () => {}, // Then it is not told.
    );
    return () => {
      if (stopped) return;
      stopped = true;
      unlisten();
      if (!connection.closed) ask('resources/unsubscribe').catch(() => undefined); // It ends with the session.
    };
  };
}

/** Whether a server says that one can subscribe to its resources. */
export function canSubscribe({ repeatable, capabilities }: Pick<Speaking, 'repeatable' | 'capabilities'>): boolean {
  const { resources } = isJsonObject(capabilities) ? capabilities : {};
  return repeatable && isJsonObject(resources) && resources.subscribe === true;
}
