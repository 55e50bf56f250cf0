import {
  type JobContext,
  type JobEnd,
  type JobSnapshot,
  type JsonObject,
  NonRetryableError,
} from '../../core/index.ts';
import { type HttpAnswer, isSuccess } from './answer.ts';
import { HttpTroubleError, RefusedError } from './errors.ts';
import { foundIn } from './found.ts';
import { done, Operation, paceOf } from './operation.ts';
import type { HttpRef } from './ref.ts';
import { jobValues } from './requests.ts';
import { type HttpRequest, type Send, sender } from './send.ts';
import type { Settings } from './settings.ts';
import { errorResult, shownBody } from './tool-result.ts';
import { NOT_NOW, troubleBy } from './trouble-by.ts';
import type { Values } from './values.ts';

/** What does not appear is looked for again after this. */
const LOOK_AGAIN_MS = 2_000;

type Begun = { ref: HttpRef; snapshot: JobSnapshot };
type Followed = HttpRef & { status: string };

/** Jobs of an API, from their start to their end. */
export class HttpJobs {
  readonly #settings: Settings;
  readonly #send: Send;
  readonly #operation: Operation;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#send = sender(settings.reach);
    this.#operation = new Operation(settings, this.#send);
  }

  /** @throws {NonRetryableError} {HttpTroubleError} */
  async start(input: JsonObject, context: JobContext): Promise<Begun> {
    const values = this.#valuesOf(input, context);
    const request = this.#startRequest(values, context);
    let sent = false;
    try {
      const answer = await this.#asked(request, context);
      sent = true;
      if (isSuccess(answer)) return await this.#begun(answer, values, request, context);
      const outstanding = answer.status === 409 && this.#settings.idempotency?.honoured === true; // Of this very key.
      if (answer.status >= 500 || NOT_NOW.includes(answer.status) || outstanding) throw troubleBy(answer);
      const text = `${answer.url.origin} answered ${answer.status}: ${shownBody(answer)}`;
      return { ref: { at: context.now() }, snapshot: failed(text) };
    } catch (error) {
      const refused = error instanceof RefusedError || (sent && error instanceof NonRetryableError);
      if (!refused) throw error;
      if (!sent && !(error as RefusedError).sent) throw new NonRetryableError(error.message, { cause: error });
      return { ref: { at: context.now() }, snapshot: failed(`${error.message}. It was started, and may go on.`) };
    }
  }

  /** @throws {HttpTroubleError} */
  async poll(ref: HttpRef, context: JobContext): Promise<JobSnapshot> {
    try {
      if (isFollowed(ref)) return await this.#operation.poll(ref, context);
      const now = await this.#lookAgain(ref, context);
      if (now === undefined) return { state: 'working' };
      if ('state' in now) return now;
      const snapshot = await this.#operation.poll(now, context);
      return snapshot.state === 'working' ? { ...snapshot, ref: now } : snapshot;
    } catch (error) {
      if (error instanceof RefusedError) return failed(`${error.message}. The job may go on.`);
      throw error;
    }
  }

  /** @throws {HttpTroubleError} */
  async cancel(ref: HttpRef, context: JobContext): Promise<void> {
    try {
      const now = isFollowed(ref) ? ref : await this.#lookAgain(ref, context);
      if (now === undefined) throw notYet('the job to cancel has not appeared yet');
      if (!('state' in now)) await this.#operation.cancel(now, context);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      context.log(`it could not be cancelled: ${error.message}`, 'warning'); // Nor can it ever be.
    }
  }

  /** @throws {NonRetryableError} {HttpTroubleError} when it cannot be told yet */
  async find(input: JsonObject, context: JobContext, since = context.now()): Promise<HttpRef | undefined> {
    const found = await this.#look(input, context).catch((error: unknown) => {
      throw error instanceof RefusedError ? new NonRetryableError(error.message, { cause: error }) : error;
    });
    const { appearsWithinMs = 0 } = this.#settings.find ?? {};
    if (found !== undefined || context.now() - since >= appearsWithinMs) return found;
    throw notYet('whether the job was started cannot be told yet');
  }

  /** What an answer of success to a start makes of it. */
  async #begun(answer: HttpAnswer, values: Values, request: HttpRequest, context: JobContext): Promise<Begun> {
    const { start, find } = this.#settings;
    const at = context.now();
    const { status } = answer;
    if (!start.accepted.has(status) && !start.operation) return { ref: { at }, snapshot: done(answer) };
    const told = { answer, values: { ...values, answer: answer.json }, start: request };
    const ref = this.#operation.refOf(told, at);
    const working: JobSnapshot = { state: 'working', ...paceOf(answer) };
    if (start.operation) {
      const snapshot = await this.#operation.snapshot(answer, ref, context).catch((error: unknown) => {
        if (error instanceof HttpTroubleError && isFollowed(ref)) return working; // Its result cannot be had now.
        throw error;
      });
      if (isFollowed(ref) || snapshot.state !== 'working') return { ref, snapshot };
    }
    if (isFollowed(ref)) return { ref, snapshot: working };
    if (find !== undefined) return { ref: { at, input: values.input }, snapshot: working };
    if (status !== 202 && !start.operation) return { ref, snapshot: done(answer) };
    const message = `it was started (${status}), but the answer told nothing to follow it by (status.url), and find is not set`;
    return { ref, snapshot: { state: 'lost', message } };
  }

  /** The job of this key as the service lists it; `undefined`: it does not. */
  async #look(input: JsonObject, context: JobContext): Promise<Followed | undefined> {
    const { find, start } = this.#settings;
    if (find === undefined) return undefined;
    const values = this.#valuesOf(input, context);
    const answer = await this.#asked(find.request(values), context);
    if (answer.status === 404) return undefined;
    if (!isSuccess(answer)) throw troubleBy(answer);
    const item = foundIn(answer, find, values.job);
    if (item === undefined) return undefined;
    const told = { values: { ...values, answer: item }, start: start.request(values) }; // Only to know where it went.
    const ref = this.#operation.refOf(told, context.now());
    if (isFollowed(ref)) return ref;
    throw new RefusedError(`${answer.url.origin} shows the job, but nothing to follow it by (status.url)`);
  }

  /** One whose start told nothing. `undefined`: it has not appeared yet. */
  async #lookAgain({ at = 0, input }: HttpRef, context: JobContext): Promise<Followed | JobEnd | undefined> {
    const { find } = this.#settings;
    if (find === undefined) return { state: 'lost', message: 'its result was answered at once, and not kept' };
    const found = await this.#look((input ?? {}) as JsonObject, context);
    if (found !== undefined || context.now() - at < find.appearsWithinMs) return found;
    return { state: 'lost', message: 'it was started, and has not appeared since' };
  }

  #asked(request: HttpRequest, context: JobContext): Promise<HttpAnswer> {
    return this.#send(request, context.signal, () => context.now());
  }

  #valuesOf(input: JsonObject, { idempotencyKey }: JobContext): Values {
    return { input, job: jobValues(idempotencyKey, this.#settings.webhookUrl) };
  }

  #startRequest(values: Values, { traceparent }: JobContext): HttpRequest {
    const { start, idempotency } = this.#settings;
    const request = start.request(values);
    const header = idempotency?.header;
    const configured = {
      ...(traceparent !== undefined && { traceparent }),
      ...(header !== undefined && { [header]: values.job[idempotency?.format ?? 'key'] as string }),
      ...request.configured,
    };
    return { ...request, configured, once: true };
  }
}

function isFollowed(ref: HttpRef): ref is Followed {
  return ref.status !== undefined;
}

function failed(text: string): JobEnd {
  return { state: 'done', outcome: 'error', result: errorResult(text) };
}

function notYet(message: string): HttpTroubleError {
  return new HttpTroubleError(message, { code: 'NOT_YET', retryAfterMs: LOOK_AGAIN_MS });
}
