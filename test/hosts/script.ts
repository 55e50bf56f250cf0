// How hosts speak: their own handshake and their own way to call a tool, out of a recording or by hand.
import type { Json } from '../support/messages.ts';
import { loadRecording } from './recording.ts';

/** What a host sends, but for the ids and the session. */
export interface Template {
  method?: string;
  headers?: Record<string, string>;
  message?: Json;
}

/** What it does while it waits and when it no longer does. */
export interface Habits {
  /** Milliseconds after which it gives up on a call. */
  patienceMs: number;
  /** Progress makes it wait as long again. */
  waitsOnProgress: boolean;
  /** What it does then, and when a person cancels, in this order. */
  stops: readonly ('closes' | 'cancels')[];
  /** The reason it gives with a cancel. */
  reason?: string;
  /** What it answers when it is asked something. */
  asked: Json;
  /** It cancels every call, also when it has been answered. */
  cancelsWhatIsOver?: boolean;
}

export interface Script {
  transport: 'http' | 'stdio';
  handshake: Template[];
  /** A call of a tool. */
  call: Template & { message: Json };
  habits: Habits;
}

/** A host that was recorded: what it sent up to its first `tools/list`, and its first call. */
export function recorded(name: string, habits: Habits): Script {
  const { transport, segments } = loadRecording(name);
  const sent = segments[0]!.lines.flatMap((line): Template[] => {
    if (line.kind !== 'message' || line.from !== 'host') return [];
    const { message, http } = line;
    const { method, headers } = http ?? {};
    return [{ ...(method && { method }), ...(headers && { headers }), ...(message && { message }) }];
  });
  const at = (method: string): number => sent.findIndex(({ message }) => message?.['method'] === method);
  const call = sent[at('tools/call')]!;
  return { transport, handshake: sent.slice(0, at('tools/list') + 1), call: call as Script['call'], habits };
}

/** A host that could not be recorded, by what its vendor and its users say of it. */
export function byHand(
  {
    transport,
    name,
    version,
    capabilities,
    token,
  }: {
    transport: 'http' | 'stdio';
    name: string;
    version: string;
    capabilities: Json;
    token: boolean;
  },
  habits: Habits,
): Script {
  const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const later = { ...accept, 'mcp-session-id': '<session-1>', 'mcp-protocol-version': version };
  const clientInfo = { name, version: '1.0.0' };
  const initialize = { protocolVersion: version, capabilities, clientInfo };
  const _meta = token ? { _meta: { progressToken: 1 } } : {};
  return {
    transport,
    handshake: [
      { headers: accept, message: { jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize } },
      { headers: later, message: { jsonrpc: '2.0', method: 'notifications/initialized' } },
      { headers: later, message: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
    ],
    call: { headers: later, message: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: _meta } },
    habits,
  };
}
