import type { TaskRecord } from '../../src/core/index.ts';
import type { Call, Fact } from './facts.ts';
import type { Model } from './model.ts';

/** A fact as one line of a trace; undefined for what is too frequent to tell. Nothing in it may differ in a replay. */
export function describe(fact: Fact, model: Model): string | undefined {
  switch (fact.kind) {
    case 'called':
      return `client -> ${fact.call.process}: ${called(fact.call, model)}`;
    case 'returned':
      return `client <- ${fact.call.process}: ${called(fact.call, model)} = ${outcome(fact.call)}`;
    case 'store': {
      const [first, ...rest] = fact.args as unknown[];
      return `${fact.process} store: ${fact.method} ${brief(first, model)} ${rest.map((arg) => brief(arg, model)).join(' ')} = ${brief(fact.result, model)}`;
    }
    case 'store_failed':
      return `${fact.process} store: ${fact.method} failed: ${fact.error.message}`;
    case 'handler': {
      const { id, process, taskId, fence, attempt } = fact.run;
      const about = 'key' in fact ? ` ${fact.key} ${fact.value ?? ''}` : '';
      return `${process} r${id} ${model.alias(taskId)} f${fence} attempt ${attempt}: ${fact.what}${about}`;
    }
    case 'died':
      return `${fact.process} is dead`;
    case 'exited':
      return `${fact.process} exits`;
    case 'time':
      return undefined;
    case 'power_cut':
    case 'settled':
    case 'answered_all':
    case 'outlived':
      return fact.kind;
  }
}

function called(call: Call, model: Model): string {
  const task = call.taskId === undefined ? '' : ` ${model.alias(call.taskId)}`;
  const program = call.program === undefined ? '' : ` ${JSON.stringify(call.program)} ${call.key ?? ''}`;
  const answers = call.answers === undefined ? '' : ` ${JSON.stringify([...call.answers])}`;
  return `#${call.id} ${call.op}${task} by ${call.principal.tenant ?? ''}/${call.principal.subject}${program}${answers}`;
}

function outcome({ outcome }: Call): string {
  if (outcome === undefined) return 'nothing yet';
  if (!outcome.ok) return `${outcome.error.name}: ${outcome.error.message}`;
  const { value } = outcome;
  return typeof value === 'object' ? recordText(value) : String(value);
}

function recordText({ state, version, attempt }: TaskRecord): string {
  return `${JSON.stringify(state)} v${version} attempt ${attempt}`;
}

/** Worker ids carry the process id of the real process, and task ids are long: neither belongs in a trace. */
function brief(value: unknown, model: Model): string {
  if (value === undefined) return '-';
  if (typeof value === 'string' && model.find(value) !== undefined) return model.alias(value);
  const text = JSON.stringify(value instanceof Map ? [...value] : value, (key, item: unknown) => {
    if (['workerId', 'schema', 'input', 'principal', 'abilities', 'inputRequests'].includes(key)) return undefined;
    if (typeof item !== 'string') return item;
    if (item.includes(`:${process.pid}:`)) return 'a worker';
    return model.find(item) === undefined ? item : model.alias(item);
  });
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** What every process does all the time, and what says nothing about how a run went wrong. */
const NOISE = /: (timer|turn|timeout|hears the bell)$| lostLeases .* = \[\]$| sweep .*"expired":\[\],"deleted":0/;

/** The last lines of a trace that say something. */
export function tail(trace: readonly string[], lines: number): string[] {
  return trace.filter((line) => !NOISE.test(line)).slice(-lines);
}
