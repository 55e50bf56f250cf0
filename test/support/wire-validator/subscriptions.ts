// Listen streams of 2026-07-28: what may be sent on them, in which order.
import { type Json, metaKey, objectAt } from './json.ts';
import type { Baseline, TaskHistories } from './task-histories.ts';
import type { Problem } from './violation.ts';

export type RequestId = string | number;
interface Listen {
  asked: Json;
  acknowledged?: Json;
}

/** The filter member that asks for each kind of notification. */
const asked: Record<string, string> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
  'notifications/resources/updated': 'resourceSubscriptions',
  'notifications/tasks': 'taskIds',
};

export class Subscriptions {
  readonly #histories: TaskHistories;
  readonly #listens = new Map<RequestId, Listen>();
  readonly #pushed = new Map<string, Baseline>();

  constructor(histories: TaskHistories) {
    this.#histories = histories;
  }

  opened(id: RequestId, params: Json): void {
    this.#listens.set(id, { asked: objectAt(params, 'notifications') });
  }

  refused(id: RequestId): void {
    this.#listens.delete(id);
  }

  ended(id: RequestId, result: Json): Problem[] {
    this.#listens.delete(id);
    const named = objectAt(result, '_meta')[metaKey.subscriptionId];
    return named === id
      ? []
      : [{ path: `/_meta/${metaKey.subscriptionId}`, reason: 'must be the id of the listen request' }];
  }

  /** Undefined when this kind of notification has nothing to do with subscriptions. */
  notified(method: string, params: Json): Problem[] | undefined {
    const id = objectAt(params, '_meta')[metaKey.subscriptionId];
    if (method === 'notifications/progress' || method === 'notifications/message') {
      return id === undefined ? undefined : [{ path: '/params/_meta', reason: 'must not be sent on a listen stream' }];
    }
    if (method === 'notifications/cancelled') return this.#cancelled(params['requestId']);
    const member = asked[method];
    if (!member && method !== 'notifications/subscriptions/acknowledged') return undefined;
    const listen = this.#listens.get(id as RequestId);
    if (!listen) return [{ path: '/params/_meta', reason: 'must name an open listen request as its subscriptionId' }];
    if (!member) return acknowledged(listen, objectAt(params, 'notifications'));
    if (!listen.acknowledged) return [{ path: '', reason: 'must not come before the acknowledgement' }];
    return [...filterProblems(listen.acknowledged, member, params), ...this.#pushProblems(method, id, params)];
  }

  #cancelled(requestId: unknown): Problem[] {
    if (this.#listens.has(requestId as RequestId)) return [];
    return [{ path: '/params/requestId', reason: 'must be an open listen request: a server cancels nothing else' }];
  }

  #pushProblems(method: string, id: unknown, params: Json): Problem[] {
    if (method !== 'notifications/tasks') return [];
    const stream = JSON.stringify([id, params['taskId']]);
    const problems = this.#histories.seen(params, this.#pushed.get(stream) ?? { moment: 0, latest: undefined });
    this.#pushed.set(stream, { ...this.#histories.baseline(params['taskId']), latest: params });
    return problems.map(({ path, reason }) => ({ path: `/params${path}`, reason }));
  }
}

function acknowledged(listen: Listen, filter: Json): Problem[] {
  if (listen.acknowledged) return [{ path: '', reason: 'must come once' }];
  listen.acknowledged = filter;
  return Object.entries(filter).flatMap(([member, value]) => {
    const wanted = listen.asked[member];
    const granted = Array.isArray(value)
      ? Array.isArray(wanted) && value.every((one) => wanted.includes(one))
      : value === false || wanted === value;
    return granted
      ? []
      : [{ path: `/params/notifications/${member}`, reason: 'must grant no more than was asked for' }];
  });
}

function filterProblems(filter: Json, member: string, params: Json): Problem[] {
  const granted = filter[member];
  const subject = member === 'taskIds' ? 'taskId' : 'uri';
  const allowed = Array.isArray(granted) ? granted.includes(params[subject]) : granted === true;
  return allowed ? [] : [{ path: '', reason: `must have been granted as ${member}` }];
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
