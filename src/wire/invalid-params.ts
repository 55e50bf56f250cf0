import { isJsonObject, type JsonValue } from '../core/index.ts';
import { internalError, invalidParams } from './errors.ts';

/** Of more problems than these, the others follow from them as a rule. */
const MAX_TOLD = 3;

/** What the SDK says of a call before it says what is wrong with it. */
const PREAMBLE = /^Invalid \S+ request: (?=\[)/;

/**
 * The SDK answers params that do not fit their method with all that its validator has to say, as JSON, and for most methods
 * as an internal error. It is the request that is at fault: this is the answer that says so, naming what was expected
 * where. Every other message is returned as it is.
 * @see JSON-RPC 2.0, "Error object": -32602, invalid method parameters
 */
export function withInvalidParams<Message>(message: Message): Message {
  const { error } = message as { error?: unknown };
  if (!isJsonObject(error) || typeof error.message !== 'string') return message;
  if (error.code !== internalError.code && !PREAMBLE.test(error.message)) return message;
  const issues = issuesIn(error.message.replace(PREAMBLE, ''));
  if (issues === undefined) return message;
  const told = issues.slice(0, MAX_TOLD).map(({ path, message: problem }) => `${path.join('.')}: ${problem}`);
  return { ...message, error: { ...invalidParams(told.join('; ')) } };
}

interface Issue {
  path: (string | number)[];
  message: string;
}

/** What a validator found wrong with the params of a request; `undefined`: the text is something else. */
function issuesIn(text: string): Issue[] | undefined {
  if (!text.startsWith('[')) return undefined;
  let issues: unknown;
  try {
    issues = JSON.parse(text);
  } catch {
    return undefined;
  }
  return Array.isArray(issues) && issues.length > 0 && issues.every(isIssue) ? issues : undefined;
}

function isIssue(issue: JsonValue): issue is JsonValue & Issue {
  if (!isJsonObject(issue) || typeof issue.message !== 'string' || !Array.isArray(issue.path)) return false;
  return issue.path[0] === 'params';
}
