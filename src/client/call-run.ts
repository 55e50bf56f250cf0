import { type Clock, type Logger, type Question, type RandomSource, shortId, unreachable } from '../core/index.ts';
import { persistently } from '../engine/persistently.ts';
import { isOver } from '../wire/peer-task.ts';
import { CallPace } from './call-pace.ts';
import {
  type CallEnd,
  type CallEvent,
  callTransition,
  deadlineOf,
  endOf,
  nextStep,
  type OpenCall,
  unknownEnd,
} from './call-state.ts';
import { type Trouble, troubleOf } from './call-trouble.ts';
import type { Lanes, Turn } from './groups/lanes.ts';
import type { CallRecord, HeldCall, Hold, Journal } from './journal/journal.ts';
import { type PollLimits, pollDelayMs } from './poll-delay.ts';
import { CallAsked } from './questions/call-asked.ts';
import type { CallQuestions } from './questions/call-questions.ts';
import type { Outcome, RemoteTask, Started } from './remote.ts';
import type { ServerDesk } from './server-desk.ts';
import type { LiveFacts } from './snapshot.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface CallRunParts {
  journal: Journal;
  desk: ServerDesk;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  limits: PollLimits & { stuckAfterMs: number };
  /** A call without a handle is given up after this many milliseconds, where it has no `ttlMs` of its own. */
  giveUpMs: number;
  /** Something about the call changed. */
  changed: () => void;
  /** How many calls of a group may be under way at once. */
  lanes: Lanes;
}

/** Servers keep an expired task readable for about this long. */
const EXPIRY_GRACE_MS = 60_000;

/** So often a task is looked at after a cancel that nobody confirms. */
const CANCEL_LOOKS = 5;

const interrupted = new Error('the call is being cancelled, or not followed any more');
const INTERRUPTED: Trouble = {
  kind: 'unreachable',
  message: interrupted.message,
  mayHaveRun: true,
  retryAfterMs: undefined,
};

type Answer<Result> = { ok: true; value: Result } | { ok: false; trouble: Trouble };

/**
 * Follows one call from where the journal says it stands to its end. What it is about to do is on disk before it does it,
 * and what it learnt is on disk before anybody hears of it.
 */
export class CallRun {
  readonly record: CallRecord;
  readonly #hold: Hold;
  readonly #parts: CallRunParts;
  readonly #over = new AbortController();
  readonly #unwanted = new AbortController();
  /** Facts that are worth telling and not worth writing down. */
  readonly live: LiveFacts = {};
  #state: OpenCall;
  #fresh: boolean;
  #cancelRequested: boolean;
  readonly #pace: CallPace;
  readonly #asked: CallAsked;
  #unfollow: (() => void) | undefined;
  #reading: AbortController | undefined;
  #collecting = false;
  #collected: Outcome | undefined;
  #pushed: RemoteTask | undefined;
  #answersToSend = false;
  #hasEnded = false;
  /** Its place in its group, where that is bounded. */
  readonly #turn: Turn | undefined;
  /** When it was first tried: whoever waits for a turn is not late. */
  #triedSince: number | undefined;

