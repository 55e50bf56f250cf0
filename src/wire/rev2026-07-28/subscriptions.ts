import { isJsonObject, type JsonObject, type JsonValue, type TaskId, type TaskRecord } from '../../core/index.ts';
import { type Decoded, isTooLong } from '../decoded.ts';
import { declaredCapabilities } from './capabilities.ts';
import { encodeTask } from './encode.ts';
import { CLIENT_CAPABILITIES_META_KEY, LISTEN_METHOD, SERVER_INFO_META_KEY, SUBSCRIPTION_META_KEY } from './names.ts';

/** Of a `subscriptions/listen`; it also names the subscription. */
export type ListenId = string | number;

/** A `subscriptions/listen`, parted into what is ours to serve and what is the SDK's. */
export interface Listen {
  id: ListenId;
  /** `taskIds` as it came; `undefined` where no task is asked for. */
  taskIds: JsonValue | undefined;
  /** Those of the resources asked for that are tasks. */
  uris: string[];
  /** The request declared the tasks extension. */
  declared: boolean;
  /** The request without what is ours. */
  rest: JsonObject;
}

export function isListenRequest(message: unknown): message is JsonObject & { id: ListenId } {
  return isJsonObject(message) && message.method === LISTEN_METHOD && isListenId(message.id);
}

/**
 * Reads a listen request, valid or not. `undefined`: it is none, or is so far from one that the SDK refuses it.
 * @param isTaskUri whether a resource is a task of this server
 * @see ext-tasks 2026-07-28, "Status Notifications"; 2026-07-28 subscriptions, "Opening a Stream"
 */
export function readListen(message: unknown, isTaskUri: (uri: string) => boolean): Listen | undefined {
  if (!isListenRequest(message)) return undefined;
  const { id, params } = message;
  if (!isJsonObject(params) || !isJsonObject(params.notifications)) return undefined;
  const { taskIds, ...notifications } = params.notifications;
  const uris: string[] = [];
  if (Array.isArray(notifications.resourceSubscriptions)) {
    notifications.resourceSubscriptions = notifications.resourceSubscriptions.filter((uri) => {
      if (typeof uri !== 'string' || !isTaskUri(uri)) return true;
      uris.push(uri);
      return false;
    });
  }
  const meta = isJsonObject(params._meta) ? params._meta : {};
  return {
    id,
    taskIds: Array.isArray(taskIds) && taskIds.length === 0 ? undefined : taskIds,
    uris: [...new Set(uris)],
    declared: declaredCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]).tasks,
    rest: { ...message, params: { ...params, notifications } },
  };
}

/** The request, asking for nothing: for those who only want to know whether it is one. */
export function withoutFilter(request: JsonObject): JsonObject {
  return { ...request, params: { ...(isJsonObject(request.params) && request.params), notifications: {} } };
}

/** The ids asked for, each once. What is too long for an id is nobody's, and left out. */
export function decodeTaskIds(taskIds: JsonValue | undefined, limit: number): Decoded<TaskId[]> {
  if (taskIds === undefined) return { ok: true, value: [] };
  const where = 'params.notifications.taskIds';
  if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === 'string')) {
    return { ok: false, message: `${where}: expected an array of strings` };
  }
  if (taskIds.length > limit)
    return { ok: false, message: `${where}: at most ${limit} are taken, got ${taskIds.length}` };
  return { ok: true, value: [...new Set(taskIds)].filter((id) => !isTooLong(id)) };
}

/** Which subscription a message belongs to. */
export function subscriptionOf(message: unknown): ListenId | undefined {
  if (!isJsonObject(message)) return undefined;
  const body = message.params ?? message.result;
  const id = isJsonObject(body) && isJsonObject(body._meta) ? body._meta[SUBSCRIPTION_META_KEY] : undefined;
  return isListenId(id) ? id : undefined;
}

