import type { RpcErrorObject } from '../core/index.ts';
import * as v16 from './rev-sep-1686/index.ts';
import * as v25 from './rev2025-11-25/index.ts';
import * as v26 from './rev2026-07-28/index.ts';

/** The revisions in whose words a task can be told. */
export type TaskRevision = typeof v16.REVISION | typeof v25.REVISION | typeof v26.REVISION;

/** The class a request belongs to; it alone decides which opt-ins count, and all others are as if absent. */
export type RequestClass = typeof v25.REVISION | typeof v26.REVISION | 'without_tasks';

/** What a call gets that could be a task, from a caller without tasks. */
export type Fallback =
  /** Runs as a task; a call that takes long is answered before its task is done. */
  | 'detach'
  /** Runs as a task; the call waits for its end. */
  | 'block'
  /** Is not served; the error says what to enable. */
  | 'refuse';

/** Who calls, and how. */
export interface Situation {
  /** The protocol version: the request's own, or that of its session or header. Unknown versions have no tasks. */
  version: string | undefined;
  /** On 2026-07-28 those of the request itself, on earlier revisions those of the session; as received. */
  clientCapabilities: unknown;
  /** The `tasks` capability that a session of 2025-11-25 was given, if it was given one. */
  declared: v25.TasksCapability | undefined;
  /** The server speaks the first draft (SEP-1686) in sessions that have no tasks of their own. @default false */
  firstDraft?: boolean;
}

export interface CallSituation extends Situation {
  tool: string;
  support: v25.TaskSupport;
  /** `params.task` as it came; anything but undefined asks for a task on 2025-11-25. */
  task: unknown;
  /** It carries the key by which the first draft asks for a task. @default false */
  augmented?: boolean;
  fallback: Fallback;
}

/** How a call is served. */
export type CallFace =
  /** Within the request: there is no task. */
  | { face: 'inline' }
  /** As a task, whose handle in the words of `revision` is the answer. */
  | { face: 'handle'; revision: TaskRevision }
  /** As a task nobody asked for. */
  | { face: 'fallback'; how: 'detach' | 'block' }
  | { face: 'refused'; error: RpcErrorObject };

/** How a `tasks/*` request is served. */
export type MethodFace =
  | { face: 'served'; revision: TaskRevision }
  /**
   * In the words of 2025-11-25, on a request of 2026-07-28, and only if the task was created on 2025-11-25 and is the
   * caller's: whoever upgrades in mid-task can still see it and end it. For every other id the answer is `error`.
   */
  | { face: 'served_if_legacy'; revision: typeof v25.REVISION; error: RpcErrorObject }
  | { face: 'refused'; error: RpcErrorObject };

const DATED = /^\d{4}-\d{2}-\d{2}$/;

/** Versions are dates: those from 2026-07-28 on have the extension, and of the earlier ones only 2025-11-25 has tasks. */
export function classOf(version: string | undefined): RequestClass {
  if (version === v25.REVISION) return v25.REVISION;
  return version !== undefined && DATED.test(version) && version >= v26.REVISION ? v26.REVISION : 'without_tasks';
}

/**
 * How a `tools/call` is served. Looks at nothing but what it is given: above all not at other requests. Whether `task` is
 * well-formed is asked later, and only where the answer is a handle of 2025-11-25.
 *
 * | caller | forbidden | optional | required |
 * | --- | --- | --- | --- |
 * | 2026-07-28, extension declared | inline | handle | handle |
 * | 2026-07-28, not declared | inline | fallback | -32021 |
 * | 2025-11-25, with `task` | -32601 | handle | handle |
 * | 2025-11-25, without | inline | fallback | -32601 |
 * | 2025-11-25, but the server declared no tasks; earlier versions | inline | fallback | fallback |
 * | earlier versions, first draft spoken, with its key | inline | handle | handle |
 * @see SEP-1686, sections 3.1 and 4.1; 2025-11-25 tasks, "Tool-Level Negotiation"; SEP-2663, "Capability Negotiation" and the compatibility matrix
 */
export function negotiateCall(situation: CallSituation): CallFace {
  switch (classOf(situation.version)) {
    case v26.REVISION:
      return modernCall(situation);
    case v25.REVISION:
      return situation.declared === undefined ? plainCall(situation) : legacyCall(situation);
    case 'without_tasks':
      return situation.firstDraft === true && situation.augmented === true
        ? firstDraftCall(situation)
        : plainCall(situation);
  }
}

function firstDraftCall({ support }: CallSituation): CallFace {
  return support === 'forbidden' ? { face: 'inline' } : { face: 'handle', revision: v16.REVISION };
}

