import {
  isJsonObject,
  type JobAdapter,
  type JobSnapshot,
  type JsonObject,
  type JsonValue,
  NonRetryableError,
} from '../../core/index.ts';
import { redactor } from '../processes/redactor.ts';
import { HttpJobs } from './http-jobs.ts';
import type { HttpToolOptions } from './options.ts';
import type { HttpRef } from './ref.ts';
import { settingsOf } from './settings.ts';
import { webhookReader } from './webhook.ts';

/**
 * An API that answers before the work is done, as a job: it starts an operation, asks for its status until it is over, and cancels
 * it with its task. How the API does that is told by `options`, for many by a preset.
 * @throws {TypeError} {RangeError} naming the option that cannot work.
 */
export function httpTool(options: HttpToolOptions): JobAdapter<JsonObject, HttpRef> {
  const settings = settingsOf(options);
  const { cancel, find, idempotency, reach } = settings;
  const { webhook, secrets = [] } = options;
  const jobs = new HttpJobs(settings);
  const without = redactor(secrets);
  return {
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
      const { ref, snapshot } = await jobs.start(input, context).catch((error: unknown) => {
        // It becomes the task's error.
        throw error instanceof NonRetryableError ? new NonRetryableError(without(error.message)) : error;
      });
      return { ref, snapshot: shown(snapshot, without) };
    },
    poll: async (ref, context) => shown(await jobs.poll(ref, context), without),
    ...(cancel !== undefined && { cancel: (ref, context) => jobs.cancel(ref, context) }),
    ...(find !== undefined && { find: (input, context, since) => jobs.find(input, context, since) }),
    ...(webhook !== undefined && { webhook: webhookReader(webhook, reach.clock) }),
  };
}

/** What it is known by from now on is for us, and stays as it is. */
function shown(snapshot: JobSnapshot, without: (text: string) => string): JobSnapshot {
  const { ref, ...said } = snapshot as JobSnapshot & { ref?: JsonValue };
  return {
    ...(put(said as unknown as JsonValue, without) as unknown as JobSnapshot),
    ...(ref !== undefined && { ref }),
  };
}

function put(value: JsonValue, without: (text: string) => string): JsonValue {
  if (typeof value === 'string') return without(value);
  if (Array.isArray(value)) return value.map((item) => put(item, without));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, put(item, without)])) as JsonObject;
}
