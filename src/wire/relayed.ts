import { randomUUID } from 'node:crypto';
import {
  type Answer,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Question,
  type RpcErrorObject,
} from '../core/index.ts';
import * as v25 from './rev2025-11-25/index.ts';
import { decodeCallAnswer } from './rev2026-07-28/client.ts';
import { modernError, URL_NEEDED } from './rev2026-07-28/errors.ts';
import { RELATED_TASK_META_KEYS, SERVER_INFO_META_KEY, SUBSCRIPTION_META_KEY } from './rev2026-07-28/names.ts';

// What passes a gateway, from a server of one era to a client of another.

export type Era = 'modern' | 'legacy';

/** Members of a modern result that a legacy peer does not know. @see 2026-07-28 schema, `Result`, `CacheableResult` */
const MODERN_MEMBERS: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/**
 * A result as a client of the other side may see it: what it answers is not changed, what only makes sense between this
 * side and the server is left out.
 * @see 2026-07-28 basic, "Results"; 2025-11-25 schema, `CallToolResult`
 */
export function relayedResult(method: string, result: JsonObject, to: Era): JsonObject {
  const own = to === 'legacy' && method === 'tools/call' ? v25.plainResult(result) : result;
  const { _meta, ...rest } = own;
  const members = Object.entries(rest).filter(([name]) => to === 'modern' || !MODERN_MEMBERS.has(name));
  const meta = isJsonObject(_meta) ? Object.entries(_meta).filter(([key]) => !FOR_ONE_HOP.has(key)) : [];
  return { ...Object.fromEntries(members), ...(meta.length > 0 && { _meta: Object.fromEntries(meta) }) };
}

const FOR_ONE_HOP: ReadonlySet<string> = new Set([
  SERVER_INFO_META_KEY,
  SUBSCRIPTION_META_KEY,
  ...RELATED_TASK_META_KEYS,
]);

/** A tool as another server lists it, without what it says of tasks: whether it is one is for this side to say. */
export function withoutTaskHints({ execution: _theirs, annotations, ...listing }: JsonObject): JsonObject {
  if (!isJsonObject(annotations)) return annotations === undefined ? listing : { ...listing, annotations };
  const { taskHint: _hint, ...rest } = annotations;
  return { ...listing, annotations: rest };
}

const RESERVED = ['io.modelcontextprotocol/', 'modelcontextprotocol.io/', 'longcall/'];
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
/** Reserved, and meant for whoever does the work all the same. */
const PASSED_ON: ReadonlySet<string> = new Set([LOG_LEVEL]);

const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.some((level) => level === value);
}

/** The level of messages that a request of 2026-07-28 wants to hear; without one it hears none. @param meta its `_meta` */
export function logLevelIn(meta: JsonObject): LogLevel | undefined {
  const level = meta[LOG_LEVEL];
  return isLogLevel(level) ? level : undefined;
}

/** The `_meta` of a request that wants to hear messages of a level; before 2026-07-28, levels are set for a whole session. */
export function withLogLevel(meta: JsonObject, level: LogLevel | undefined): JsonObject {
  return level === undefined ? meta : { ...meta, [LOG_LEVEL]: level };
}

/** Of the `_meta` of a request: what is its sender's own, and for whoever answers in the end. */
export function relayedMeta(meta: unknown): JsonObject {
  if (!isJsonObject(meta)) return {};
  const own = ([key]: [string, JsonValue]): boolean =>
    PASSED_ON.has(key) || (key !== 'progressToken' && !RESERVED.some((prefix) => key.startsWith(prefix)));
  return Object.fromEntries(Object.entries(meta).filter(own));
}

/** An error as a client of the other side may see it. */
export function relayedError(error: RpcErrorObject, to: Era): RpcErrorObject {
  return to === 'legacy' ? error : modernError(error);
}

