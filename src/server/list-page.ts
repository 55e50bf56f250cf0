import type { Principal, TaskRecord } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { decodeCursor, encodeCursor } from '../wire/rev2025-11-25/index.ts';
import { decoded } from './method.ts';
import { sealOf } from './seals.ts';

/** Tasks on a page of a list. */
const PAGE = 50;

/**
 * The page of its own tasks that a `tasks/list` asks for, with the cursor of the next one.
 * @throws {Error} as the SDK wants it, when the cursor is none
 */
export async function listPage(
  params: unknown,
  principal: Principal,
  tasks: Tasks,
): Promise<{ tasks: TaskRecord[]; nextCursor?: string }> {
  const seal = await sealOf(tasks);
  const cursor = decoded(decodeCursor(params, principal, seal));
  const page = await tasks.engine.list(principal, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
  const { nextCursor } = page;
  return {
    tasks: page.tasks,
    ...(nextCursor !== undefined && { nextCursor: encodeCursor(nextCursor, principal, seal) }),
  };
}
