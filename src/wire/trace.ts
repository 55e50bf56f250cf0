import type { JsonObject } from '../core/index.ts';

/** In a request's `_meta`: the trace it belongs to. @see W3C Trace Context */
const TRACEPARENT = 'traceparent';

/** Members of the `_meta` of a request that is part of a trace. */
export function encodeTrace(traceparent: string | undefined): JsonObject {
  return traceparent === undefined ? {} : { [TRACEPARENT]: traceparent };
}
