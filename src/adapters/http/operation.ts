import type { JobContext, JobEnd, JobSnapshot } from '../../core/index.ts';
import { unreachable } from '../../core/index.ts';
import { type HttpAnswer, isSuccess } from './answer.ts';
import type { HttpRef } from './ref.ts';
import { checkOrigin, type Send } from './send.ts';
import type { Settings } from './settings.ts';
import type { Standing } from './standing.ts';
import { answerResult, errorResult, jsonResult } from './tool-result.ts';
import { troubleBy } from './trouble-by.ts';
import type { Told } from './url-source.ts';

/** Answers to a cancel that say that it is over, or gone. */
const OVER_OR_GONE = [404, 409, 410];
/** And that this cannot be cancelled, whoever asks how often. */
const NEVER = [400, 405, 422, 501];

/** An operation that goes on at a service: where its status is, what that says, and how it is cancelled. */
export class Operation {
  readonly #settings: Settings;
  readonly #send: Send;

  constructor(settings: Settings, send: Send) {
    this.#settings = settings;
    this.#send = send;
  }

  /**
   * What an operation is known by. Without `status` in it: nothing was told.
   * @throws {RefusedError} when what was told must not be asked for
   */
  refOf(told: Omit<Told, 'status'>, at: number): HttpRef {
    const { status, cancel, id, reach } = this.#settings;
    const url = status.url(told);
    if (url === undefined) return { at };
    checkOrigin(url, reach);
    const all: Told = { ...told, status: url };
    const cancelUrl = cancel?.url(all);
    if (cancelUrl !== undefined) checkOrigin(cancelUrl, reach);
    const results = status.results.flatMap((source, place) => {
      const at = 'url' in source ? source.url(all) : undefined;
      return at === undefined ? [] : [[String(place), at.href]];
    });
    const called = id?.(told.values.answer);
    return {
      at,
      status: url.href,
      ...(cancelUrl !== undefined && { cancel: cancelUrl.href }),
      ...(results.length > 0 && { results: Object.fromEntries(results) as Record<string, string> }),
      ...((typeof called === 'string' || typeof called === 'number') && { id: String(called) }),
    };
  }

  /** @throws {RefusedError} {HttpTroubleError} */
  async poll(ref: HttpRef & { status: string }, context: JobContext): Promise<JobSnapshot> {
    const answer = await this.#get(new URL(ref.status), context);
    const { status } = answer;
    if (status === 404 || status === 410) {
      const isNew = status === 404 && context.now() - (ref.at ?? 0) < this.#settings.status.appearsWithinMs;
      if (isNew) return { state: 'working', ...paceOf(answer) };
      return { state: 'lost', message: `the service does not know it any more (${status})` };
    }
    if (!isSuccess(answer)) throw troubleBy(answer);
    if (answer.seeOther) return done(answer);
    return this.snapshot(answer, ref, context);
  }

  /** What an answer of success says about it. @throws {RefusedError} {HttpTroubleError} */
  async snapshot(answer: HttpAnswer, ref: HttpRef, context: JobContext): Promise<JobSnapshot> {
    const standing = this.#settings.status.standing(answer);
    switch (standing.is) {
      case 'working':
        return { ...working(standing), ...paceOf(answer) };
      case 'done':
        return this.#result(answer, ref, context);
      case 'failed':
        return { state: 'done', outcome: 'error', result: errorResult(standing.message) };
      case 'cancelled':
        return { state: 'cancelled', ...(standing.message !== undefined && { message: standing.message }) };
      case 'lost':
        return { state: 'lost', message: standing.message };
      default:
        return unreachable(standing);
    }
  }

  /** @throws {RefusedError} {HttpTroubleError} when it may help to ask again */
  async cancel({ cancel: url }: HttpRef, context: JobContext): Promise<void> {
    const { cancel, headers } = this.#settings;
    if (cancel === undefined || url === undefined) return;
    const { method, body } = cancel;
    const request = { method, url: new URL(url), configured: headers, body, once: true };
    const answer = await this.#send(request, context.signal, () => context.now());
    if (isSuccess(answer) || OVER_OR_GONE.includes(answer.status)) return;
    if (!NEVER.includes(answer.status)) throw troubleBy(answer);
    context.log(`it could not be cancelled: ${answer.url.origin} answered ${answer.status}`, 'warning');
  }

  async #result(last: HttpAnswer, ref: HttpRef, context: JobContext): Promise<JobEnd> {
    for (const [place, source] of this.#settings.status.results.entries()) {
      if (typeof source === 'function') {
        const value = source(last.json);
        if (value !== undefined) return { state: 'done', outcome: 'ok', result: jsonResult(value) };
        continue;
      }
      const known = ref.results?.[place];
      const url = source.url(toldBy(last)) ?? (known === undefined ? undefined : new URL(known));
      if (url === undefined || url.href === ref.status) continue;
      const answer = await this.#get(url, context);
      if (isSuccess(answer)) return done(answer);
      if (answer.status === 404 || answer.status === 410) {
        return { state: 'lost', message: `its result is not there any more (${answer.status})` };
      }
      throw troubleBy(answer);
    }
    return done(last);
  }

  #get(url: URL, context: JobContext): Promise<HttpAnswer> {
    const request = { method: 'GET', url, configured: this.#settings.headers };
    return this.#send(request, context.signal, () => context.now());
  }
}

/** How long to leave it alone, where it says so. */
export function paceOf({ retryAfterMs }: HttpAnswer): { nextPollMs?: number; pollHintMs?: number } {
  return retryAfterMs === undefined ? {} : { nextPollMs: retryAfterMs, pollHintMs: retryAfterMs };
}

export function done(answer: HttpAnswer): JobEnd {
  return { state: 'done', outcome: 'ok', result: answerResult(answer) };
}

function working({ message, progress }: Standing & { is: 'working' }): JobSnapshot & { state: 'working' } {
  return { state: 'working', ...(message !== undefined && { message }), ...(progress !== undefined && { progress }) };
}

function toldBy(answer: HttpAnswer): Told {
  const job = { key: undefined, uuid: undefined, webhook: undefined };
  return { answer, values: { input: null, answer: answer.json, job } };
}
