// What is wrong with one answer, whatever was asked. That it fits the schema of its revision is the validator's to say.
import { isJsonObject } from '../../src/core/index.ts';
import type { Exchange } from './exchange.ts';
import type { Broken } from './findings.ts';
import { requestIn } from './sent.ts';
import { BLAME } from './tools.ts';

export interface Problem {
  broken: Broken;
  sentence: string;
}

/** What else an internal error may say: each is an error of the domain with words of its own (`src/core/errors.ts`). */
const MEANT = [
  /^Task was cancelled/,
  /^interrupted: /,
  /^expired/,
  /^timed out: /,
  /^cannot ask "/,
  /^too many polls are waiting/,
  /open tasks/,
  /^the arguments have \d+ bytes/,
  /^(a subscription takes at most|\d+ subscriptions are open|your subscriptions have room)/,
  /^the token names no issuer and subject/,
];

/** How the inside of a program looks: stacks, paths, SQL, and what the engine says of mistakes in code. */
const PRIVATE =
  /node_modules|\/src\/|\/dist\/|file:\/\/\/(?!work)|\bat [\w.<>]+ \(|SQLITE_|better-sqlite3|select "|Cannot read propert|is not a function|is not iterable|Maximum call stack|Invalid array length|Cannot convert/;

export function problemsOf(exchange: Exchange): Problem[] {
  if (exchange.failure !== undefined) return exchange.left ? [] : [failed(exchange.failure)];
  if (exchange.status === undefined) return [];
  return [...statusProblems(exchange), ...answerProblems(exchange), ...textProblems(exchange)];
}

function failed(failure: unknown): Problem {
  const { name = '', message = '', stack = '' } = failure as Partial<Error>;
  if (name === 'WireViolationError') return { broken: 'schema', sentence: message };
  return { broken: 'failed', sentence: `the request failed: ${stack || String(failure)}` };
}

function statusProblems({ status = 0, send, headers, body, answered, left }: Exchange): Problem[] {
  const { accept = '', 'content-type': type = '' } = headers;
  const fits = (): boolean => {
    switch (status) {
      case 200:
      case 202:
      case 400:
      case 404:
        return true;
      case 401:
        return answered['www-authenticate'] !== undefined;
      case 204:
        return send.method === 'DELETE';
      case 405:
        return send.method !== 'POST' && (answered['allow'] ?? '') !== '';
      case 406:
        return !(accept.includes('application/json') && accept.includes('text/event-stream'));
      case 413:
        return body.length > 1_000_000;
      case 415:
        return !/^application\/json\b/i.test(type);
      case 429:
        return Number(answered['retry-after']) > 0;
      default:
        return false;
    }
  };
  if (left || fits()) return []; // What a client has left, nobody reads.
  return [{ broken: 'status', sentence: `${send.method} was answered with HTTP ${status}` }];
}

function answerProblems(exchange: Exchange): Problem[] {
  const { finished, left, status = 0, send, text } = exchange;
  if (!finished || left || send.method !== 'POST') return [];
  const wrong = (sentence: string): Problem[] => [
    { broken: 'answer', sentence: `${sentence}: HTTP ${status} ${text.slice(0, 500)}` },
  ];
  const request = requestIn(exchange.message);
  const answers = exchange.messages().filter((message) => isJsonObject(message) && !('method' in message)) as object[];
  if (request === undefined) return status === 202 && text !== '' ? wrong('an acknowledgement has a body') : [];
  if (status === 202) return wrong('a request was only acknowledged');
  if (answers.length !== 1) return wrong(`a request has ${answers.length} answers`);
  const [{ id, error }] = answers as [{ id?: unknown; error?: unknown }];
  if (id === request.id) return [];
  return id === undefined && status >= 400 && error !== undefined
    ? []
    : wrong(`the answer to ${JSON.stringify(request.id)} is for ${JSON.stringify(id)}`);
}

function textProblems(exchange: Exchange): Problem[] {
  const shown = `${exchange.text}\n${JSON.stringify(exchange.answered)}`;
  return [...internalProblems(exchange.messages()), ...privateText(shown)];
}

/** Internal errors, which a client must not be able to bring about, but for those that are meant. */
export function internalProblems(messages: readonly unknown[]): Problem[] {
  const internal = messages.flatMap(internalErrors).filter((message) => !isMeant(message));
  return internal.map((message) => ({
    broken: 'internal error',
    sentence: `an answer is an internal error: ${message}`,
  }));
}

/** What must not leave a server. */
export function privateText(text: string): Problem[] {
  const [found] = PRIVATE.exec(text) ?? [];
  if (found === undefined) return [];
  const about = text.indexOf(found);
  return [{ broken: 'private text', sentence: `an answer says: ${text.slice(Math.max(0, about - 200), about + 200)}` }];
}

/** Every internal error anywhere in an answer, as a message of its own or inside a task. */
function internalErrors(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(internalErrors);
  if (!isJsonObject(value)) return [];
  const own = value['code'] === -32603 && typeof value['message'] === 'string' ? [value['message']] : [];
  return [...own, ...Object.values(value).flatMap(internalErrors)];
}

/** Whether an internal error is one that the server means to answer. */
function isMeant(message: string): boolean {
  return message.startsWith(BLAME) || MEANT.some((pattern) => pattern.test(message));
}
