import {
  indented,
  type JsonObject,
  type JsonValue,
  type Principal,
  questionText,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import type { LogLine } from '../store/index.ts';
import { plainResult } from '../wire/rev2026-07-28/index.ts';
import { encodeLogPage, LOG_PAGE_URI } from '../wire/task-log.ts';
import type { Host, HostedResource } from './host.ts';
import type { PrincipalOf } from './principal.ts';
import { answerTo, asThrown } from './rpc-error.ts';

/** Text and its kind; undefined where there is nothing to read. */
type Reader = (taskId: string, principal: Principal, variables: Variables) => Promise<string | undefined>;
type Variables = Readonly<Record<string, unknown>>;

/** As much of a log as one read carries: its end, for people who ask what is going on. */
export const LOG_TAIL_BYTES = 64 * 1024;

/**
 * `longcall://tasks/{id}`, `…/log`, `…/log/{cursor}` and `…/result`, each for the task's owner; what is unknown, expired or another's is
 * answered alike. Resources of the server's own are asked first, and keep their names.
 * @param subscribe clients may subscribe to the first of them, which is up to whoever serves their subscriptions
 */
export function registerTaskResources(
  host: Host,
  tasks: Tasks,
  principalOf: PrincipalOf,
  { subscribe }: { subscribe: boolean },
): void {
  const { engine, logger } = tasks;
  const register = (name: string, uriTemplate: string, resource: HostedResource, read: Reader): void => {
    try {
      host.registerResource(name, uriTemplate, resource, async (_uri, variables, ctx) => {
        try {
          return await read(String(variables.id), principalOf({ auth: ctx.http?.authInfo }), variables);
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
    host.registerCapabilities({ resources: { listChanged: false, ...(subscribe && { subscribe }) } });
  }
  register(
    'longcall-task',
    'longcall://tasks/{id}',
    { title: 'Task', description: 'Where a task stands, without its result', mimeType: 'application/json' },
    async (taskId, principal) => JSON.stringify(describe(await engine.get(taskId, principal))),
  );
  register(
    'longcall-task-log',
    'longcall://tasks/{id}/log',
    {
      title: 'Task log',
      description: `The last ${LOG_TAIL_BYTES / 1024} kB a task has logged`,
      mimeType: 'text/plain',
    },
    async (taskId, principal) => {
      const page = await engine.readLog(taskId, principal, { cursor: -LOG_TAIL_BYTES, limitBytes: LOG_TAIL_BYTES });
      return tail(page.lines, page.cursor);
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
      return encodeLogPage(await engine.readLog(taskId, principal, { cursor, limitBytes: LOG_TAIL_BYTES }));
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

/** @param end where the log ended when its lines were read */
export function tail(lines: readonly LogLine[], end: number): string {
  const written = lines.map(({ level, text, at }) => `${iso(at)} ${level} ${indented(text)}\n`);
  let bytes = written.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  let first = 0;
  while (bytes > LOG_TAIL_BYTES && first < written.length - 1) {
    bytes -= Buffer.byteLength(written[first] ?? '');
    first += 1;
  }
  const whole = first === 0 && end <= LOG_TAIL_BYTES;
  const marker = whole ? '' : `… of ${end} bytes logged, only the last are shown here\n`;
  return marker + written.slice(first).join('');
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