  /** @param fresh the call was made by this process just now: its mark `sent` was written ahead of the request */
  constructor(parts: CallRunParts, { record, hold }: HeldCall, fresh: boolean) {
    this.#parts = parts;
    this.record = record;
    this.#hold = hold;
    this.#state = record.state;
    this.#fresh = fresh;
    this.#cancelRequested = record.cancelRequested;
    this.#pace = new CallPace(parts);
    this.#asked = new CallAsked({ ...parts, record, answered: () => this.sendAnswers() });
    const { callId, group, createdAt } = record;
    if (group?.limit !== undefined) {
      const bounded = { id: group.id, limit: group.limit };
      this.#turn = parts.lanes.join(bounded, callId, record.state.phase !== 'intended', () => this.#pace.wake());
    }
    if (this.#turn === undefined) this.#triedSince = createdAt;
    // To cancel is not to poll: it need not wait its turn.
    if (record.state.phase === 'following' && !record.cancelRequested) {
      this.#scheduleFromJournal(record.state.task.polledAt);
    }
  }

  get state(): OpenCall {
    return this.#state;
  }

  get cancelRequested(): boolean {
    return this.#cancelRequested;
  }

  /** Its end is in the journal. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Asked by a request of the server's: it stands in the call until `unask`. */
  ask(key: string, question: Question): void {
    this.#asked.requested(key, question);
    this.#tellQuestions();
    this.#parts.changed();
  }

  /** Whether a request of the server's stands in the call under a key. */
  asks(key: string): boolean {
    return this.#asked.asks(key);
  }

  unask(key: string): void {
    this.#asked.settled(key);
    this.#tellQuestions();
    this.#parts.changed();
  }

  /** Whether it asks something that it did not when this was asked before. */
  asksAnew(): boolean {
    return this.#asked.anew();
  }

  /** Resolves when the call has ended, or is not ours to follow any more. */
  async follow(): Promise<void> {
    if (this.#state.phase === 'following') this.#listen(this.#state.task.taskId);
    try {
      while (!this.#over.signal.aborted && (await this.#step())) {
        /* goes on */
      }
    } catch (error) {
      if (!this.#over.signal.aborted) throw error;
    } finally {
      this.stop();
    }
  }

  /** There are answers in the journal that were not sent. */
  sendAnswers(): void {
    this.#answersToSend = true;
    this.#pace.wake();
  }

  requestCancel(): void {
    this.#cancelRequested = true;
    this.#unwanted.abort(interrupted);
    this.#asked.stop();
    this.#pace.atOnce();
    this.#reading?.abort(interrupted); // Its status is nobody's concern any more.
    this.#pace.wake();
  }

  /** Stops following, frees every timer and request. The journal keeps the call as it is. */
  stop(): void {
    this.#over.abort(new Error('the call is not followed any more'));
    this.#reading?.abort(interrupted);
    this.#asked.stop();
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#turn?.leave();
    this.#pace.wake();
  }

  /** One step; false when there is nothing more to do. */
  async #step(): Promise<boolean> {
    const { desk, clock, giveUpMs } = this.#parts;
    const { ttlMs } = this.record;
    if (this.#turn?.ready === true) this.#triedSince ??= clock.now();
    const step = nextStep(this.#state, {
      repeatable: desk.remote.repeatable,
      fresh: this.#fresh,
      cancelRequested: this.#cancelRequested,
      giveUpAt: (this.#triedSince ?? Number.POSITIVE_INFINITY) + (ttlMs ?? giveUpMs),
      now: clock.now(),
    });
    if (step.do === 'end') return this.#end(step.end);
    if (this.#collected !== undefined) return this.#end(endOf(this.#collected));
    if (this.#pushed !== undefined) return this.#takePushed(this.#pushed);
    const { inTask } = this.#asked;
    if (this.#answersToSend && inTask !== undefined && step.do === 'poll' && this.#state.phase === 'following') {
      return this.#sendAnswers(inTask, this.#state.task.taskId);
    }
    if (this.#turn?.ready === false) {
      await this.#pace.pause();
      return true;
    }
    const waitMs = Math.max(this.#pace.leftMs, desk.closedMs);
    if (waitMs > 0) {
      await this.#pace.pause(waitMs);
      return true;
    }
    switch (step.do) {
      case 'send':
        return this.#send();
      case 'poll':
        return this.#poll();
      case 'fetch':
        return this.#fetch();
      case 'cancel':
        return this.#cancel(step.taskId);
      default:
        return unreachable(step);
    }
  }

  async #send(): Promise<boolean> {
    const { desk, clock, logger } = this.#parts;
    const repeat = this.#state.phase === 'sent' && !this.#fresh;
    // The mark is on disk before the request leaves. A holder that lost its hold meanwhile finds out here, unsent.
    if (!this.#fresh && !(await this.#record({ type: 'sending' }, { flush: true }))) return false;
    this.#fresh = false;
    const { tool: name, arguments: args, idempotencyKey, ttlMs, traceparent, meta, related, createdAt } = this.record;
    const start = () =>
      desk.remote.start({
        name,
        arguments: args,
        idempotencyKey,
        ...(repeat && { repeatAgeMs: Math.max(0, clock.now() - createdAt) }),
        ...(ttlMs !== undefined && { ttlMs }),
        ...(traceparent !== undefined && { traceparent }),
        ...(meta !== undefined && { meta }),
        ...(related !== undefined && { relatedTaskIds: related }),
        signal: this.#over.signal,
        unwanted: this.#unwanted.signal,
        onProgress: (progress) => {
          this.live.progress = progress;
          this.#parts.changed();
        },
      });
    // No time limit and no place in the queue: without tasks the answer takes as long as the tool.
    const answer = await this.#answerTo<Started>(() => unlessAborted(start(), this.#over.signal));
    if (!answer.ok) return this.#notStarted(answer.trouble, repeat);
    const started = answer.value;
    if (started.kind === 'immediate') return this.#end(endOf(started.outcome));
    const recorded = await this.#record({ type: 'handled', task: started.task, at: clock.now() }, { flush: true });
    if (!recorded) return false;
    logger.info({ ...this.#fields(), task: shortId(started.task.taskId) }, 'a call became a task of its server');
    this.#listen(started.task.taskId);
    this.#schedule();
    return true;
  }

  /** @param repeat it had been sent before, so that this answer says nothing about whether it ran */
  async #notStarted(trouble: Trouble, repeat: boolean): Promise<boolean> {
    switch (trouble.kind) {
      case 'refused':
        if (repeat)
          return this.#end(unknownEnd(`no answer was kept, and sent again it was refused: ${trouble.error.message}`));
        return this.#end({ kind: 'refused', error: trouble.error });
      case 'gone':
      case 'protocol':
        return this.#end(unknownEnd(`the server's answer made no sense: ${trouble.message}`));
      case 'unreachable':
        if (trouble.mayHaveRun && !this.#parts.desk.remote.repeatable) {
          return this.#end(unknownEnd(`${trouble.message}, and the server has no idempotency keys`));
        }
        this.#retryLater(trouble);
        // What certainly never arrived may be sent again, also by whoever finds it in the journal.
        return trouble.mayHaveRun || repeat || this.#record({ type: 'unsent' }, { flush: false });
      default:
        return unreachable(trouble);
    }
  }

  async #poll(): Promise<boolean> {
    const { desk, clock } = this.#parts;
    if (this.#state.phase !== 'following') return true;
    const { taskId } = this.#state.task;
    if (!(await this.#record({ type: 'polling', at: clock.now() }, { flush: false }))) return false;
    const reading = new AbortController();
    this.#reading = reading;
    const answer = await this.#answerTo(() =>
      desk.ask(reading.signal, (signal) => desk.remote.get(taskId, { signal })),
    ).finally(() => (this.#reading = undefined));
    if (answer.ok) return this.#observe(answer.value);
    return reading.signal.aborted || this.#notRead(answer.trouble); // Interrupted: what it was for comes first.
  }

  async #observe(news: RemoteTask): Promise<boolean> {
    const observed = { type: 'observed', task: news, at: this.#parts.clock.now() } as const;
    const went = callTransition(this.#state, observed);
    if (went.ok && news.outcome !== undefined) return this.#end(endOf(news.outcome));
    if (went.ok && !(await this.#record(observed, { flush: false }))) return false;
    this.#reached();
    this.#noteSilence();
    this.#schedule();
    if (news.status === 'input_required') this.#collect(news.taskId);
    if (went.ok && (await this.#asked.told(news.taskId, news.questions)) === 'changed')
      return this.#doubleKey(news.taskId);
    const asked = this.live.questions?.size ?? 0;
    if (went.ok) this.#tellQuestions();
    if (news.questions.size > 0) this.#answersToSend = true;
    if (news.questions.size + asked > 0) this.#parts.changed(); // Also where they were taken back.
    const expiry = this.#expiry();
    return expiry === undefined ? true : this.#end(expiry);
  }

  #takePushed(news: RemoteTask): Promise<boolean> {
    this.#pushed = undefined;
    return this.#observe(news);
  }

  /** One key, two questions: which of them an answer would be to is not known. */
  async #doubleKey(taskId: string): Promise<boolean> {
    const { desk, logger } = this.#parts;
    const message = 'the server broke the protocol: it asked another question under a key it had used';
    desk.remote
      .cancel(taskId)
      .catch((error: unknown) => logger.debug({ ...this.#fields(), error }, 'could not be cancelled'));
    return this.#end({ kind: 'lost', message });
  }

  #tellQuestions(): void {
    this.live.questions = this.#asked.open;
  }

  async #sendAnswers(questions: CallQuestions, taskId: string): Promise<boolean> {
    const { desk, logger } = this.#parts;
    this.#answersToSend = false;
    const answers = await questions.toSend();
    if (answers.size === 0) return true;
    const answer = await this.#answerTo(() => desk.ask(this.#over.signal, () => desk.remote.answer(taskId, answers)));
    if (answer.ok) questions.settle(answers.keys());
    else if (answer.trouble.kind === 'refused') await questions.refused(answers.keys());
    this.#tellQuestions();
    if (!answer.ok)
      logger.warn({ ...this.#fields(), trouble: answer.trouble.kind }, 'answers to questions of a task were not taken');
    this.#parts.changed();
    return true; // What was not taken for want of a connection is sent after the next poll.
  }

  async #fetch(): Promise<boolean> {
    const { desk } = this.#parts;
    if (this.#state.phase !== 'following') return true;
    const { taskId } = this.#state.task;
    const answer = await this.#answerTo(() =>
      desk.ask(this.#over.signal, (signal) => desk.remote.outcome(taskId, { signal })),
    );
    return answer.ok ? this.#end(endOf(answer.value)) : this.#notRead(answer.trouble);
  }

  /**
   * Up to 2025-11-25 questions come only to who waits for the result. Polling goes on meanwhile.
   * @see 2025-11-25 tasks, "Input Required Status"
   */
  #collect(taskId: string): void {
    const { desk, logger } = this.#parts;
    if (this.#collecting || desk.remote.revision === '2026-07-28') return;
    this.#collecting = true;
    desk.remote.outcome(taskId, { signal: this.#over.signal }).then(
      (outcome) => {
        this.#collected = outcome;
        this.#pace.wake();
      },
      (error: unknown) => {
        this.#collecting = false; // The next answer that says so starts it again.
        if (!this.#over.signal.aborted) logger.debug({ ...this.#fields(), error }, 'waiting for the result broke off');
      },
    );
  }

  async #cancel(taskId: string): Promise<boolean> {
    const { desk, journal } = this.#parts;
    const answer = await this.#answerTo(() => desk.ask(this.#over.signal, () => desk.remote.cancel(taskId)));
    if (answer.ok && desk.remote.revision === 'SEP-1686') return this.#seeCancelled(taskId);
    if (answer.ok || answer.trouble.kind === 'gone' || answer.trouble.kind === 'protocol') {
      return this.#end({ kind: 'cancelled' });
    }
    if (answer.trouble.kind === 'unreachable') return this.#notRead(answer.trouble);
    // Refused: it is over already, or cannot be cancelled. What became of it is asked for.
    this.#cancelRequested = false;
    await this.#persistently(() => journal.retractCancel(this.#hold));
    this.#schedule();
    return true;
  }

  /** By the first draft a cancel is a notification: what became of it is only seen by looking, for a reasonable while. */
  async #seeCancelled(taskId: string): Promise<boolean> {
    const { desk } = this.#parts;
    for (let looks = 0; looks < CANCEL_LOOKS && !this.#over.signal.aborted; looks += 1) {
      const answer = await this.#answerTo(() =>
        desk.ask(this.#over.signal, (signal) => desk.remote.get(taskId, { signal })),
      );
      if (!answer.ok && answer.trouble.kind === 'gone') break;
      if (answer.ok && answer.value.outcome !== undefined) return this.#end(endOf(answer.value.outcome));
      if (answer.ok && isOver(answer.value.status)) return this.#fetch();
      await this.#pace.pause(this.#hintedMs());
    }
    return this.#end({ kind: 'cancelled' });
  }

  /** A read went wrong. The handle is kept: reading again harms nothing. */
  async #notRead(trouble: Trouble): Promise<boolean> {
    switch (trouble.kind) {
      case 'gone':
        return this.#end(this.#gone(trouble.message));
      case 'protocol':
        return this.#end({ kind: 'lost', message: `the server broke the protocol: ${trouble.message}` });
      case 'refused':
      case 'unreachable': {
        const expiry = this.#expiry();
        if (expiry !== undefined) return this.#end(expiry);
        this.#retryLater(trouble);
        return true;
      }
      default:
        return unreachable(trouble);
    }
  }

  #gone(message: string): CallEnd {
    const { clock } = this.#parts;
    const deadline = this.#state.phase === 'following' ? deadlineOf(this.#state.task, 0) : undefined;
    return deadline !== undefined && clock.now() >= deadline
      ? { kind: 'expired', message: 'the time of the task was over before its result was read' }
      : { kind: 'lost', message: `the server does not know the task any more: ${message}` };
  }

  #expiry(): CallEnd | undefined {
    if (this.#state.phase !== 'following') return undefined;
    const deadline = deadlineOf(this.#state.task, EXPIRY_GRACE_MS);
    if (deadline === undefined || this.#parts.clock.now() < deadline) return undefined;
    return { kind: 'expired', message: 'the time of the task is over and the server never said how it ended' };
  }

  #retryLater(trouble: Extract<Trouble, { kind: 'refused' | 'unreachable' }>): void {
    const { clock, desk, logger } = this.#parts;
    const retryAfterMs = trouble.kind === 'unreachable' ? trouble.retryAfterMs : undefined;
    const delayMs = this.#pace.failed(retryAfterMs);
    if (retryAfterMs !== undefined) desk.leaveAlone(delayMs);
    this.#pace.after(Math.max(delayMs, this.#hintedMs()));
    if (this.live.unreachableSince !== undefined) return;
    this.live.unreachableSince = clock.now();
    logger.info({ ...this.#fields(), trouble: trouble.kind }, 'the server of a call cannot be asked; trying again');
    this.#parts.changed();
  }

  /** A task that works and says nothing for long may be stuck. Whether it is, only people can tell: they are shown since when. */
  #noteSilence(): void {
    const { clock, limits, logger } = this.#parts;
    const { silentSince } = this.live;
    delete this.live.silentSince;
    if (this.#state.phase !== 'following' || this.#state.task.status !== 'working') return;
    const { newsAt } = this.#state.task;
    if (!(clock.now() - newsAt >= limits.stuckAfterMs)) return; // Also where an older release wrote no `newsAt`.
    this.live.silentSince = newsAt;
    if (silentSince === newsAt) return;
    logger.warn({ ...this.#fields(), silentMs: clock.now() - newsAt }, 'the task of a call says nothing any more');
    this.#parts.changed();
  }

  #reached(): void {
    this.#pace.succeeded();
    if (this.live.unreachableSince === undefined) return;
    delete this.live.unreachableSince;
    this.#parts.changed();
  }

  /** The next poll, from now on. */
  #schedule(): void {
    this.#pace.after(this.#hintedMs());
  }

  /** The next poll, counted from the last one that whoever followed the call before wrote down. */
  #scheduleFromJournal(polledAt: number | undefined): void {
    const { clock } = this.#parts;
    if (this.#state.phase !== 'following') return;
    const sinceMs = clock.now() - (polledAt ?? this.#state.task.handledAt);
    this.#pace.after(this.#hintedMs() - Math.max(0, sinceMs));
  }

  #hintedMs(): number {
    if (this.#state.phase !== 'following' || isOver(this.#state.task.status)) return 0;
    const { clock, desk, limits, random } = this.#parts;
    const { pollIntervalMs: hintMs, handledAt, taskId } = this.#state.task;
    return pollDelayMs({ hintMs, ageMs: clock.now() - handledAt, pushed: desk.pushes(taskId) }, limits, random);
  }

  /** Pushes are taken like answers to polls; what they say is as true. */
  #listen(taskId: string): void {
    const onTask = (news: RemoteTask): void => {
      if (this.#over.signal.aborted) return;
      this.#pushed = news;
      this.#pace.wake();
    };
    // The net was spread wide while pushes came.
    const onSilence = (): void => {
      this.#pace.after(Math.min(this.#pace.leftMs, this.#hintedMs()));
      this.#pace.wake();
    };
    this.#unfollow ??= this.#parts.desk.follow(taskId, onTask, onSilence);
  }

  async #end(end: CallEnd): Promise<boolean> {
    const { journal, changed, logger } = this.#parts;
    const taskId = this.#state.phase === 'following' ? this.#state.task.taskId : undefined;
    const written = await this.#persistently(() => journal.end(this.#hold, end, taskId));
    if (written === 'lost') return false; // Somebody else follows it, or it has ended.
    this.#hasEnded = true;
    const task = taskId === undefined ? {} : { task: shortId(taskId) };
    logger.info({ ...this.#fields(), ...task, outcome: end.kind }, 'a call is over');
    changed();
    return false;
  }

  /** False: the call is not ours any more, or the event does not fit. */
  async #record(event: CallEvent, how: { flush: boolean }): Promise<boolean> {
    const { journal, changed } = this.#parts;
    const went = callTransition(this.#state, event);
    if (!went.ok || went.state.phase === 'ended') return false;
    const next = went.state;
    if ((await this.#persistently(() => journal.record(this.#hold, next, how))) === 'lost') return false;
    this.#state = next;
    changed();
    return true;
  }

  async #answerTo<Result>(request: () => Promise<Result>): Promise<Answer<Result>> {
    try {
      return { ok: true, value: await request() };
    } catch (error) {
      if (this.#over.signal.aborted) throw error;
      const trouble = error === interrupted ? INTERRUPTED : troubleOf(error);
      if (trouble !== undefined) return { ok: false, trouble };
      // A fault on this side says nothing about the call. It is tried again where that is safe.
      this.#parts.logger.error({ ...this.#fields(), error }, 'a request to a server failed for an unexpected reason');
      return {
        ok: false,
        trouble: { kind: 'unreachable', message: 'the request failed', mayHaveRun: true, retryAfterMs: undefined },
      };
    }
  }

  #persistently<Result>(write: () => Promise<Result>): Promise<Result> {
    const { clock, logger } = this.#parts;
    return persistently(write, { clock, logger, fields: this.#fields(), givenUp: () => this.#over.signal.aborted });
  }

  #fields(): { callId: string; server: string; tool: string } {
    return { callId: shortId(this.record.callId), server: this.record.server, tool: this.record.tool };
  }
}
