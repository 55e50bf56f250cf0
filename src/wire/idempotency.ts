import { isJsonObject, type JsonObject } from '../core/index.ts';

/** In a request's `_meta`: the same key again is the same task. The same name on every revision; ours. */
const KEY_META_KEY = 'longcall/idempotencyKey';
/**
 * In the `_meta` of a call: it may have arrived before, and was made so many milliseconds ago. Where it would not be found if it had,
 * it is refused rather than run again.
 */
const REPEAT_META_KEY = 'longcall/repeat';
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

/** Members of the `_meta` of a call that carries a key. @param repeatAgeMs it may have arrived before, and is so old */
export function encodeIdempotencyKey(key: string, repeatAgeMs?: number): JsonObject {
  const repeat = repeatAgeMs === undefined ? {} : { [REPEAT_META_KEY]: Math.max(0, Math.floor(repeatAgeMs)) };
  return { [KEY_META_KEY]: key, ...repeat };
}

/** How many milliseconds ago a call was made that may have arrived before; `undefined`: it does not say that it may. */
export function decodeRepeat(meta: unknown): number | undefined {
  const repeat = isJsonObject(meta) ? meta[REPEAT_META_KEY] : undefined;
  return typeof repeat === 'number' && repeat >= 0 ? repeat : undefined;
}

/**
 * Takes the method from a call that a client sends once more, of a tool whose calls leave nothing behind that could be found
 * by a key: whoever serves it then answers that there is no such method, and runs nothing.
 * @param keyed whether calls of a tool can be found; asked of repeats only
 * @returns the id of the request, whose answer is {@link refusedRepeat}; undefined: nothing was taken
 */
export function refuseRepeat(message: unknown, keyed: (name: string) => boolean): string | number | undefined {
  if (!isJsonObject(message) || message.method !== 'tools/call' || !isJsonObject(message.params)) return undefined;
  const { id } = message;
  const { name, _meta } = message.params;
  if (decodeRepeat(_meta) === undefined) return undefined;
  if ((typeof id !== 'string' && typeof id !== 'number') || (typeof name === 'string' && keyed(name))) return undefined;
  message.method = 'longcall/refused';
  return id;
}

/** The answer to such a call of a tool whose calls leave nothing behind that could be found by a key. */
export function refusedRepeat(id: string | number): JsonObject {
  const message = 'this tool never runs as a task: whether the call ran before is not known, so it was not run again';
  return { jsonrpc: '2.0', id, error: { code: -32602, message } };
}

/** Whether a server says that it honours keys, in either of the places where it can: by extension, or as an experiment. */
export function honoursIdempotencyKeys(capabilities: unknown): boolean {
  const { extensions, experimental } = isJsonObject(capabilities) ? capabilities : {};
  return [extensions, experimental].some((part) => isJsonObject(part) && isJsonObject(part[IDEMPOTENCY_EXTENSION]));
}
