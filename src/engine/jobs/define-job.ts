import type { StandardSchema } from '../../core/index.ts';
import { type JobAdapter, type JobEnd, type JsonObject, type JsonValue, unreachable } from '../../core/index.ts';
import type { TaskContext } from '../context.ts';
import { INTERNAL_ERROR, WorkCancelledError } from '../outcome.ts';
import type { TaskDefaults } from '../task-options.ts';
import { checkTaskOptions, definitionOptions } from '../task-options.ts';
import {
  checkSchema,
  parseArguments,
  type RegisteredTaskTool,
  type ToolConfig,
  type ToolTaskOptions,
  toolOf,
} from '../tools.ts';
import { jobOfEnded } from './ended-jobs.ts';
import { hintedJobs } from './hinted-jobs.ts';
import { DEFAULT_STARTS, type JobOptions, runJob } from './run-job.ts';

/** How a tool that is a job runs as a task. */
export interface JobTaskOptions<Args = unknown>
  extends Omit<ToolTaskOptions<Args>, 'support' | 'onWorkerLost' | 'retry' | 'strict' | 'timeoutMs' | 'maxAttempts'>,
    Pick<JobOptions, 'onLost' | 'origin'> {
  /** @default 'optional' */
  support?: 'optional' | 'required';
  /** Milliseconds from the start of the job after which it is cancelled and the task fails. @default no limit */
  timeoutMs?: number;
  /**
   * Looks at how a job ended, and says whether to start another for the same call: after it asked the requestor for what was missing,
   * for example. Runs again, over its records, wherever the task goes on; not asked more than ten times. @default never
   */
  again?: (end: JobEnd, task: TaskContext) => Promise<boolean>;
  /** How often the job is started at most, where `onLost` is 'rerun'. A worker that is lost uses up none of them. @default 3 */
  maxAttempts?: number;
}

export interface JobToolConfig<Input extends StandardSchema | undefined>
  extends Omit<ToolConfig<Input, StandardSchema | undefined>, 'task'> {
  task?: JobTaskOptions;
}

/**
 * A worker that is lost costs a job nothing, since whoever comes next only takes up watching it: so a task of a job outlives that
 * many of them. It is no more only so that a process that dies of following one job is not started for it for ever. The task's
 * `attempt` counts those; starts of the job are counted apart (`maxAttempts`).
 */
const MAX_RUNS = 1_000;
/** What asks for something before every start will ask for ever. */
const MAX_JOBS = 10;

/**
 * Checks a tool whose work is a job, and makes it something the engine can run. The job's result is the tool's, and goes out as it
 * is: unlike that of a handler it is not checked.
 * @throws {TypeError} {RangeError} naming the option and what was expected.
 */
export function defineJobTool<Args, Ref extends JsonValue>(
  name: string,
  config: JobToolConfig<StandardSchema | undefined>,
  adapter: JobAdapter<Args, Ref>,
  toArgs: (args: never) => Args,
  defaults: TaskDefaults,
): RegisteredTaskTool {
  const { task = {}, ...rest } = config;
  const what = `registerJob ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
  if (typeof adapter?.start !== 'function') throw new TypeError(`${what}: the adapter must be a JobAdapter`);
  checkSchema(rest.inputSchema, 'input', `${what}: inputSchema`);
  checkSchema(rest.outputSchema, 'output', `${what}: outputSchema`);
  checkTaskOptions(task, what, ['optional', 'required']);
  if (task.onLost !== undefined && task.onLost !== 'fail' && task.onLost !== 'rerun')
    throw new TypeError(`${what}: task.onLost must be 'fail' or 'rerun', got ${JSON.stringify(task.onLost)}`);
  const { again, onLost, maxAttempts, timeoutMs, origin, ...common } = task;
  const { inputSchema } = rest;
  const argsOf = async (input: JsonValue): Promise<Args> =>
    toArgs((await parseArguments(inputSchema, input, `tool ${name}`)) as never);
  const options: JobOptions = {
    whole: true,
    ...(onLost !== undefined && { onLost }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(origin !== undefined && { origin }),
  };
  const most = {
    jobs: again === undefined ? 1 : MAX_JOBS,
    starts: onLost === 'rerun' ? (maxAttempts ?? DEFAULT_STARTS) : 1,
  };
  return toolOf(name, rest, task as ToolTaskOptions<never>, {
    ...definitionOptions({ ...common, onWorkerLost: 'resume', maxAttempts: MAX_RUNS }, defaults, {}),
    run: async (input, context) => {
      const args = await argsOf(input);
      for (let jobs = 1; ; jobs += 1) {
        const end = await runJob(adapter, args, context, options);
        if (jobs === MAX_JOBS || again === undefined || !(await again(end, context))) return outcomeOf(end, options);
      }
    },
    handsOver: adapter.caps.survives === true,
    jobOf: (ended) => jobOfEnded(adapter, adapter.kind, argsOf, ended),
    ...(adapter.webhook !== undefined && { webhook: (request) => hintedJobs(adapter, request, most) }),
  });
}

/** @throws what fails or cancels the task */
function outcomeOf(end: JobEnd, options: JobOptions): JsonObject {
  switch (end.state) {
    case 'done':
      if ('result' in end) return end.result;
      throw Object.assign(new Error(end.error.message), end.error);
    case 'cancelled':
      throw new WorkCancelledError(end.message ?? 'cancelled where it ran');
    case 'lost':
      throw lost(end, options);
    default:
      return unreachable(end);
  }
}

function lost({ message, effect = 'maybe' }: JobEnd & { state: 'lost' }, { onLost = 'fail' }: JobOptions): Error {
  const known = effect === 'none' ? 'It had no effect' : 'It may or may not have taken effect';
  const rule =
    onLost === 'fail'
      ? "it was not called again; the tool's option onLost: 'rerun' would do that"
      : 'it is not called again: that was its last attempt (maxAttempts)';
  const data = { lost: true, mayHaveTakenEffect: effect !== 'none' };
  return Object.assign(new Error(`lost: ${message}. ${known}, and ${rule}.`), { code: INTERNAL_ERROR, data });
}
