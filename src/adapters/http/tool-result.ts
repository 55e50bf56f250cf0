import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { HttpAnswer } from './answer.ts';

/** Of what a service says about an error, so much is shown, in characters. */
const SHOWN = 4_096;

/** The result of a tool that got this from a service: words of the service, as data. */
export function jsonResult(value: JsonValue): JsonObject {
  return {
    content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }],
    ...(isJsonObject(value) && { structuredContent: value }),
  };
}

export function answerResult({ json, body, type }: HttpAnswer): JsonObject {
  if (json !== undefined) return jsonResult(json);
  if (body.length === 0) return { content: [] };
  const data = body.toString('base64');
  const [kind] = type.split('/', 1);
  if (kind === 'image' || kind === 'audio') return { content: [{ type: kind, data, mimeType: type }] };
  const text = textOf(body);
  if (text !== undefined) return { content: [{ type: 'text', text }] };
  const resource = { uri: 'urn:longcall:result', mimeType: type || 'application/octet-stream', blob: data };
  return { content: [{ type: 'resource', resource }] };
}

export function errorResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}

/** What an answer says, as far as it is text and not too long. */
export function shownBody({ body }: HttpAnswer): string {
  const text = textOf(body) ?? `(${body.length} bytes that are no text)`;
  return shortened(text);
}

export function shortened(text: string, length = SHOWN): string {
  return text.length <= length
    ? text
    : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')} … (${text.length - length} characters more)`;
}

function textOf(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}
