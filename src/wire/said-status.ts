import { isJsonObject, type JsonObject } from '../core/index.ts';

/** Stands in the `_meta` of a kept result; what goes out never has it. */
export const SAID_STATUS_META_KEY = 'longcall/status';

/** What somebody who ends a task of 2025-11-25 by his own hand calls its end. */
export type SaidStatus = 'completed' | 'failed';

/**
 * A result as it is kept, with what its author called the task: the revision reads that off `isError`, but who ends tasks by
 * his own hand may say otherwise. A failure without `isError` gets one, since its result would pass for a success.
 */
export function keepSaidStatus(result: unknown, status: SaidStatus): unknown {
  if (!isJsonObject(result)) return result; // It cannot be kept; whoever writes it says so.
  if (status === 'failed') return result.isError === true ? result : { ...result, isError: true };
  if (result.isError !== true) return result;
  const _meta = isJsonObject(result._meta) ? result._meta : {};
  return { ...result, _meta: { ..._meta, [SAID_STATUS_META_KEY]: status } };
}

/** What the author of a kept result called the task; `undefined`: as the revision reads it. */
export function saidStatus(result: JsonObject): SaidStatus | undefined {
  const { _meta } = result;
  return isJsonObject(_meta) && _meta[SAID_STATUS_META_KEY] === 'completed' ? 'completed' : undefined;
}

/** A kept result as its author gave it. */
export function withoutSaidStatus(result: JsonObject): JsonObject {
  if (saidStatus(result) === undefined) return result;
  const { _meta, ...rest } = result;
  const { [SAID_STATUS_META_KEY]: _said, ...kept } = _meta as JsonObject;
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}
