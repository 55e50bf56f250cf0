import {
  type JsonObject,
  type JsonValue,
  type Principal,
  questionText,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
} from '../core/index.ts';
import { plainResult } from '../wire/rev2026-07-28/index.ts';
import { encodeLogPage, LOG_PAGE_URI, LOG_TAIL_URI, LOG_URI } from '../wire/task-log.ts';
import type { Host, HostedResource } from './host.ts';
import { registerMethod } from './method.ts';
import type { ServingParts } from './parts.ts';
import { taskNamed } from './requestor-ids.ts';
import { answerTo, asThrown } from './rpc-error.ts';
import { sessionSubscriptions } from './session-subscriptions.ts';
import { LOG_TAIL_BYTES, LogReading, MAX_LINES } from './shown-log.ts';
import { idInUri } from './task-uris.ts';

/** Text and its kind; undefined where there is nothing to read. */
type Reader = (taskId: string, principal: Principal, variables: Variables) => Promise<string | undefined>;
type Variables = Readonly<Record<string, unknown>>;

/**
 * `longcall://tasks/{id}`, `…/log`, `…/log/{stream}/{lines}`, `…/log/{cursor}` and `…/result`, each for the task's owner; what is unknown, expired or another's is
 * answered alike. Resources of the server's own are asked first, and keep their names.
 *
 * Clients may subscribe to the first two: in sessions by requests, else by listening, which is up to whoever serves that.
 */
export function registerTaskResources(host: Host, parts: ServingParts): void {
  const { tasks, peer, principalOf } = parts;
  const { engine, logger } = tasks;
  const register = (name: string, uriTemplate: string, resource: HostedResource, read: Reader): void => {
    try {
      host.registerResource(name, uriTemplate, resource, async (_uri, variables, ctx) => {
        try {
          const principal = principalOf({ auth: ctx.http?.authInfo });
          return await read(await taskNamed(idInUri(String(variables.id)), principal, parts), principal, variables);
        } catch (error) {
          if (error instanceof TaskNotFoundError) return undefined;
          throw asThrown(answerTo(error, name, tasks));
        }
      });
    } catch (error) {
      logger.debug({ name, error }, 'a resource of tasks gives way to one of the server itself');
    }
  };

  // Which tasks there are is never listed, so the list never changes.
  if (!host.hasResources) {
    host.registerCapabilities({ resources: { listChanged: false, subscribe: true } });
    // A server with resources of its own may take subscriptions to those itself.
    const methods = peer.era === 'legacy' ? sessionSubscriptions(parts) : {};
    for (const [name, method] of Object.entries(methods)) registerMethod(host, name, method, tasks);
  }
  register(
    'longcall-task',
    'longcall://tasks/{id}',
    { title: 'Task', description: 'Where a task stands, without its result', mimeType: 'application/json' },
    async (taskId, principal) => JSON.stringify(describe(await engine.get(taskId, principal))),
  );
  register(
    'longcall-task-log',
    LOG_URI,
    {
      title: 'Task log',
      description: `The last ${LOG_TAIL_BYTES / 1024} kB a task has logged`,
      mimeType: 'text/plain',
    },
    async (taskId, principal) => (await new LogReading(engine, taskId, principal).end({})).text,
  );
  register(
    'longcall-task-log-tail',
    LOG_TAIL_URI,
    {
      title: 'Last lines of a task log',
      description: `The last lines (1 to ${MAX_LINES}) of a stream: stdout, stderr, or all`,
      mimeType: 'text/plain',
    },
    async (taskId, principal, { stream, lines }) => {
      const count = /^\d{1,6}$/.test(String(lines)) ? Number(lines) : 0;
      if (count < 1 || count > MAX_LINES) return undefined;
      if (stream !== 'stdout' && stream !== 'stderr' && stream !== 'all') return undefined;
      const view = { lines: count, ...(stream !== 'all' && ({ stream } as const)) };
      return (await new LogReading(engine, taskId, principal).end(view)).text;
    },
  );
  register(
    'longcall-task-log-page',
    LOG_PAGE_URI,
    {
      title: 'Task log from a byte on',
      description: 'As JSON, with the byte from which to go on; below 0: so many bytes from its end',
      mimeType: 'application/json',
    },
    async (taskId, principal, variables) => {
      const cursor = /^-?\d{1,15}$/.test(String(variables.cursor)) ? Number(variables.cursor) : undefined;
      if (cursor === undefined) return undefined;
      return encodeLogPage(await new LogReading(engine, taskId, principal).page(cursor));
    },
  );
  register(
    'longcall-task-result',
    'longcall://tasks/{id}/result',
    { title: 'Task result', description: 'What a completed task returned', mimeType: 'application/json' },
    async (taskId, principal) => {
      const { state } = await engine.get(taskId, principal);
      return state.status === 'completed' ? JSON.stringify(plainResult(state.result)) : undefined;
    },
  );
}

export function taskUri(taskId: TaskId): string {
  return `longcall://tasks/${taskId}`;
}

/** A task in our own words, which no revision of the protocol changes. Field by field: nothing new slips out. */
function describe(task: TaskRecord): JsonObject {
  const { state, progress, statusMessage } = task;
  return {
    taskId: task.taskId,
    tool: task.name,
    status: state.status,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress !== undefined && { progress: { ...progress } as JsonValue }),
    ...(state.status === 'failed' && { error: { ...state.error } as JsonValue }),
    ...(state.status === 'cancelled' && state.reason !== undefined && { reason: state.reason }),
    ...(state.status === 'input_required' && {
      questions: Object.entries(state.inputRequests).map(([key, question]) => ({
        key,
        message: questionText(question),
      })),
    }),
    createdAt: iso(task.createdAt),
    updatedAt: iso(task.updatedAt),
    expiresAt: task.expiresAt === null ? null : iso(task.expiresAt),
    attempt: task.attempt,
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
