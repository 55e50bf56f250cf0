import type { RegisteredTaskTool } from '../engine/index.ts';
import { decodeResponses, decodeRound, invalidParams } from '../wire/rev2026-07-28/index.ts';
import { type Answer, refuse } from './answers.ts';
import type { Caller } from './caller.ts';
import type { TaskCall } from './creation.ts';
import { serveFallback, serveWaiting } from './fallback.ts';
import type { CallLimits } from './limits.ts';
import type { ServingParts } from './parts.ts';
import { answerTo } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';
import { sealOf } from './seals.ts';

/** A call that comes again with the answers to what its task asked: the task goes on, and the call waits for it again. */
export function continueRound(
  tool: RegisteredTaskTool,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  return goOn(tool.definition, caller, ctx, parts, (call) => serveFallback(call, caller, limits, ctx, parts));
}

/** The same for what is no call of a tool. */
export function continueWaiting(
  work: Asked,
  caller: Caller,
  ctx: ServerContext,
  parts: ServingParts,
  answering: Parameters<typeof serveWaiting>[4],
): Promise<Answer> {
  return goOn(work, caller, ctx, parts, (call) => serveWaiting(call, caller, ctx, parts, answering));
}

/** What the request asks for. */
type Asked = Pick<RegisteredTaskTool['definition'], 'method' | 'name'>;

async function goOn(
  { method, name }: Asked,
  { principal }: Caller,
  ctx: ServerContext,
  parts: ServingParts,
  wait: (call: TaskCall) => Promise<Answer>,
): Promise<Answer> {
  const { engine } = parts.tasks;
  try {
    const round = decodeRound(ctx.mcpReq._meta, principal, await sealOf(parts.tasks));
    if (round?.ok !== true) return refuse(invalidParams(round?.message ?? 'params.requestState: missing'), ctx, parts);
    const { taskId, responses } = round.value;
    const task = await engine.get(taskId, principal);
    if (task.name !== name || task.method !== method) {
      return refuse(invalidParams('params.requestState: it belongs to a call of something else'), ctx, parts);
    }
    const open = await engine.openQuestions(taskId, principal);
    const answers = decodeResponses(responses, open);
    if (!answers.ok) return refuse(invalidParams(answers.message), ctx, parts);
    await engine.answer(taskId, principal, answers.value);
    return await wait({ task, existing: true, keyed: true });
  } catch (error) {
    if (ctx.mcpReq.signal.aborted) throw error;
    return refuse(answerTo(error, name, parts.tasks), ctx, parts);
  }
}
