import { errorKind, type JobAdapter, type JobEnd, type JsonValue } from '../../core/index.ts';
import { supportOf } from '../child-support.ts';
import type { TaskContext } from '../context.ts';
import { beginJob, startedAs } from './begin-job.ts';
import { followJob } from './follow-job.ts';
import { JobState } from './job-state.ts';
import { keyOfRecord, keyOfRestart, type OneStart, oneStart, type TheJob } from './one-start.ts';

export const DEFAULT_STARTS = 3;

export interface JobOptions {
  /** What the job is called in the task's records: the same for the same job on every run. @default the adapter's kind */
  name?: string;
  /** Where the job's questions come from, as people are told before they answer. @default nothing is said */
  origin?: string;
  /**
   * A job that was lost: `fail` ends with that; `rerun` starts it again, though it may have taken effect. @default 'fail'
   */
  onLost?: 'fail' | 'rerun';
  /** How often it is started at most, with `rerun`. @default 3 */
  maxAttempts?: number;
  /** Milliseconds from a start after which the job is cancelled and the task fails. @default no limit */
  timeoutMs?: number;
  /** Its progress and messages are those of the task. @default true */
  tells?: boolean;
  /**
   * The job is all that the handler does, and its definition is resumed when a worker is lost: then a quick one whose ref follows from
   * its key is recorded nowhere but where it runs, and its end is the task's. Else both are recorded, for a handler that goes on.
   * @default false
   */
  whole?: boolean;
}

/**
 * Has a job done for a task, once, however often its handler starts again, and follows it to its end: also while nobody runs the
 * handler, which is put away for long waits. The job ends with the task.
 * @throws when `timeoutMs` is over; what `start` throws for good.
 */
export async function runJob<Args, Ref extends JsonValue>(
  adapter: JobAdapter<Args, Ref>,
  args: Args,
  task: TaskContext,
  options: JobOptions = {},
): Promise<JobEnd> {
  const support = supportOf(task);
  if (support === undefined) throw new TypeError(`${adapter.kind}: a job needs a task; this tool is never one`);
  const { name = adapter.kind, whole = false } = options;
  const place = support.place(name);
  const endKey = keyOfRecord(place, 1, 'end');
  const job = { adapter, args, task, support, options, name, place };
  const known = support.recorded(endKey) as JobEnd | undefined;
  const { end, one, ref } = known === undefined ? await lastEnd(job) : takenUp(job, known);
  support.jobs.over(one.id);
  if (whole) {
    // The end of the task is the record. Where it does not say so itself, nobody is to look for a job that it left behind.
    const tells = adapter.caps.endsWithTask === true || (end.state === 'done' && 'result' in end);
    if (!tells) await support.keep(keyOfRecord(place, 1, 'over'), `${name} is over`, null);
    return end;
  }
  if (known === undefined) await support.record(endKey, `end of ${name}`, end as unknown as JsonValue);
  support.jobs.forget(one.id);
  if (ref !== undefined) await release(one, ref); // From here on, the task's own records hold it.
  return end;
}

interface Ended<Args, Ref extends JsonValue> {
  end: JobEnd;
  one: OneStart<Args, Ref>;
  ref: Ref | undefined;
}

/** It was over in an earlier run, which may have died before it could say so. */
function takenUp<Args, Ref extends JsonValue>(job: TheJob<Args, Ref>, end: JobEnd): Ended<Args, Ref> {
  const one = oneStart(job, lastNumber(job));
  // All of its records are asked for, or they would count as those of another handler.
  for (let number = 1; number <= one.context.startNumber; number += 1) {
    for (const what of ['intent', 'ref', 'moved', 'state']) job.support.recorded(keyOfRecord(job.place, number, what));
  }
  return { end, one, ref: startedAs<Ref>(one)?.ref };
}

/** The end of the last start: of the first one, unless that was lost and may be repeated. */
async function lastEnd<Args, Ref extends JsonValue>(job: TheJob<Args, Ref>): Promise<Ended<Args, Ref>> {
  const { support, options, name, place, task } = job;
  const { onLost = 'fail', maxAttempts = DEFAULT_STARTS } = options;
  for (let number = lastNumber(job); ; number += 1) {
    const one = oneStart(job, number);
    const state = new JobState(one);
    const begun = await beginJob(one, state);
    const end = 'end' in begun ? begun.end : await followJob(one, state, begun);
    const ref = 'end' in begun ? undefined : begun.ref;
    if (end.state !== 'lost' || onLost === 'fail' || number >= maxAttempts) return { end, one, ref };
    task.log(`${name} was lost and is started again (${number + 1} of ${maxAttempts}): ${end.message}`, 'warning');
    support.jobs.forget(one.id);
    if (ref !== undefined) await release(one, ref); // Nobody asks for what was lost.
    await support.record(keyOfRestart(place, number + 1), `start ${number + 1} of ${name}`, null);
  }
}

function lastNumber({ support, place }: TheJob<unknown, JsonValue>): number {
  let number = 1;
  while (support.recorded(keyOfRestart(place, number + 1)) !== undefined) number += 1;
  return number;
}

async function release<Args, Ref extends JsonValue>(one: OneStart<Args, Ref>, ref: Ref): Promise<void> {
  const { support, adapter, context, task, name } = one;
  try {
    await support.working(async () => adapter.release?.(ref, context));
  } catch (error) {
    if (task.signal.aborted) throw error;
    task.log(`the end of ${name} could not be acknowledged (${errorKind(error)})`, 'debug');
  }
}
