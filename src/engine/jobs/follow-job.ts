import { DEFAULTS, type JobEnd, type JobSnapshot, type JsonValue, pollIntervalMs } from '../../core/index.ts';
import { type Begun, move, recordRef } from './begin-job.ts';
import { JobLog } from './job-log.ts';
import { JobQuestions } from './job-questions.ts';
import type { JobState } from './job-state.ts';
import { napFor } from './nap-for.ts';
import type { OneStart } from './one-start.ts';
import { jobNetDelayMs, jobPollDelayMs } from './pace.ts';
import { recovered, troubled } from './trouble.ts';

/** A job that is under way so long may see its task put away: from then on, what it is known by is on record in any case. */
const RECORD_AFTER_MS = DEFAULTS.holdInputMs;

/** A job that keeps its slot is looked at this often. */
const LONGEST_STAY_MS = DEFAULTS.holdInputMs / 2;

/** Nobody is told to stay away for longer. */
const LONGEST_HINT_MS = 3_600_000;

/** A job that has news again and again is looked at this often, in milliseconds; the first few times at once. */
const NOISE_MS = 100;
const QUIET_NEWS = 8;

/** Looks at a job again and again, passes on what it asks and says, until it is over. */
export async function followJob<Args, Ref extends JsonValue>(
  one: OneStart<Args, Ref>,
  state: JobState,
  { ref: known, snapshot: first }: Begun<Ref>,
): Promise<JobEnd> {
  const { adapter, support, task, options, context, id } = one;
  let ref = known;
  const log = new JobLog(one, state, () => ref);
  const news = new News(() => adapter.changed?.(ref, context));
  support.jobs.onHint(id, news.ring);
  const questions = new JobQuestions({
    support,
    log: (text, level) => task.log(`${options.origin ?? one.name} ${text}`, level),
    key: id,
    origin: options.origin,
    state,
    answer: (key, answer) => support.working(async () => adapter.answer?.(ref, key, answer, context)),
  });
  let hintedMs = 0;
  for (let next: JobSnapshot | undefined = first; ; next = undefined) {
    news.listen(); // Before the look, or some falls in between.
    const snapshot: JobSnapshot | { trouble: unknown } =
      next ?? (await support.working(() => adapter.poll(ref, context)).catch((trouble: unknown) => ({ trouble })));
    if ('trouble' in snapshot) {
      if (task.signal.aborted) throw snapshot.trouble;
      await napFor(one, state, await troubled(one, state, snapshot.trouble));
      continue;
    }
    if (isEnd(snapshot)) {
      await log.finish();
      await questions.over();
      return snapshot;
    }
    await recovered(one, state, snapshot.message);
    if (snapshot.state === 'working' && snapshot.ref !== undefined) {
      ref = snapshot.ref as Ref;
      await move(one, state, ref);
    }
    tell(one, snapshot);
    hintedMs = hintPollers(one, state.ageMs, hintedMs, snapshot.pollHintMs);
    const asked = snapshot.state === 'input' ? snapshot.questions : {};
    if (asked !== undefined) await questions.told(asked);
    await log.pull();
    const polls = !adapter.caps.push || options.tells !== false || log.isLive;
    const restMs = polls
      ? jobPollDelayMs(state.ageMs, snapshot.nextPollMs, support.random)
      : jobNetDelayMs(state.ageMs);
    // Nothing is put away for so short a wait. While it is asked, people may take their time.
    const stays = adapter.caps.keepsSlot === true && snapshot.state === 'working';
    const delayMs = stays ? Math.min(restMs, LONGEST_STAY_MS) : restMs;
    // It takes its time: whoever takes the task over is to know that it was started.
    if (delayMs > RECORD_AFTER_MS || state.ageMs >= RECORD_AFTER_MS) await recordRef(one, state, ref);
    await napFor(one, state, delayMs, news.promise);
    if (news.isNoisy()) await napFor(one, state, NOISE_MS);
  }
}

/** Whether a job has told of news: one listener for all waits, until it has rung. */
class News {
  readonly #begin: () => Promise<void> | undefined;
  #rung = true;
  /** Waits in a row that news have ended. */
  #inARow = 0;
  #wake = (): void => {};
  promise: Promise<void> = Promise.resolve();

  constructor(begin: () => Promise<void> | undefined) {
    this.#begin = begin;
  }

  listen(): void {
    if (!this.#rung) return;
    this.#rung = false;
    this.promise = new Promise((resolve) => {
      this.#wake = resolve;
    });
    this.#begin()?.then(this.ring, this.ring);
  }

  /** There is some, whoever told of it. */
  readonly ring = (): void => {
    this.#rung = true;
    this.#wake();
  };

  /** Whether there is so much news that looking at all of it is not worth it. */
  isNoisy(): boolean {
    this.#inARow = this.#rung ? this.#inARow + 1 : 0;
    return this.#inARow > QUIET_NEWS;
  }
}

function tell<Args, Ref extends JsonValue>(
  { options, task, support }: OneStart<Args, Ref>,
  { message, progress }: Exclude<JobSnapshot, JobEnd>,
): void {
  if (options.tells === false) return;
  if (progress !== undefined) task.progress(progress.progress, progress.total, progress.message ?? message);
  else if (message !== undefined) support.say(message);
}

/** Who looks at the task learns nothing new sooner than this side does. @returns what they are told by now */
function hintPollers<Args, Ref extends JsonValue>(
  { support }: OneStart<Args, Ref>,
  ageMs: number,
  hintedMs: number,
  hintMs: number | undefined,
): number {
  const ms = Math.min(Math.ceil(hintMs ?? 0), LONGEST_HINT_MS);
  if (!(ms > hintedMs && ms > pollIntervalMs(ageMs))) return hintedMs;
  support.pollEvery(ms);
  return ms;
}

function isEnd(snapshot: JobSnapshot): snapshot is JobEnd {
  return snapshot.state === 'done' || snapshot.state === 'cancelled' || snapshot.state === 'lost';
}
