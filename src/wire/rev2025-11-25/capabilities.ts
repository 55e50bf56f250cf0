import { isAnonymous, isJsonObject, type Principal, type RequestorAbilities } from '../../core/index.ts';
import { samplesAsTask } from '../rev-sep-1686/capabilities.ts';
import { REVISION } from './names.ts';

/** Whether a tool may, must or must not run as a task. */
export type TaskSupport = 'forbidden' | 'optional' | 'required';

/** What a server of this revision says about its tasks. */
export interface TasksCapability {
  list?: Record<string, never>;
  cancel: Record<string, never>;
  requests: { tools: { call: Record<string, never> } };
}

/** What a client said at the beginning of its session. */
export interface DeclaredCapabilities {
  abilities: RequestorAbilities;
  /** What it would do as a task of its own; `any`: it said something about tasks at all. */
  tasks: { any: boolean; elicitation: boolean; sampling: boolean; list: boolean; cancel: boolean };
  /** It takes sampling as a task of its own, by the first draft. */
  samplesAsTask?: boolean;
}

/**
 * The server's `tasks` capability, down to the innermost member: a host that misses `call` falls back to blocking calls.
 * `undefined` where no tool can run as a task.
 * @param supports of all tools
 * @param options `list`: whether the requestor is known well enough to be shown a list, see {@link mayList}
 * @see 2025-11-25 tasks, "Server Capabilities", "Task Isolation and Access Control"
 */
export function tasksCapability(
  supports: Iterable<TaskSupport>,
  options: { list: boolean },
): TasksCapability | undefined {
  if (![...supports].some((support) => support !== 'forbidden')) return undefined;
  return { ...(options.list && { list: {} }), cancel: {}, requests: { tools: { call: {} } } };
}

/** The capability as far as it is this caller's: what he may not do, he is not told of. */
export function offeredTo<Capability extends object>(
  principal: Principal | undefined,
  declared: Capability & { list?: unknown },
): Capability | Omit<Capability, 'list'> {
  if (principal !== undefined && mayList(principal)) return declared;
  const { list: _list, ...rest } = declared;
  return rest;
}

/** Only who is somebody has tasks of his own: to all anonymous callers, a list would show everyone's. */
export function mayList(principal: Principal): boolean {
  return !isAnonymous(principal);
}

/** `execution` of a tool in `tools/list`. @see 2025-11-25 schema, `ToolExecution` */
export function toolExecution(support: TaskSupport): { taskSupport: TaskSupport } {
  return { taskSupport: support };
}

/**
 * What the client declared at `initialize`; the extension of later revisions says nothing here.
 * @param clientCapabilities as received
 * @param version of the session: before 2025-11-25 a question had one mode, and nobody could be sent to a page
 * @see 2025-11-25 tasks, "Client Capabilities"; elicitation, "Capabilities"
 */
export function declaredCapabilities(clientCapabilities: unknown, version: string = REVISION): DeclaredCapabilities {
  const declared = (...path: string[]): boolean => isJsonObject(at(clientCapabilities, path));
  const elicitation = declared('elicitation');
  const url = version >= REVISION && declared('elicitation', 'url');
  return {
    // An empty capability stands for form mode, which is what it meant before modes existed.
    abilities: {
      form: elicitation && (declared('elicitation', 'form') || !url),
      url,
      sampling: declared('sampling'),
      roots: declared('roots'),
    },
    ...(samplesAsTask(clientCapabilities) && { samplesAsTask: true }),
    tasks: {
      any: declared('tasks'),
      elicitation: declared('tasks', 'requests', 'elicitation', 'create'),
      sampling: declared('tasks', 'requests', 'sampling', 'createMessage'),
      list: declared('tasks', 'list'),
      cancel: declared('tasks', 'cancel'),
    },
  };
}

function at(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  return isJsonObject(value) && Object.hasOwn(value, name) ? at(value[name], rest) : undefined;
}
