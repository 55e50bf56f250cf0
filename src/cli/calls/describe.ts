import type { CallEnd, CallSnapshot } from '../../client/index.ts';
import {
  isJsonObject,
  type JsonObject,
  type Question,
  questionText,
  type TaskProgress,
  unreachable,
} from '../../core/index.ts';
import { EXIT } from '../errors.ts';
import { bytes, oneLine, safe } from '../format.ts';
import { commandEnd } from './ran.ts';

/** Enough of an id to be told from others, and to be given back to us: not as what looks like an option. */
export function shortCallId(id: string): string {
  const short = id.replace(/^call_/, '').slice(0, 8);
  return short.startsWith('-') ? `call_${short}` : short;
}

/** Where a call stands, in a word. */
export function stateOf({ phase, status, end }: CallSnapshot): string {
  if (end !== undefined) return end.kind === 'completed' && end.result.isError === true ? 'tool_error' : end.kind;
  if (phase === 'following') return status ?? 'working';
  return phase === 'sent' ? 'sent' : 'not_sent';
}

/** @param ran it ran a command, whose code it is where there is one */
export function exitCodeOf(end: CallEnd, { ran }: { ran: boolean }): number {
  const command = ran ? commandEnd(end) : undefined;
  if (command !== undefined) return command.exitCode;
  switch (end.kind) {
    case 'completed':
      return end.result.isError === true ? EXIT.fault : EXIT.ok;
    case 'failed':
    case 'refused':
      return ran ? EXIT.infrastructure : EXIT.fault; // That a command failed is a result.
    case 'cancelled':
      return EXIT.cancelled;
    case 'expired':
    case 'lost':
    case 'unknown':
      return EXIT.infrastructure;
    default:
      return unreachable(end);
  }
}

/** What went wrong, where a call has no result; undefined: it has one. */
export function troubleOf(end: CallEnd): string | undefined {
  switch (end.kind) {
    case 'completed':
      return undefined;
    case 'failed':
      return `failed: ${end.error.message} (${end.error.code})`;
    case 'refused':
      return `refused by the server: ${end.error.message} (${end.error.code})`;
    case 'cancelled':
      return end.reason === undefined ? 'cancelled' : `cancelled: ${end.reason}`;
    case 'expired':
    case 'lost':
    case 'unknown':
      return `${end.kind}: ${end.message}`;
    default:
      return unreachable(end);
  }
}

/** A tool's result as people read it; structured content where there is nothing else. */
export function resultText(result: JsonObject): string {
  const blocks = Array.isArray(result.content) ? result.content.filter(isJsonObject) : [];
  const text = blocks.map(blockText).join('\n');
  if (text !== '' || result.structuredContent === undefined) return safe(text);
  return safe(JSON.stringify(result.structuredContent, null, 2));
}

function blockText(block: JsonObject): string {
  const { type, text, mimeType, data, uri, resource } = block;
  if (typeof text === 'string') return text;
  const kind = typeof mimeType === 'string' ? ` ${mimeType}` : '';
  if (typeof data === 'string') return `[${type}${kind}, ${bytes(Math.floor((data.length * 3) / 4))}]`;
  if (isJsonObject(resource)) return typeof resource.text === 'string' ? resource.text : `[resource ${resource.uri}]`;
  return typeof uri === 'string' ? `[${type} ${uri}]` : `[${type}]`;
}

export function countOf({ progress, total }: TaskProgress): string {
  return total === undefined ? `${progress}` : `${progress}/${total}`;
}

/** What the task says of itself, unless its progress says it. */
export function messageOf({ statusMessage = '', progress }: Pick<CallSnapshot, 'statusMessage' | 'progress'>): string {
  const isKnown =
    progress !== undefined && (statusMessage.startsWith(countOf(progress)) || statusMessage === progress.message);
  return isKnown ? '' : oneLine(statusMessage);
}

/** What is to be said beside the state. */
export function noteOf(state: CallSnapshot): string {
  const { end, questions, progress, unreachableSince } = state;
  if (end !== undefined) return oneLine(troubleOf(end) ?? '');
  const [question] = Object.values(questions ?? {});
  if (question !== undefined) return oneLine(`asks: ${questionText(question)}`);
  const done = progress === undefined ? '' : `${countOf(progress)} ${progress.message ?? ''}`;
  const away = unreachableSince === undefined ? '' : '(the server cannot be reached)';
  return oneLine([done.trim(), messageOf(state), away].filter((text) => text !== '').join(' '));
}

/** How a question is answered from a command line: its words, and its fields. */
export function questionLines(question: Question, origin: string): string[] {
  const head = `${origin} asks: ${questionText(question)}`;
  if (question.kind === 'url')
    return [oneLine(head), `the page is on ${oneLine(hostOf(question.url))}; it is not opened for you`];
  if (question.kind !== 'form') return [oneLine(head)];
  const { properties, required } = question.schema;
  const needed = Array.isArray(required) ? required : [];
  const fields = isJsonObject(properties) ? Object.entries(properties) : [];
  const shown = fields.map(([name, field]) => {
    const { title, description, type } = isJsonObject(field) ? field : {};
    const about = [title, description].filter((text) => typeof text === 'string').join(': ');
    return oneLine(`  ${name}=${type ?? ''}${needed.includes(name) ? '' : ' (optional)'}  ${about}`).trimEnd();
  });
  return [oneLine(head), ...shown];
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