/** The pages that an error of 2025-11-25 says have to be visited first; none for any other error. @see 2025-11-25 elicitation */
export function pagesNeeded(error: RpcErrorObject): { message: string; url: string }[] {
  if (error.code !== URL_NEEDED || !isJsonObject(error.data) || !Array.isArray(error.data.elicitations)) return [];
  return error.data.elicitations.flatMap((one) =>
    isJsonObject(one) && typeof one.url === 'string'
      ? [{ message: typeof one.message === 'string' ? one.message : error.message, url: one.url }]
      : [],
  );
}

/** What a client of 2026-07-28 is answered whose call needs pages to be visited first: the same call comes again then. */
export function askForPages(pages: readonly { message: string; url: string }[]): JsonObject {
  const requests = pages.map(({ message, url }, index): [string, JsonObject] => [
    `page-${index + 1}`,
    { method: 'elicitation/create', params: { mode: 'url', message, url } },
  ]);
  return { resultType: 'input_required', inputRequests: Object.fromEntries(requests) };
}

/** What a repeated call of 2026-07-28 brings: answers, and the server's own state. */
export function relayedRound(answers: unknown, state: unknown): JsonObject {
  return {
    ...(isJsonObject(answers) && Object.keys(answers).length > 0 && { inputResponses: answers }),
    ...(typeof state === 'string' && { requestState: state }),
  };
}

/** What an answer of 2026-07-28 asks for first; undefined: it is an answer. */
export function roundIn(
  result: JsonObject,
): { questions: ReadonlyMap<string, Question>; state: string | undefined } | undefined {
  const answer = decodeCallAnswer(result);
  return answer.ok && answer.value.kind === 'round' ? answer.value : undefined;
}

/** Said by a server about itself, in the answer to `initialize` and to `server/discover`. */
export interface SelfPortrait {
  serverInfo: JsonObject | undefined;
  instructions: string | undefined;
  /** Of everything that is passed on. */
  capabilities: JsonObject;
}

/** Whether a message asks a server who it is. */
export function asksWho(message: unknown): message is { id: string | number } {
  return (
    isJsonObject(message) &&
    message.id !== undefined &&
    (message.method === 'initialize' || message.method === 'server/discover')
  );
}

/** The answer, with what another server says of itself, and what this side adds to that. */
export function introducing(message: unknown, portrait: SelfPortrait, to: Era): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return message;
  const { result } = message;
  const own = isJsonObject(result.capabilities) ? result.capabilities : {};
  const { instructions: _ours, _meta, ...rest } = result;
  const meta = isJsonObject(_meta) ? _meta : {};
  const named = portrait.serverInfo !== undefined && meta[SERVER_INFO_META_KEY] !== undefined;
  const theirs = portrait.capabilities;
  const extensions = isJsonObject(own.extensions) ? own.extensions : {};
  const foreign = isJsonObject(theirs.extensions) ? theirs.extensions : {};
  const { prompts: _prompts, resources: _resources, tools: _tools, ...ours } = own;
  const told = { subscribe: true, ...(to === 'modern' && { listChanged: true }) };
  const all: JsonObject = { ...theirs, ...ours };
  all.resources = { ...object(theirs.resources), ...told };
  all.tools = { ...object(theirs.tools), listChanged: true };
  if (Object.keys(extensions).length + Object.keys(foreign).length > 0) all.extensions = { ...foreign, ...extensions };
  return {
    ...message,
    result: {
      ...rest,
      capabilities: all,
      ...(portrait.serverInfo !== undefined && result.serverInfo !== undefined && { serverInfo: portrait.serverInfo }),
      ...(portrait.instructions !== undefined && { instructions: portrait.instructions }),
      ...(Object.keys(meta).length > 0 && {
        _meta: { ...meta, ...(named && { [SERVER_INFO_META_KEY]: portrait.serverInfo }) },
      }),
    },
  };
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A question as a session's client is asked it, outside of any task. */
export function questionTo(question: Question): { method: string; params: JsonObject } {
  const { method, params } = v25.encodeAsked(randomUUID(), question);
  return { method, params };
}

/** What came back; whatever is no answer is none. */
export function answerTo(question: Question, reply: { result?: unknown; error?: unknown }): Answer {
  const answer = v25.decodeAnswer(question.kind, reply);
  return answer.ok ? answer.value : { action: 'cancel' };
}
