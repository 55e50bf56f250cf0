import { type Answer, isJsonObject, isTerminal, type Principal, type TaskRecord } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { COMPANIONS, UNKNOWN_TASK } from '../wire/companions.ts';
import { decodeCursor, encodeCursor, mayList } from '../wire/rev2025-11-25/index.ts';
import { failure } from './answers.ts';
import { say, silence } from './companion-waits.ts';
import type { CompanionCall } from './companions.ts';
import { howFar } from './detached.ts';
import { nextStep } from './next-step.ts';
import type { ServingParts } from './parts.ts';
import type { CallToolResult } from './sdk.ts';
import { sealOf } from './seals.ts';
import { LogReading, type LogView } from './shown-log.ts';
import { shownTask } from './shown-task.ts';

const PAGE = 20;
/** Tasks that whoever asks for one that there is not is reminded of. */
const REMINDED = 5;
const MAX_ID_LENGTH = 64;

export async function readLogs({ args, principal, parts }: CompanionCall): Promise<CallToolResult> {
  const taskId = String(args.taskId);
  const log = new LogReading(parts.tasks.engine, taskId, principal);
  const stream = args.stream === 'stdout' || args.stream === 'stderr' ? args.stream : undefined;
  const view: LogView = { stream, lines: typeof args.tail === 'number' ? args.tail : undefined };
  const isFirst = typeof args.cursor !== 'number';
  const { text, cursor } = isFirst ? await log.end(view) : await log.since(Number(args.cursor), view);
  const again = { taskId, cursor, ...(stream !== undefined && { stream }) };
  const next = `(next: ${COMPANIONS.logs} with ${JSON.stringify(again)} for what comes later)`;
  const nothing = isFirst ? '(nothing logged yet)\n' : '(nothing new)\n';
  return say(`${text === '' ? nothing : text}${next}`);
}

export async function answerTask({ args, principal, parts }: CompanionCall): Promise<CallToolResult> {
  const { engine } = parts.tasks;
  const taskId = String(args.taskId);
  const key = String(args.key);
  const open = await engine.openQuestions(taskId, principal);
  if (!open.has(key)) {
    const others = [...open.keys()].map((name) => JSON.stringify(name)).join(', ');
    if (others === '') return say(`The task waits for no answer any more. ${nextStep(taskId, parts)}`);
    return failure(`The task has no open question ${JSON.stringify(key)}; it waits for ${others}.`);
  }
  const { action } = args;
  const content = isJsonObject(args.content) ? args.content : {};
  const answer: Answer =
    action === 'accept' ? { action, content } : { action: action === 'decline' ? action : 'cancel' };
  await engine.answer(taskId, principal, new Map([[key, answer]]));
  return say(`Answered. ${nextStep(taskId, parts)}`);
}

export async function cancelTask({ args, principal, parts }: CompanionCall): Promise<CallToolResult> {
  const taskId = String(args.taskId);
  const outcome = await parts.tasks.engine.cancel(taskId, principal, 'cancelled by the client');
  if (outcome === 'cancelled') return say('Cancelled. Whatever it had done so far stays done.');
  return say(`It was over already. Next: call ${COMPANIONS.result} with ${JSON.stringify({ taskId })}.`);
}

export async function deleteTask({ args, principal, parts }: CompanionCall): Promise<CallToolResult> {
  await parts.tasks.engine.delete(String(args.taskId), principal);
  return say('Deleted, with its result and its log.');
}

export async function listTasks({ args, principal, parts }: CompanionCall): Promise<CallToolResult> {
  if (!mayList(principal)) {
    return failure('This server does not know who you are, so it cannot list your tasks. Keep the ids it gave you.');
  }
  const seal = await sealOf(parts.tasks);
  const cursor = decodeCursor(args, principal, seal);
  if (!cursor.ok) return failure(`cursor: not one that ${COMPANIONS.list} gave; begin without one`);
  const at = cursor.value === undefined ? {} : { cursor: cursor.value };
  const page = await parts.tasks.engine.list(principal, { limit: PAGE, ...at });
  if (page.tasks.length === 0) return say('You have no tasks.');
  const lines = page.tasks.map((task) => line(shownTask(task, parts), parts.tasks));
  if (page.nextCursor !== undefined) {
    const next = { cursor: encodeCursor(page.nextCursor, principal, seal) };
    lines.push(`(next: ${COMPANIONS.list} with ${JSON.stringify(next)} for older ones)`);
  }
  return say(lines.join('\n'));
}

/** For an id that names no task of the caller's. Whether it names anybody's makes no difference. */
export async function unknownTask(taskId: string, principal: Principal, parts: ServingParts): Promise<CallToolResult> {
  const { tasks } = parts;
  const named = JSON.stringify(taskId.slice(0, MAX_ID_LENGTH));
  const help = [`${UNKNOWN_TASK} ${named}. Ids are never made up: take one from an earlier answer.`];
  if (mayList(principal)) {
    const latest = await tasks.engine.list(principal, { limit: REMINDED });
    help.push(latest.tasks.length === 0 ? 'You have no tasks.' : 'Your latest tasks:');
    help.push(...latest.tasks.map((task) => line(shownTask(task, parts), tasks)));
  }
  return failure(help.join('\n'));
}

function line(task: TaskRecord, tasks: Tasks): string {
  const { taskId, name, state, progress } = task;
  return `${taskId} ${name}: ${state.status}${howFar(progress)}${isTerminal(state) ? '' : silence(task, tasks)}`;
}
