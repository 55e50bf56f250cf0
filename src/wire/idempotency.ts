import { isJsonObject, type JsonObject } from '../core/index.ts';

/** In a request's `_meta`: the same key again is the same task. The same name on every revision; ours. */
const KEY_META_KEY = 'longcall/idempotencyKey';
/** By this name a server says that it honours keys; without it a client must never send a call twice. */
export const IDEMPOTENCY_EXTENSION = 'longcall/idempotency';
/** On a handle: the task existed before this request. */
export const EXISTING_META_KEY = 'longcall/existing';

const MAX_KEY_LENGTH = 256;

/** The request's idempotency key, if it carries one. Bad peer input never throws. */
export function decodeIdempotencyKey(
  meta: unknown,
): { ok: true; value: string | undefined } | { ok: false; message: string } {
  const key = isJsonObject(meta) ? meta[KEY_META_KEY] : undefined;
  if (key === undefined) return { ok: true, value: undefined };
  if (typeof key === 'string' && key.length > 0 && key.length <= MAX_KEY_LENGTH) return { ok: true, value: key };
  return { ok: false, message: `_meta["${KEY_META_KEY}"]: expected a string of 1 to ${MAX_KEY_LENGTH} characters` };
}

/** Members of the `_meta` of a call that carries a key. */
export function encodeIdempotencyKey(key: string): JsonObject {
  return { [KEY_META_KEY]: key };
}

/** Whether a server says that it honours keys, in either of the places where it can: by extension, or as an experiment. */
export function honoursIdempotencyKeys(capabilities: unknown): boolean {
  const { extensions, experimental } = isJsonObject(capabilities) ? capabilities : {};
  return [extensions, experimental].some((part) => isJsonObject(part) && isJsonObject(part[IDEMPOTENCY_EXTENSION]));
}
