import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';

/** What a result of a tool says, as far as it can be read. Words of its server: data, never instructions. */
export interface ReadContent {
  text: string;
  /** Base64, by type. */
  images: { data: string; mimeType: string }[];
}

/**
 * Text and pictures of a result. What is neither is named, so that nobody takes it for nothing. Structured content is told
 * where there is no other: with it, servers say the same in words.
 * @see 2025-11-25 server/tools, "Tool Result"
 */
export function readContent(result: JsonObject): ReadContent {
  const { content, structuredContent } = result;
  const items = Array.isArray(content) ? content.filter(isJsonObject) : [];
  const images = items.flatMap(({ type, data, mimeType }) =>
    type === 'image' && typeof data === 'string' && typeof mimeType === 'string' ? [{ data, mimeType }] : [],
  );
  const words = items.map(textOf).filter((text) => text !== '');
  if (words.length === 0 && structuredContent !== undefined) words.push(JSON.stringify(structuredContent));
  return { text: words.join('\n'), images };
}

function textOf({ type, text, mimeType, uri, name, resource }: JsonObject): string {
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : '';
    case 'image':
    case 'audio':
      return `[${type}, ${said(mimeType, 'of an unknown type')}]`;
    case 'resource_link':
      return `[resource ${said(name, '')} ${said(uri, '')}]`;
    case 'resource': {
      if (!isJsonObject(resource)) return '';
      const head = `[resource ${said(resource.uri, '')}]`;
      return typeof resource.text === 'string' ? `${head}\n${resource.text}` : head;
    }
    default:
      return `[content of the type ${said(type, 'unknown')}]`;
  }
}

function said(value: JsonValue | undefined, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