/** What an acknowledgement grants; `undefined`: the message is none. */
export function grantedBy(message: unknown): JsonObject | undefined {
  if (!isJsonObject(message) || message.method !== 'notifications/subscriptions/acknowledged') return undefined;
  const { params } = message;
  return isJsonObject(params) && isJsonObject(params.notifications) ? params.notifications : {};
}

/**
 * An acknowledgement that grants tasks beside what it granted.
 * @param taskIds `undefined` where none were asked for
 */
export function withTasksGranted(
  acknowledgement: object,
  { taskIds, uris }: { taskIds: readonly TaskId[] | undefined; uris: readonly string[] },
): JsonObject {
  const { params, ...message } = acknowledgement as JsonObject & { params: JsonObject };
  const granted = grantedBy(acknowledgement) ?? {};
  const others = Array.isArray(granted.resourceSubscriptions) ? granted.resourceSubscriptions : [];
  const notifications: JsonObject = {
    ...granted,
    ...(uris.length > 0 && { resourceSubscriptions: [...others, ...uris] }),
    ...(taskIds !== undefined && { taskIds: [...taskIds] }),
  };
  return { ...message, params: { ...params, notifications } };
}

/**
 * A task on a listen stream: what `tasks/get` would answer now.
 * @see ext-tasks 2026-07-28, "Status Notifications", `TaskStatusNotification`
 */
export function encodeTaskPush(task: TaskRecord, now: number, id: ListenId): JsonObject {
  const { resultType: _none, _meta, ...members } = encodeTask(task, now); // It is no result.
  return notification('notifications/tasks', members, { ...(isJsonObject(_meta) && _meta) }, id);
}

export function encodeResourceUpdated(uri: string, id: ListenId): JsonObject {
  return notification('notifications/resources/updated', { uri }, {}, id);
}

/** How a server ends a subscription before its time where all of them share one channel; its result follows. */
export function encodeListenCancelled(id: ListenId): JsonObject {
  return notification('notifications/cancelled', { requestId: id, reason: 'the server is closing' }, {}, id);
}

/** The end of a subscription. @see 2026-07-28 subscriptions, "Graceful Closure" */
export function encodeListenResult(id: ListenId, serverInfo: JsonValue | undefined): JsonObject {
  const _meta = {
    [SUBSCRIPTION_META_KEY]: id,
    ...(serverInfo !== undefined && { [SERVER_INFO_META_KEY]: serverInfo }),
  };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } };
}

/** What a result says of who answered. */
export function serverInfoOf(message: unknown): JsonValue | undefined {
  const result = isJsonObject(message) ? message.result : undefined;
  return isJsonObject(result) && isJsonObject(result._meta) ? result._meta[SERVER_INFO_META_KEY] : undefined;
}

/** The request that a client takes back. */
export function cancelledRequest(message: unknown): ListenId | undefined {
  if (!isJsonObject(message) || message.method !== 'notifications/cancelled') return undefined;
  const id = isJsonObject(message.params) ? message.params.requestId : undefined;
  return isListenId(id) ? id : undefined;
}

export function encodeCancelRequest(id: ListenId): JsonObject {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
}

function notification(method: string, params: JsonObject, meta: JsonObject, id: ListenId): JsonObject {
  return { jsonrpc: '2.0', method, params: { ...params, _meta: { ...meta, [SUBSCRIPTION_META_KEY]: id } } };
}

function isListenId(id: unknown): id is ListenId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

/** Of a listen request: which resources it is to tell of, and what its client says of itself. */
export function listenedTo(message: JsonObject): { uris: string[]; clientCapabilities: unknown } {
  const params = isJsonObject(message.params) ? message.params : {};
  const { resourceSubscriptions } = isJsonObject(params.notifications) ? params.notifications : {};
  const uris = Array.isArray(resourceSubscriptions)
    ? resourceSubscriptions.filter((uri) => typeof uri === 'string')
    : [];
  const meta = isJsonObject(params._meta) ? params._meta : {};
  return { uris, clientCapabilities: meta[CLIENT_CAPABILITIES_META_KEY] };
}
