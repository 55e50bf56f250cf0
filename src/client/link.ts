import { isJsonObject, type JsonObject } from '../core/index.ts';
import { encodeEnvelope, offersTasks } from '../wire/rev2026-07-28/client.ts';
import { LISTEN_METHOD, subscriptionOf } from '../wire/rev2026-07-28/index.ts';
import type { Connection } from './connection.ts';
import type { Speaking } from './dialects/dialect.ts';
import { RemoteUnreachableError } from './remote-errors.ts';

/** A request that is passed on. */
export interface LinkRequest {
  /** Aborted: the server is told that nobody waits any more. */
  signal?: AbortSignal;
  /** Gives up after this many milliseconds without an answer or progress. @default never */
  timeoutMs?: number;
  /** Say that tasks are known here, where the server offers them: its answer may depend on that. @default false */
  tasks?: boolean;
  /** Told the params of each progress notification. */
  onProgress?: (params: JsonObject) => void;
}

/**
 * The server itself, past its tools: requests and notifications as they are, for whoever passes them on. Requests throw what
 * those of {@link Remote} throw.
 */
export interface Link {
  /** Whether every request says everything itself (from 2026-07-28 on), or belongs to a session. */
  readonly era: 'modern' | 'legacy';
  /** The protocol version agreed on. */
  readonly version: string;
  /** As the server declared them. */
  readonly capabilities: JsonObject;
  /** Name, version and what else the server says of itself. */
  readonly serverInfo: JsonObject | undefined;
  readonly instructions: string | undefined;
  /** @param params with a `_meta` of the caller's, if any; what the revision puts there is added */
  request(method: string, params: JsonObject, options?: LinkRequest): Promise<JsonObject>;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Tells of notifications that concern no single request, also on connections made later; returns what ends that. */
  onNotification(listener: (method: string, params: JsonObject) => void): () => void;
  /** Calls back whenever a new connection takes the place of one that was lost: what was set up on that is gone. */
  onReconnect(listener: () => void): () => void;
}

/** What a link needs of one connection. */
export type LinkLine = Pick<
  Speaking,
  'connection' | 'mirroring' | 'version' | 'client' | 'abilities' | 'capabilities'
> & {
  era: Link['era'];
};

const CANCELLED = 'notifications/cancelled';

/** Sends one request of somebody else's. */
export async function passOn(
  { connection, mirroring, era, version, client, abilities, capabilities }: LinkLine,
  method: string,
  params: JsonObject,
  { signal, timeoutMs, onProgress, tasks = false }: LinkRequest = {},
): Promise<JsonObject> {
  const id = connection.nextId();
  const { _meta, ...rest } = params;
  const own =
    era === 'modern' ? encodeEnvelope({ client, abilities, tasks: tasks && offersTasks(capabilities), version }) : {};
  const meta = { ...(_meta as JsonObject | undefined), ...own, ...(onProgress && { progressToken: id }) };
  const unlisten = onProgress === undefined ? () => {} : hearProgress(connection, id, onProgress);
  // Where a request has a stream of its own, closing that says it; else a notification has to.
  const byStream = era === 'modern' && connection.hasStreams;
  const takeBack = (): void => {
    const reason = 'nobody waits for the answer any more';
    if (!byStream) connection.notify(CANCELLED, { requestId: id, reason }).catch(() => undefined); // It is gone itself.
  };
  signal?.addEventListener('abort', takeBack, { once: true });
  try {
    return await (era === 'modern' ? mirroring : connection).request(
      method,
      { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) },
      {
        id,
        signal,
        hangUp: byStream,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(onProgress !== undefined && { renewedBy: id }),
      },
    );
  } catch (error) {
    if (timeoutMs !== undefined && error instanceof RemoteUnreachableError) takeBack(); // Whoever is late goes on else.
    throw error;
  } finally {
    signal?.removeEventListener('abort', takeBack);
    unlisten();
  }
}

function hearProgress(connection: Connection, token: string, onProgress: (params: JsonObject) => void): () => void {
  return connection.listen(({ method, params }) => {
    if (method !== 'notifications/progress' || !isJsonObject(params) || params.progressToken !== token) return false;
    onProgress(params);
    return true;
  });
}

/** What is told of a server as a whole; all else belongs to a request or to a task. */
const GENERAL: ReadonlySet<unknown> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/message',
]);

/** Hears what a connection tells unasked, or by a subscription. */
export function hearGeneral(
  connection: Connection,
  listener: (method: string, params: JsonObject) => void,
): () => void {
  return connection.listen((message) => {
    const { method, params } = message;
    if (!GENERAL.has(method)) return false;
    const { _meta, ...rest } = isJsonObject(params) ? params : {};
    // A subscription is between this side and the server: nobody else knows its id.
    const own = subscriptionOf(message) === undefined && _meta !== undefined ? { _meta } : {};
    listener(method as string, { ...rest, ...own } as JsonObject);
    return true;
  });
}

/**
 * Asks a server of 2026-07-28 to tell of changes; servers before that do so by themselves. Ends with the signal or the connection.
 * @param filter members of `notifications`: `toolsListChanged`, `resourceSubscriptions` …
 */
export function subscribeTo(link: Link, filter: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  return link.request(LISTEN_METHOD, { notifications: filter }, { signal });
}
