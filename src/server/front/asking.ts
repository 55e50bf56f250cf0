import type { Server } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../core/index.ts';
import { ANYTHING } from '../anything.ts';
import type { RequestId } from '../sdk.ts';

/** A person may take as long as a timer can count. */
const NO_TIMEOUT_MS = 2_147_483_647;

/** Asks the client of a session, on the stream of one of its requests if one is named. Rejects with the client's error as it is. */
export function askOn(
  server: Server,
  method: string,
  params: JsonObject,
  signal: AbortSignal,
  related: { relatedRequestId?: RequestId } = {},
): Promise<JsonObject> {
  const options = { ...related, signal, timeout: NO_TIMEOUT_MS };
  return server.request({ method, params }, ANYTHING as never, options as never) as Promise<JsonObject>;
}
