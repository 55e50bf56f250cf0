import type { JsonValue, RpcErrorObject } from '../core/index.ts';
import type { RegisteredTaskTool } from '../engine/index.ts';
import { internalError } from '../wire/rev2026-07-28/index.ts';
import { type Answer, inlineAnswer } from './answers.ts';
import type { Caller } from './caller.ts';
import type { ServingParts } from './parts.ts';
import { progressReporter } from './progress.ts';
import type { RawArguments } from './raw-schema.ts';
import { chosenError } from './rpc-error.ts';
import type { ServerContext } from './sdk.ts';
import { troubleLogOf } from './trouble-log.ts';

/** Runs a tool that is never a task, within its request. */
export async function runInline(
  tool: RegisteredTaskTool,
  args: RawArguments,
  prepared: JsonValue | undefined,
  { principal }: Caller,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<Answer> {
  const { engine } = parts.tasks;
  const { definition } = tool;
  let chosen: RpcErrorObject | undefined;
  const run: typeof definition.run = async (input, context) => {
    try {
      return await definition.run(input, context);
    } catch (error) {
      chosen = chosenError(error); // Ours too, about a result that is none: a fault of the server, not of the call.
      if (chosen?.code === internalError.code) {
        troubleLogOf(parts.tasks).note('error', { tool: tool.name }, { error }, 'a tool is at fault');
      }
      throw error;
    }
  };
  const reporter = progressReporter(ctx, engine.clock);
  try {
    const state = await engine.runInline({ ...definition, run }, args.raw, {
      principal,
      signal: ctx.mcpReq.signal,
      ...(prepared !== undefined && { prepared }),
      onProgress: reporter.report,
    });
    return inlineAnswer(tool.name, state, chosen, ctx, parts);
  } finally {
    reporter.stop();
  }
}
