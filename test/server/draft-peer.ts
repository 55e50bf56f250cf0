import type { Json } from '../support/messages.ts';
import { isAnswer, type LegacyOptions, LegacyPeer, type Reading } from './legacy-peer.ts';
import type { Served } from './peer.ts';

export const TASK = 'modelcontextprotocol.io/task';
export const RELATED = 'modelcontextprotocol.io/related-task';

export const related = (taskId: string): Json => ({ [RELATED]: { taskId } });
export const isCreated = (message: Json): boolean => message['method'] === 'notifications/tasks/created';

/** What makes a request a task by the first draft. */
export const augmented = (taskId: unknown, more: Json = {}): Json => ({ _meta: { [TASK]: { taskId, ...more } } });

/** A session that has tasks by the first draft, if the server speaks it. */
export function draftPeer(
  served: Pick<Served, 'peer'>,
  options: LegacyOptions = {},
): Promise<LegacyPeer & { hello: Json }> {
  return LegacyPeer.connect(served, { version: '2025-06-18', ...options });
}

/** Calls a tool as a task of this id, and reads its stream; comes back once the task is known to be there. */
export async function startDraft(
  peer: LegacyPeer,
  name: string,
  taskId: string,
  options: { args?: Json; keepAlive?: unknown; progressToken?: unknown; signal?: AbortSignal; id?: number } = {},
): Promise<Reading> {
  const { args = {}, keepAlive, progressToken, signal, id } = options;
  const task = augmented(taskId, keepAlive === undefined ? {} : { keepAlive });
  const _meta = { ...(task['_meta'] as Json), ...(progressToken !== undefined && { progressToken }) };
  const reading = await peer.follow('tools/call', { name, arguments: args, _meta }, signal, id);
  await reading.first((message) => isCreated(message) || isAnswer(message));
  return reading;
}

/** The answer to the request whose stream this is. */
export async function answerOf(reading: Reading): Promise<Json> {
  return reading.first(isAnswer);
}
