import { isJsonObject, type JsonValue, type TaskProgress } from '../../core/index.ts';
import type { HttpAnswer } from './answer.ts';
import { type Find, firstOf, listOf, pathOf } from './json-path.ts';
import type { HttpStatusOptions } from './options.ts';
import { shortened } from './tool-result.ts';

/** What a status answer says. */
export type Standing =
  | { is: 'working'; message?: string; progress?: TaskProgress }
  | { is: 'done' }
  | { is: 'failed'; message: string }
  | { is: 'cancelled'; message?: string }
  | { is: 'lost'; message: string };

type Outcome = 'done' | 'failed' | 'cancelled' | 'lost';

const OUTCOMES: readonly Outcome[] = ['done', 'failed', 'cancelled', 'lost'];
/** A message is for a line of status. */
const MESSAGE_LENGTH = 500;

/** Reads answers of success by what was configured. @throws {TypeError} naming the option that cannot work. */
export function standingReader(options: HttpStatusOptions): (answer: HttpAnswer) => Standing {
  const wordAt = firstOf(options.state, 'status.state');
  const outcomes = outcomesOf(options.states ?? {});
  const doneAt = options.done === undefined ? undefined : pathOf(options.done, 'status.done');
  const errorAt = firstOf(options.error, 'status.error');
  const messageAt = firstOf(options.message, 'status.message');
  const cancelledAt = options.cancelled && pathOf(options.cancelled.at, 'status.cancelled.at');
  const progressOf = progressReader(options.progress);

  const outcomeOf = (answer: HttpAnswer): Outcome | 'working' => {
    const word = wordAt(answer.json);
    if (word !== undefined && typeof word !== 'object') return outcomes.get(String(word).toLowerCase()) ?? 'working';
    const failed = errorAt(answer.json) !== undefined;
    if (doneAt !== undefined) return doneAt(answer.json) !== true ? 'working' : failed ? 'failed' : 'done';
    if (answer.status === 202) return 'working';
    return failed ? 'failed' : 'done';
  };

  return (answer) => {
    const { json } = answer;
    const said = messageText(messageAt(json));
    const outcome = outcomeOf(answer);
    switch (outcome) {
      case 'working': {
        const message = said ?? messageText(wordAt(json));
        const progress = progressOf(json);
        return { is: 'working', ...(message !== undefined && { message }), ...(progress && { progress }) };
      }
      case 'done':
        return { is: 'done' };
      case 'failed': {
        const error = errorAt(json);
        const value = cancelledAt?.(json);
        const cancelled = value !== undefined && options.cancelled?.is.some((one) => one === value);
        const message = said ?? (error === undefined ? undefined : errorText(error));
        if (cancelled === true) return { is: 'cancelled', ...(message !== undefined && { message }) };
        return { is: 'failed', message: message ?? 'it failed, and the service does not say why' };
      }
      case 'cancelled':
        return { is: 'cancelled', ...(said !== undefined && { message: said }) };
      case 'lost':
        return { is: 'lost', message: `the service says ${JSON.stringify(messageText(wordAt(json)))}` };
    }
  };
}

function outcomesOf(states: NonNullable<HttpStatusOptions['states']>): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  for (const outcome of OUTCOMES) {
    for (const word of states[outcome] ?? []) {
      if (typeof word !== 'string') throw new TypeError(`httpTool: status.states.${outcome} must be a list of words`);
      const before = outcomes.get(word.toLowerCase());
      if (before !== undefined && before !== outcome) {
        throw new TypeError(`httpTool: status.states: ${JSON.stringify(word)} means both ${before} and ${outcome}`);
      }
      outcomes.set(word.toLowerCase(), outcome);
    }
  }
  return outcomes;
}

function progressReader(
  options: HttpStatusOptions['progress'],
): (json: JsonValue | undefined) => TaskProgress | undefined {
  if (options === undefined) return () => undefined;
  const { at, total = undefined } = typeof options === 'string' ? { at: options, total: 100 } : options;
  const progressAt = pathOf(at, 'status.progress');
  const totalAt: Find = typeof total === 'number' ? () => total : firstOf(total, 'status.progress.total');
  return (json) => {
    const progress = numberOf(progressAt(json));
    if (progress === undefined || progress < 0) return undefined;
    const of = numberOf(totalAt(json));
    return { progress, ...(of !== undefined && of > 0 && { total: of }) };
  };
}

function numberOf(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function messageText(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === 'object') return undefined;
  return shortened(String(value), MESSAGE_LENGTH);
}

/** `code: message` of what most services answer, else the JSON. */
function errorText(error: JsonValue): string {
  if (!isJsonObject(error)) return shortened(typeof error === 'string' ? error : JSON.stringify(error));
  const [code, message] = [error.code, error.message].map((part) => messageText(part));
  const words = listOf([code, message].filter((part) => part !== undefined));
  return message === undefined ? shortened(JSON.stringify(error)) : shortened(words.join(': '));
}
