import { isJsonObject } from '../core/index.ts';

/**
 * The response, without an `id` that no schema of MCP allows: a body that could not be read as a request is answered
 * with `id: null`, as JSON-RPC has it, where both revisions want a string, an integer or nothing. Answers that are no
 * HTTP error pass as they are.
 */
export async function withoutNullId(response: Response): Promise<Response> {
  if (response.status < 400 || response.headers.get('content-type')?.startsWith('application/json') !== true) {
    return response;
  }
  const { status, statusText, headers } = response;
  const text = await response.text();
  return new Response(legalBody(text), { status, statusText, headers });
}

function legalBody(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return text;
  }
  if (!isJsonObject(body) || typeof body.id === 'string' || Number.isSafeInteger(body.id)) return text;
  const { id: _illegal, ...rest } = body;
  return JSON.stringify(rest);
}
