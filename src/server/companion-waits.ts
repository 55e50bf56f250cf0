import { isTerminal, Recent, type TaskRecord, type TerminalState } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { COMPANIONS } from '../wire/companions.ts';
import { plainResult } from '../wire/rev2026-07-28/index.ts';
import { failure, inlineAnswer } from './answers.ts';
import { callerOf } from './caller.ts';
import type { CompanionCall } from './companions.ts';
import { howFar } from './detached.ts';
import { detachedNote, hasLogged } from './fallback.ts';
import { follow } from './follow.ts';
import { logStep, nextStep } from './next-step.ts';
import type { CallToolResult } from './sdk.ts';
import { shownTask } from './shown-task.ts';

const WAIT_MS = 20_000;
/** From here on a reader is told for how long there has been no news. */
const SILENCE_MS = 60_000;
/** Of so many readers it is remembered what they were told; the others are told again. */
const MAX_TOLD = 1_000;

/** What readers of a status were told last: models that are to wait ask again at once, since they cannot sleep. */
const toldLast = new WeakMap<Tasks, Recent<string, string>>();

export async function waitFor(call: CompanionCall): Promise<CallToolResult> {
  const { args, principal, ctx, parts } = call;
  const caller = callerOf(ctx, parts.peer, parts.principalOf);
  const hearsProgress = ctx.mcpReq._meta?.progressToken !== undefined;
  const longestMs = parts.limits.longestWaitMs({ client: caller.client, hearsProgress });
  const wantedMs = typeof args.maxWaitSec === 'number' ? Math.max(0, args.maxWaitSec * 1_000) : WAIT_MS;
  const task = await parts.tasks.engine.get(String(args.taskId), principal);
  const { record } = await follow(task, caller, ctx, parts, { waitMs: Math.min(wantedMs, longestMs) });
  return isTerminal(record.state) ? outcome(record, call) : notYet(record, call);
}

/** Tells at once, but not the same twice: then it waits for news. */
export async function statusOf(call: CompanionCall): Promise<CallToolResult> {
  const { args, principal, ctx, parts } = call;
  const caller = callerOf(ctx, parts.peer, parts.principalOf);
  const told = toldTo(parts.tasks);
  const session = parts.peer.era === 'legacy' ? parts.peer.session()?.id : undefined;
  const reader = `${String(args.taskId)} ${session ?? caller.client?.name ?? ''}`;
  const known = told.get(reader);
  let record = await parts.tasks.engine.poll(String(args.taskId), principal, ctx.mcpReq.signal);
  if (newsOf(record) === known && !isTerminal(record.state)) {
    ({ record } = await follow(record, caller, ctx, parts, {
      waitMs: WAIT_MS,
      enoughFor: (now) => newsOf(now) !== known,
    }));
  }
  const news = newsOf(record);
  told.set(reader, news);
  return isTerminal(record.state)
    ? say(ended(shownTask(record, parts)))
    : notYet(record, call, news === known ? 'Nothing new: ' : '');
}

export async function resultOf(call: CompanionCall): Promise<CallToolResult> {
  const record = await call.parts.tasks.engine.get(String(call.args.taskId), call.principal);
  return isTerminal(record.state) ? outcome(record, call) : notYet(record, call);
}

/** As the tool itself would have answered; what is no tool's result, as a text. */
async function outcome(record: TaskRecord, { ctx, parts }: CompanionCall): Promise<CallToolResult> {
  const state = record.state as TerminalState;
  // An error of the protocol would not reach the model: it reads what went wrong instead.
  if (state.status === 'failed' || state.status === 'cancelled') {
    const means = { companions: parts.companions, hasLog: await hasLogged(record, parts) };
    return failure([ended(shownTask(record, parts)), ...logStep(record.taskId, means)].join('\n'));
  }
  if (record.method !== 'tools/call') return say(JSON.stringify(plainResult(state.result)));
  return inlineAnswer(shownTask(record, parts).name, state, undefined, ctx, parts);
}

async function notYet(record: TaskRecord, { ctx, parts }: CompanionCall, before = ''): Promise<CallToolResult> {
  const { name, taskId, state, progress } = shownTask(record, parts);
  const hasLog = await hasLogged(record, parts);
  const note = detachedNote(record, callerOf(ctx, parts.peer, parts.principalOf), parts, hasLog);
  const structuredContent = { ...note.structuredContent };
  if (state.status === 'input_required') {
    return { content: note.content.slice(0, 1) as CallToolResult['content'], structuredContent };
  }
  const means = { companions: parts.companions, hasLog };
  const how = `${before}${name} is still running${howFar(progress)}${silence(record, parts.tasks)}.`;
  const words = [how, ...logStep(taskId, means), nextStep(taskId, means)];
  return { ...say(words.join(' ')), structuredContent };
}

/** For how long a task that should be busy has said nothing; empty where that is not worth a word. */
export function silence({ updatedAt }: TaskRecord, { engine }: Tasks): string {
  const silentMs = engine.clock.now() - updatedAt;
  return silentMs < SILENCE_MS ? '' : `, without news for ${Math.floor(silentMs / 60_000)} min`;
}

function ended({ name, state, taskId }: TaskRecord): string {
  switch (state.status) {
    case 'failed':
      return `${name} failed: ${state.error.message}`;
    case 'cancelled':
      return `${name} was cancelled${state.reason === undefined ? '' : ` (${state.reason})`}.`;
    default:
      return `${name} is done. Next: call ${COMPANIONS.result} with ${JSON.stringify({ taskId })}.`;
  }
}

function newsOf({ state, progress, statusMessage }: TaskRecord): string {
  return JSON.stringify([state, progress, statusMessage]);
}

function toldTo(tasks: Tasks): Recent<string, string> {
  const told = toldLast.get(tasks) ?? new Recent<string, string>(MAX_TOLD);
  toldLast.set(tasks, told);
  return told;
}

export function say(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
