import { isJsonObject, type JsonValue } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';

/** What a requestor wishes for the task it asks for; the receiver decides. */
export interface TaskWish {
  /** How long to keep the task, in milliseconds from its creation; null: for ever. */
  ttlMs?: number | null;
  /** How often it means to poll, in milliseconds. */
  pollIntervalMs?: number;
}

/** Where `params.task` stands from when the call arrives until it is decoded. */
const KEPT_TASK = 'longcall/task';

/**
 * Puts the `task` of a `tools/call` into its `_meta`, where it reaches a tool's callback: the SDK looks at the member, but
 * does not hand it on. Changes the message in place; for requests of legacy sessions only, as later revisions ignore it.
 */
export function keepTask(message: unknown): void {
  if (!isJsonObject(message) || message.method !== 'tools/call' || !isJsonObject(message.params)) return;
  const { params } = message;
  const { _meta } = params;
  if (_meta !== undefined && !isJsonObject(_meta)) return; // Not a request; the SDK says so.
  // Nobody else may put anything there.
  if (_meta !== undefined) delete _meta[KEPT_TASK];
  if (!Object.hasOwn(params, 'task')) return;
  params._meta = { ..._meta, [KEPT_TASK]: params.task as JsonValue };
  delete params.task;
}

/** Where the arguments of a call stand, for tools whose SDK hands on only what it could check by a schema of its kind. */
const KEPT_ARGUMENTS = 'longcall/arguments';

/** Methods whose requests have arguments. */
const WITH_ARGUMENTS = new Set<unknown>(['tools/call', 'prompts/get']);

/** Puts the arguments of a call into its `_meta` too, where they reach every tool and prompt. Changes the message in place. */
export function keepArguments(message: unknown): void {
  if (!isJsonObject(message) || !WITH_ARGUMENTS.has(message.method) || !isJsonObject(message.params)) return;
  const { params } = message;
  const { _meta, arguments: given = {} } = params;
  if (_meta !== undefined && !isJsonObject(_meta)) return; // Not a request; the SDK says so.
  params._meta = { ..._meta, [KEPT_ARGUMENTS]: given };
}

/** The arguments of a call that went through {@link keepArguments}. */
export function keptArguments(meta: unknown): JsonValue {
  return (isJsonObject(meta) ? meta[KEPT_ARGUMENTS] : undefined) ?? {};
}

/** `params.task` of a call that went through {@link keepTask}; `undefined` when it had none. */
export function keptTask(meta: unknown): unknown {
  return isJsonObject(meta) && Object.hasOwn(meta, KEPT_TASK) ? meta[KEPT_TASK] : undefined;
}

/**
 * What is wished for by `params.task`. A wrong time to live is refused, since a requestor that believes in another one
 * would come too late; null was legal in early SDKs and means the longest there is. A poll interval is in no text, but
 * the official SDK sends it: taken if it makes sense. Everything else is ignored.
 * @see 2025-11-25 schema, `TaskMetadata`
 */
export function decodeTask(task: unknown): Decoded<TaskWish> {
  if (!isJsonObject(task)) return { ok: false, message: 'params.task: expected an object' };
  const { ttl, pollInterval } = task;
  if (ttl !== undefined && ttl !== null && !isDuration(ttl)) {
    return { ok: false, message: 'params.task.ttl: expected a whole number of milliseconds of at least 1' };
  }
  return {
    ok: true,
    value: {
      ...(ttl !== undefined && { ttlMs: ttl === null ? null : atMostSafe(ttl) }),
      ...(isDuration(pollInterval) && { pollIntervalMs: atMostSafe(pollInterval) }),
    },
  };
}

function isDuration(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1;
}

function atMostSafe(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}
