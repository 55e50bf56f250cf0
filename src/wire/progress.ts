import type { JsonObject, TaskProgress } from '../core/index.ts';

/** A `notifications/progress`; it has not changed since tasks exist, but for the key that says of which. @param _meta that key */
export function encodeProgress(
  progressToken: string | number,
  { progress, total, message }: TaskProgress,
  _meta: JsonObject,
): { method: string; params: JsonObject } {
  const params = {
    progressToken,
    progress,
    ...(total !== undefined && { total }),
    ...(message !== undefined && { message }),
    _meta,
  };
  return { method: 'notifications/progress', params };
}