function modernCall(situation: CallSituation): CallFace {
  const { tool, support, clientCapabilities, fallback } = situation;
  if (support === 'forbidden') return { face: 'inline' };
  if (v26.declaredCapabilities(clientCapabilities).tasks) return { face: 'handle', revision: v26.REVISION };
  if (support === 'optional' && fallback !== 'refuse') return { face: 'fallback', how: fallback };
  return { face: 'refused', error: v26.missingTasksCapability(`tool ${tool}`) };
}

function legacyCall(situation: CallSituation): CallFace {
  const { tool, support, task, fallback } = situation;
  if (task !== undefined) {
    if (support !== 'forbidden') return { face: 'handle', revision: v25.REVISION };
    return { face: 'refused', error: v25.methodNotFound(`tool ${tool} never runs as a task; call it without a task`) };
  }
  if (support === 'forbidden') return { face: 'inline' };
  if (support === 'optional' && fallback !== 'refuse') return { face: 'fallback', how: fallback };
  const message = `tool ${tool} runs only as a task; call it with params.task, e.g. "task": {}`;
  return { face: 'refused', error: v25.methodNotFound(message) };
}

/** For sessions in which nobody can ask for a task: a tool that needs one still has to be of use. */
function plainCall({ tool, support, fallback }: CallSituation): CallFace {
  if (support === 'forbidden') return { face: 'inline' };
  if (fallback !== 'refuse') return { face: 'fallback', how: fallback };
  const message = `tool ${tool} runs only as a task; call it with MCP ${v26.REVISION} and the tasks extension declared`;
  return { face: 'refused', error: v25.methodNotFound(message) };
}

/** A request that is no call of a tool, but may run as a task. */
export interface RequestSituation extends Pick<Situation, 'version' | 'firstDraft'> {
  /** For the error, where it is refused. */
  what: string;
  support: 'forbidden' | 'optional';
  /** It carries the key by which the first draft asks for a task. */
  augmented: boolean;
  fallback: Fallback | undefined;
}

/**
 * How a `prompts/get` or `resources/read` is served. Later revisions have no such tasks, so that their callers wait: there is
 * nothing that such a request could be answered with before.
 * @see SEP-1686, section 3.1; 2025-11-25 tasks, "Server Capabilities"; SEP-2663, "Supported Methods"
 */
export function negotiateRequest(situation: RequestSituation): CallFace {
  const { version, firstDraft, augmented, support, fallback, what } = situation;
  if (support === 'forbidden') return { face: 'inline' };
  if (firstDraft === true && augmented && classOf(version) === 'without_tasks') {
    return { face: 'handle', revision: v16.REVISION };
  }
  if (fallback !== 'refuse') return { face: 'fallback', how: 'block' };
  return {
    face: 'refused',
    error: v25.methodNotFound(`${what} runs only as a task, by the first draft of tasks (SEP-1686)`),
  };
}

/**
 * How a `tasks/*` request is served; before its params are looked at, so that a request that did not opt in learns
 * nothing, not even whether an id exists.
 */
export function negotiateMethod(method: string, situation: Situation): MethodFace {
  switch (classOf(situation.version)) {
    case v26.REVISION:
      return modernMethod(method, situation.clientCapabilities);
    case v25.REVISION:
      return offers(situation.declared, method) ? { face: 'served', revision: v25.REVISION } : unknown(method);
    case 'without_tasks':
      return situation.firstDraft === true && Object.values<string>(v16.METHODS).includes(method)
        ? { face: 'served', revision: v16.REVISION }
        : unknown(method);
  }
}

function modernMethod(method: string, clientCapabilities: unknown): MethodFace {
  const { get, update, cancel } = v26.METHODS;
  if (method !== get && method !== update && method !== cancel) return unknown(method);
  if (v26.declaredCapabilities(clientCapabilities).tasks) return { face: 'served', revision: v26.REVISION };
  const error = v26.missingTasksCapability(method);
  const wasLegacy = method !== update && v25.declaredCapabilities(clientCapabilities).tasks.any;
  return wasLegacy ? { face: 'served_if_legacy', revision: v25.REVISION, error } : { face: 'refused', error };
}

function offers(declared: v25.TasksCapability | undefined, method: string): boolean {
  const { get, result, list, cancel } = v25.METHODS;
  if (declared === undefined) return false;
  if (method === list) return declared.list !== undefined;
  return method === get || method === result || method === cancel;
}

function unknown(method: string): MethodFace {
  return { face: 'refused', error: v25.methodNotFound(`Method not found: ${method}`) };
}
