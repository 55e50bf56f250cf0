import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { OUTCOME_META_KEY } from '../outbox.ts';
import { SAID_STATUS_META_KEY } from '../said-status.ts';
import { FOREIGN_META_KEYS, RELATED_TASK_META_KEY } from './names.ts';

const RESERVED_META_KEYS = new Set<string>([
  OUTCOME_META_KEY,
  SAID_STATUS_META_KEY,
  RELATED_TASK_META_KEY,
  ...FOREIGN_META_KEYS,
]);

/**
 * A tool's own result as this revision has it: without what is not a tool's to say (which kind of result it is, and what
 * ties a message to a task), and with structured content that is an object, since nothing else is legal here. Any other
 * value is wrapped, as the SDK wraps the schema it lists for it, and said in a text block. What answers another method than
 * `tools/call` has no such members.
 * @see 2025-11-25 schema, `CallToolResult`
 */
export function plainResult(result: JsonObject, method = 'tools/call'): JsonObject {
  if (method !== 'tools/call') return withoutForeign(result);
  const { structuredContent } = result;
  const blocks = Array.isArray(result.content) ? result.content : [];
  const content =
    structuredContent === undefined || isJsonObject(structuredContent) ? blocks : saying(structuredContent, blocks);
  return withoutForeign({ ...result, content });
}

function withoutForeign(result: JsonObject): JsonObject {
  const members = Object.entries(result).flatMap(([name, value]): [string, JsonValue][] => {
    switch (name) {
      case 'resultType':
        return [];
      case 'structuredContent':
        return [[name, isJsonObject(value) ? value : { result: value }]];
      case '_meta': {
        const kept = isJsonObject(value) ? Object.entries(value).filter(([key]) => !RESERVED_META_KEYS.has(key)) : [];
        return kept.length > 0 ? [[name, Object.fromEntries(kept)]] : [];
      }
      default:
        return [[name, value]];
    }
  });
  return Object.fromEntries(members);
}

function saying(value: JsonValue, blocks: JsonValue[]): JsonValue[] {
  const text = JSON.stringify(value);
  const said = blocks.some((block) => isJsonObject(block) && block.type === 'text' && block.text === text);
  return said ? blocks : [...blocks, { type: 'text', text }];
}

/** Whole results are for `tasks/result`; a status comes with every poll. */
const MAX_FAILURE_LENGTH = 500;

/** What a result with `isError` says, short enough for a status. */
export function failureText(result: JsonObject): string {
  const blocks = Array.isArray(result.content) ? result.content : [];
  const text = blocks.map((block) => (isJsonObject(block) && block.type === 'text' ? block.text : '')).find(isText);
  if (text === undefined) return 'the tool reported an error';
  if (text.length <= MAX_FAILURE_LENGTH) return text;
  // Not between the halves of a letter that takes two.
  return `${text.slice(0, MAX_FAILURE_LENGTH - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
