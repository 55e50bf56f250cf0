import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { type PeerTool, readTool } from '../wire/peer-tool.ts';
import type { Asking } from './connection.ts';
import { RemoteProtocolError } from './remote-errors.ts';

/** A server that always has another page would never be done. */
const MAX_PAGES = 1_000;

/** Sends one `tools/list`. */
type Ask = (params: JsonObject) => Promise<JsonObject>;

/** All tools of a server, page by page, as they came. @see 2025-11-25 server/tools, "Listing Tools" */
export async function* toolPages(ask: Ask): AsyncGenerator<JsonValue> {
  let params: JsonObject = {};
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { tools, nextCursor } = await ask(params);
    if (!Array.isArray(tools)) throw new RemoteProtocolError('result.tools: expected an array');
    yield* tools;
    if (typeof nextCursor !== 'string') return;
    params = { cursor: nextCursor };
  }
  throw new RemoteProtocolError(`tools/list: more than ${MAX_PAGES} pages`);
}

interface Listing {
  /** As the server declared them: one without tools is not asked. */
  capabilities: unknown;
  requestTimeoutMs: number;
  request: (method: string, params: JsonObject, asking: Asking) => Promise<JsonObject>;
}

/** Reads the whole list. Of two tools by one name the first counts, as it is the one that is called. */
export async function listTools(
  { capabilities, requestTimeoutMs: timeoutMs, request }: Listing,
  signal: AbortSignal | undefined,
): Promise<PeerTool[]> {
  if (!isJsonObject(capabilities) || !isJsonObject(capabilities.tools)) return [];
  const found = new Map<string, PeerTool>();
  const ask: Ask = (params) => request('tools/list', params, { timeoutMs, signal, hangUp: true });
  for await (const one of toolPages(ask)) {
    const tool = readTool(one);
    if (tool !== undefined && !found.has(tool.name)) found.set(tool.name, tool);
  }
  return [...found.values()];
}
