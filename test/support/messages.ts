// Messages as they go over the wire, for tests that speak it themselves.
export type Json = Record<string, unknown>;

/** The capabilities of a client that knows tasks and can be asked by forms. */
export const withTasks = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A request of 2026-07-28; `meta` is added to what each one has to carry. */
export function request(
  id: unknown,
  method: string,
  params: Json,
  capabilities: Json = withTasks,
  meta: Json = {},
): Json {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...meta,
  };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
}

export function response(id: unknown, result: unknown): Json {
  return { jsonrpc: '2.0', id, result };
}

export function errorResponse(id: unknown, error: Json): Json {
  return { jsonrpc: '2.0', id, error };
}

export function notification(method: string, params: Json): Json {
  return { jsonrpc: '2.0', method, params };
}

/** An elicitation as it travels in a result. */
export function question(message: string, mode: 'form' | 'url' = 'form'): Json {
  const more =
    mode === 'form' ? { requestedSchema: { type: 'object', properties: {} } } : { url: 'https://example.test/' };
  return { method: 'elicitation/create', params: { mode, message, ...more } };
}
