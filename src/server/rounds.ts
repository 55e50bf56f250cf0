import type { RegisteredTaskTool } from '../engine/index.ts';
import { decodeResponses, decodeRound, invalidParams } from '../wire/rev2026-07-28/index.ts';
import { type Answer, refuse } from './answers.ts';
import type { Caller } from './caller.ts';
import { serveFallback } from './fallback.ts';
import type { CallLimits } from './limits.ts';
import type { ServingParts } from './parts.ts';
import { answerTo } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';
import { sealOf } from './seals.ts';

/** A call that comes again with the answers to what its task asked: the task goes on, and the call waits for it again. */
export async function continueRound(
  tool: RegisteredTaskTool,
  caller: Caller,
  limits: CallLimits,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { engine } = parts.tasks;
  const { principal } = caller;
  try {
    const round = decodeRound(ctx.mcpReq._meta, principal, await sealOf(parts.tasks));
    if (round?.ok !== true) return refuse(invalidParams(round?.message ?? 'params.requestState: missing'), ctx, parts);
    const { taskId, responses } = round.value;
    const task = await engine.get(taskId, principal);
    if (task.name !== tool.name) {
      return refuse(invalidParams('params.requestState: it belongs to a call of another tool'), ctx, parts);
    }
    const open = await engine.openQuestions(taskId, principal);
    const answers = decodeResponses(responses, open);
    if (!answers.ok) return refuse(invalidParams(answers.message), ctx, parts);
    await engine.answer(taskId, principal, answers.value);
    return await serveFallback({ task, existing: true, keyed: true }, caller, limits, ctx, parts);
  } catch (error) {
    if (ctx.mcpReq.signal.aborted) throw error;
    return refuse(answerTo(error, tool.name, parts.tasks), ctx, parts);
  }
}
