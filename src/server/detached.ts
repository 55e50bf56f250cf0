import { indented, onOneLine, type Question, questionText, type TaskProgress, type TaskRecord } from '../core/index.ts';
import { COMPANIONS } from '../wire/companions.ts';
import { progressText } from '../wire/status-message.ts';
import { logUri } from '../wire/task-log.ts';
import { logStep, type Means, nextStep } from './next-step.ts';
import { taskUri } from './resources.ts';

interface Block {
  type: string;
  [key: string]: unknown;
}

export interface DetachedOptions {
  pollAfterMs: number;
  /** The client can read resources, and a result may link one. */
  link: boolean;
  /** Tools the client has to go on with. */
  companions: ReadonlySet<string>;
  /** It has logged something. */
  hasLog: boolean;
}

export interface Detached {
  content: Block[];
  structuredContent: { taskId: string; status: string; pollAfterMs: number };
}

/** A legal tool result that says what runs, how far it is, and how to go on. Nothing in it may be taken for success. */
export function stillRunning(record: TaskRecord, options: DetachedOptions): Detached {
  const { taskId, name } = record;
  const lines = [
    `NOT finished: ${name} is still running, as task ${taskId}${howFar(record.progress)}.`,
    `It goes on by itself; do not call ${name} again.`,
    ...logStep(taskId, means(taskId, options)),
    nextStep(taskId, means(taskId, options)),
  ];
  return detached(record, lines, options);
}

/** The same for a task that waits for an answer its client cannot be asked for. */
export function waitingForAnswer(record: TaskRecord, options: DetachedOptions): Detached {
  const { taskId, name, state } = record;
  const questions = state.status === 'input_required' ? Object.entries(state.inputRequests) : [];
  const lines = [`NOT finished: ${name} waits for an answer, as task ${taskId}${howFar(record.progress)}.`];
  for (const [key, question] of questions) {
    lines.push(`Question "${key}": ${indented(questionText(question))}`);
    if (question.kind === 'form') lines.push(`Its answer fits this JSON Schema: ${JSON.stringify(question.schema)}`);
  }
  const [first] = questions;
  if (first !== undefined && options.companions.has(COMPANIONS.answer)) lines.push(howToAnswer(taskId, ...first));
  else lines.push(nextStep(taskId, means(taskId, options)));
  return detached(record, lines, options);
}

function howToAnswer(taskId: string, key: string, { kind }: Question): string {
  const call = (args: object): string => `${COMPANIONS.answer} with ${JSON.stringify({ taskId, key, ...args })}`;
  switch (kind) {
    case 'form':
      return `Next: ask the person, then call ${call({ action: 'accept', content: {} })}, content filled in; or action "decline".`;
    case 'url':
      return `Next: show the person the link, and once they have been there call ${call({ action: 'accept' })}; or action "decline".`;
    default:
      return `Next: call ${call({ action: 'decline' })}; only its own client can answer that.`;
  }
}

function means(taskId: string, { link, companions, hasLog }: DetachedOptions): Means {
  return { companions, hasLog, ...(link && { uri: taskUri(taskId) }) };
}

function detached(
  { taskId, name, state }: TaskRecord,
  lines: readonly string[],
  { pollAfterMs, link, hasLog }: DetachedOptions,
): Detached {
  const text: Block = { type: 'text', text: lines.join('\n') };
  const resource: Block = {
    type: 'resource_link',
    uri: taskUri(taskId),
    name: `task of ${name}`,
    mimeType: 'application/json',
  };
  const log: Block = {
    type: 'resource_link',
    uri: logUri(taskId),
    name: `log of ${name}`,
    mimeType: 'text/plain',
  };
  return {
    content: link ? [text, resource, ...(hasLog ? [log] : [])] : [text],
    structuredContent: { taskId, status: state.status, pollAfterMs },
  };
}

export function howFar(progress: TaskProgress | undefined): string {
  if (progress === undefined) return '';
  return ` (${onOneLine(progressText(progress))})`;
}
