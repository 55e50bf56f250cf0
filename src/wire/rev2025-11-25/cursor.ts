import { isJsonObject, type Principal } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';
import { boundTo, type Seal } from '../seal.ts';
import { METHODS } from './names.ts';

/**
 * The cursor that the next `tasks/list` of this principal may bring. What the store gave as the place to go on may name
 * tasks of others, so it goes out sealed; it opens for this principal alone.
 * @param position where the store says the next page begins
 * @see 2025-11-25 pagination; tasks, "Task Listing"
 */
export function encodeCursor(position: string, principal: Principal, seal: Seal): string {
  return seal.close(position, boundTo(METHODS.list, principal));
}

/** The place where a `tasks/list` wants to go on; `undefined`: at the beginning. */
export function decodeCursor(params: unknown, principal: Principal, seal: Seal): Decoded<string | undefined> {
  const cursor = isJsonObject(params) ? params.cursor : undefined;
  if (cursor === undefined) return { ok: true, value: undefined };
  const position = typeof cursor === 'string' ? seal.open(cursor, boundTo(METHODS.list, principal)) : undefined;
  if (position !== undefined) return { ok: true, value: position };
  return {
    ok: false,
    message: 'params.cursor: not a cursor that an earlier page of this list gave; begin without one',
  };
}
