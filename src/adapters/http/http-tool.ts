import {
  type JobAdapter,
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
import type { HttpToolOptions } from './options.ts';
import type { HttpRef } from './ref.ts';
import { jobValues } from './requests.ts';
import { type HttpRequest, sender } from './send.ts';
import { settingsOf } from './settings.ts';
import { errorResult, shownBody } from './tool-result.ts';
import { NOT_NOW, troubleBy } from './trouble-by.ts';
import type { Values } from './values.ts';
import { webhookReader } from './webhook.ts';

/** What does not appear is looked for again after this. */
const LOOK_AGAIN_MS = 2_000;

/**
 * An API that answers before the work is done, as a job: it starts an operation, asks for its status until it is over, and cancels
 * it with its task. How the API does that is told by `options`, for many by a preset.
 * @throws {TypeError} {RangeError} naming the option that cannot work.
 */
export function httpTool(options: HttpToolOptions): JobAdapter<JsonObject, HttpRef> {
  const settings = settingsOf(options);
  const { start, cancel, find, idempotency, webhookUrl } = settings;
  const send = sender(settings.reach);
  const operation = new Operation(settings, send);

  const valuesOf = (input: JsonObject, { idempotencyKey }: JobContext): Values => ({
    input,
    job: jobValues(idempotencyKey, webhookUrl),
  });

  const startRequest = (values: Values, { traceparent }: JobContext): HttpRequest => {
    const request = start.request(values);
    const header = idempotency?.header;
    const configured = {
      ...(traceparent !== undefined && { traceparent }),
      ...(header !== undefined && { [header]: values.job[idempotency?.format ?? 'key'] as string }),
      ...request.configured,
    };
    return { ...request, configured, once: true };
  };

  /** What the answer to a start makes of it. */
  const begun = async (
    answer: HttpAnswer,
    input: JsonObject,
    values: Values,
    request: HttpRequest,
    context: JobContext,
  ): Promise<{ ref: HttpRef; snapshot: JobSnapshot }> => {
    const at = context.now();
    const { status } = answer;
    const goesOn = start.accepted.has(status);
    if (!goesOn && !start.operation) return { ref: { at }, snapshot: done(answer) };
    const ref = operation.refOf({ answer, values: { ...values, answer: answer.json }, start: request }, at);
    if (start.operation) {
      const snapshot = await operation.snapshot(answer, ref, context);
      if (ref.status !== undefined || snapshot.state !== 'working') return { ref, snapshot };
    }
    if (ref.status !== undefined) return { ref, snapshot: { state: 'working', ...paceOf(answer) } };
    if (find !== undefined) return { ref: { at, input }, snapshot: { state: 'working', ...paceOf(answer) } };
    if (status !== 202 && !start.operation) return { ref, snapshot: done(answer) };
    const message = `it was started (${status}), but the answer told nothing to follow it by (status.url), and find is not set`;
    return { ref, snapshot: { state: 'lost', message } };
  };

  /** The job of this key as the service lists it; `undefined`: it does not. */
  const look = async (input: JsonObject, context: JobContext): Promise<Followed | undefined> => {
    if (find === undefined) return undefined;
    const values = valuesOf(input, context);
    const answer = await send(find.request(values), context.signal, () => context.now());
    if (answer.status === 404) return undefined;
    if (!isSuccess(answer)) throw troubleBy(answer);
    const item = foundIn(answer, find, values.job);
    if (item === undefined) return undefined;
    const told = { values: { ...values, answer: item }, start: start.request(values) }; // Only to know where it went.
    const ref = operation.refOf(told, context.now());
    if (isFollowed(ref)) return ref;
    throw new RefusedError(`${answer.url.origin} shows the job, but nothing to follow it by (status.url)`);
  };

  /** One whose start told nothing. */
  const lookAgain = async ({ at = 0, input }: HttpRef, context: JobContext): Promise<Followed | JobEnd | undefined> => {
    if (find === undefined) return { state: 'lost', message: 'its result was answered at once, and not kept' };
    const found = await look((input ?? {}) as JsonObject, context);
    if (found !== undefined || context.now() - at < find.appearsWithinMs) return found;
    return { state: 'lost', message: 'it was started, and has not appeared since' };
  };

  const adapter: JobAdapter<JsonObject, HttpRef> = {
    kind: 'http',
    caps: {
      cancel: cancel === undefined ? 'none' : 'request',
      logs: 'none',
      input: false,
      push: false,
      idempotentStart: idempotency?.honoured ?? false,
      survives: true,
    },

    async start(input, context) {
      const values = valuesOf(input, context);
      const request = startRequest(values, context);
      let sent = false;
      try {
        const answer = await send(request, context.signal, () => context.now());
        sent = true;
        if (isSuccess(answer)) return await begun(answer, input, values, request, context);
        const outstanding = answer.status === 409 && adapter.caps.idempotentStart; // The first of this key is not done.
        if (answer.status >= 500 || NOT_NOW.includes(answer.status) || outstanding) throw troubleBy(answer);
        const text = `${answer.url.origin} answered ${answer.status}: ${shownBody(answer)}`;
        return { ref: { at: context.now() }, snapshot: failed(text) };
      } catch (error) {
        const refused = error instanceof RefusedError || (sent && error instanceof NonRetryableError);
        if (!refused) throw error;
        if (!sent && !(error as RefusedError).sent) throw new NonRetryableError(error.message, { cause: error });
        return { ref: { at: context.now() }, snapshot: failed(`${error.message}. It was started, and may go on.`) };
      }
    },

    async poll(ref, context) {
      try {
        if (isFollowed(ref)) return await operation.poll(ref, context);
        const now = await lookAgain(ref, context);
        if (now === undefined) return { state: 'working' };
        if ('state' in now) return now;
        const snapshot = await operation.poll(now, context);
        return snapshot.state === 'working' ? { ...snapshot, ref: now } : snapshot;
      } catch (error) {
        if (error instanceof RefusedError) return failed(`${error.message}. The job may go on.`);
        throw error;
      }
    },
  };

  if (cancel !== undefined) {
    adapter.cancel = async (ref, context) => {
      if (isFollowed(ref)) return operation.cancel(ref, context);
      const now = await lookAgain(ref, context);
      if (now === undefined) throw notYet('the job to cancel has not appeared yet');
      if (!('state' in now)) await operation.cancel(now, context);
    };
  }
  if (find !== undefined) {
    adapter.find = async (input, context, since = context.now()) => {
      const found = await look(input, context);
      if (found !== undefined || context.now() - since >= find.appearsWithinMs) return found;
      throw notYet('whether the job was started cannot be told yet');
    };
  }
  const { webhook } = options;
  if (webhook !== undefined) adapter.webhook = webhookReader(webhook, settings.reach.clock);
  return adapter;
}

type Followed = HttpRef & { status: string };

function isFollowed(ref: HttpRef): ref is Followed {
  return ref.status !== undefined;
}

function failed(text: string): JobEnd {
  return { state: 'done', outcome: 'error', result: errorResult(text) };
}

function notYet(message: string): HttpTroubleError {
  return new HttpTroubleError(message, { code: 'NOT_YET', retryAfterMs: LOOK_AGAIN_MS });
}
