import {
  type Clock,
  type JobAdapter,
  type JobContext,
  type JsonValue,
  type Logger,
  type Principal,
  shortId,
  type TaskId,
} from '../../core/index.ts';
import type { History, TaskStore } from '../../store/index.ts';
import type { Definition } from '../definition.ts';
import { replay } from '../records.ts';
import { intendedAt } from './begin-job.ts';
import type { JobKeeper, KeptJob } from './keeper.ts';
import { keyOfRecord, keyOfRestart, keyOfStart } from './one-start.ts';

/** A task that is over and did not complete, with what its runs left behind. */
export interface EndedTask {
  taskId: TaskId;
  principal: Principal;
  history: History;
  /** The arguments of its call. */
  input: JsonValue;
  now: () => number;
}

/** So far back it is looked, when a process starts: what ended before was seen to by those that ran since. */
const LOOK_BACK_MS = 24 * 3_600_000;
/** And at no more than so many tasks of a tool. */
const MAX_TASKS = 1_000;
const PAGE = 200;

/**
 * Jobs whose tasks ended while no process watched over them: cancelled by others, out of time, or ended in the very moment in which
 * their process died. Looked for once, when a process begins to work; that a job is cancelled twice does no harm.
 */
export class EndedJobs {
  readonly #parts: { store: TaskStore; clock: Clock; logger: Logger; jobs: JobKeeper };

  constructor(parts: { store: TaskStore; clock: Clock; logger: Logger; jobs: JobKeeper }) {
    this.#parts = parts;
  }

  /** Never rejects: what cannot be read is told to operators. */
  async lookFor({ name, jobOf }: Definition): Promise<void> {
    if (jobOf === undefined) return;
    const { store, logger } = this.#parts;
    try {
      let cursor: string | undefined;
      for (let seen = 0; seen < MAX_TASKS; seen += PAGE) {
        const filter = { name, status: ['cancelled', 'failed'] as const, limit: PAGE };
        const page = await store.list({ ...filter, ...(cursor !== undefined && { cursor }) });
        for (const { taskId, principal, endedAt = 0 } of page.tasks) {
          if (endedAt >= this.#parts.clock.now() - LOOK_BACK_MS) await this.#end(taskId, principal, jobOf);
        }
        cursor = page.nextCursor;
        if (cursor === undefined) return;
      }
    } catch (error) {
      logger.error({ tool: name, error }, 'jobs of tasks that are over could not be looked for');
    }
  }

  async #end(taskId: TaskId, principal: Principal, jobOf: NonNullable<Definition['jobOf']>): Promise<void> {
    const { store, clock, logger, jobs } = this.#parts;
    try {
      const history = await store.history(taskId);
      const input = (await store.payloads(taskId))?.input ?? null;
      const job = await jobOf({ taskId, principal, history, input, now: () => clock.now() });
      if (job !== undefined) void jobs.end(taskId, job); // As long as it takes, beside everything else.
    } catch (error) {
      logger.warn({ task: shortId(taskId), error }, 'the job of a task that is over could not be looked for');
    }
  }
}

/** What is left to be done for the job of a task that is over; `undefined`: nothing, or it does so itself. */
export async function jobOfEnded<Args, Ref extends JsonValue>(
  adapter: JobAdapter<Args, Ref>,
  name: string,
  argsOf: (input: JsonValue) => Promise<Args>,
  { taskId, principal, history, input, now }: EndedTask,
): Promise<KeptJob | undefined> {
  const { caps } = adapter;
  if (adapter.cancel === undefined || caps.cancel === 'none' || caps.endsWithTask === true) return undefined;
  const place = `${name}#1`;
  const records = new Map(history.steps.map((step) => [step.key, replay(step)]));
  if (records.has(keyOfRecord(place, 1, 'over'))) return undefined;
  let number = 1;
  while (records.has(keyOfRestart(place, number + 1))) number += 1;
  const context: JobContext = {
    taskId,
    principal,
    abilities: { form: false },
    startNumber: number,
    idempotencyKey: keyOfStart(taskId, place, number),
    signal: new AbortController().signal,
    traceparent: undefined,
    prepared: undefined,
    now,
    log: () => {}, // It takes no lines any more.
  };
  const [first, moved, intent] = ['ref', 'moved', 'intent'].map((what) =>
    records.get(keyOfRecord(place, number, what)),
  );
  const started = (moved ?? first) as { ref: Ref } | undefined;
  const refOf = async (): Promise<Ref | undefined> => {
    if (started !== undefined) return started.ref;
    return adapter.refOf?.(context) ?? (await adapter.find?.(await argsOf(input), context, intendedAt(intent)));
  };
  return {
    cancel: async () => {
      const ref = await refOf();
      if (ref !== undefined) await adapter.cancel?.(ref, context);
    },
    release: async () => {
      const ref = await refOf();
      if (ref !== undefined) await adapter.release?.(ref, context);
    },
  };
}
