import {
  type CallToolResult,
  type InputRequiredResult,
  isCallToolResult,
  SdkError,
  SdkErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  ANONYMOUS_PRINCIPAL,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorObject,
  type TaskProgress,
  type TerminalState,
} from '../core/index.ts';
import type { CreatedTask, Prepared, RegisteredTaskTool, Tasks } from '../engine/index.ts';
import { decodeIdempotencyKey, EXISTING_META_KEY } from '../wire/idempotency.ts';
import type { Outbox } from '../wire/outbox.ts';
import {
  earlierRounds,
  encodeHandle,
  immediateAnswer,
  internalError,
  invalidParams,
  missingTasksCapability,
  plainResult,
  REVISION,
} from '../wire/rev2026-07-28/index.ts';
import { type Caller, callerOf, type Era } from './caller.ts';
import type { PrincipalOf } from './principal.ts';
import type { RawArguments } from './raw-schema.ts';
import { answerTo, chosenError } from './rpc-error.ts';

const METHOD_NOT_FOUND = -32601;

export interface ToolCallParts {
  tasks: Tasks;
  outbox: Outbox;
  era: Era;
  principalOf: PrincipalOf;
}

type Answer = CallToolResult | InputRequiredResult;

/** The task a call led to. */
type TaskCall = CreatedTask & { keyed: boolean };

/** Answers one `tools/call`. First the capability, then the arguments, then whatever the tool does. */
export async function callTool(
  tool: RegisteredTaskTool,
  args: RawArguments,
  ctx: ServerContext,
  parts: ToolCallParts,
): Promise<Answer> {
  const { tasks, era, principalOf } = parts;
  let caller: Caller;
  try {
    caller = callerOf(ctx, era, principalOf);
  } catch (error) {
    return refuse(answerTo(error, tool.name, tasks.logger), ctx, parts);
  }
  if (tool.support === 'required' && !caller.tasks) return refuse(refusal(tool.name, era), ctx, parts);
  // In the words of the SDK, which had to let them pass.
  if (args.problem !== undefined) {
    return failure(`Input validation error: Invalid arguments for tool ${tool.name}: ${args.problem}`);
  }
  const { principal } = caller;
  let prepared: Prepared;
  try {
    prepared = await tool.prepare?.(args.parsed, {
      principal,
      canAsk: caller.canAsk,
      ...earlierRounds(ctx.mcpReq),
      signal: ctx.mcpReq.signal,
    });
  } catch (error) {
    const chosen = chosenError(error);
    if (chosen !== undefined) return refuse(chosen, ctx, parts);
    throw error; // The SDK makes it a failure the model can read.
  }
  if (prepared?.respond !== undefined) {
    return immediateAnswer(prepared.respond as JsonObject) as unknown as Answer;
  }
  const value = prepared?.prepared;
  if (tool.support === 'forbidden') return runInline(tool, args, value, caller, ctx, parts);
  const key = decodeIdempotencyKey(ctx.mcpReq._meta);
  if (!key.ok) return refuse(invalidParams(key.message), ctx, parts);
  // Anonymous callers must not find each other's tasks by calling with the same arguments.
  const idempotencyKey =
    key.value ??
    (principal.subject === ANONYMOUS_PRINCIPAL.subject ? undefined : tool.dedupe?.(args.parsed, principal));
  let created: CreatedTask;
  try {
    created = await tasks.engine.create({
      definition: tool.definition,
      principal,
      input: args.raw,
      ...(value !== undefined && { prepared: value }),
      revision: REVISION,
      abilities: caller.abilities,
      attended: !caller.tasks,
      originRequestId: String(ctx.mcpReq.id),
      ...(caller.traceparent !== undefined && { traceparent: caller.traceparent }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
  } catch (error) {
    return refuse(answerTo(error, tool.name, tasks.logger), ctx, parts);
  }
  const call = { ...created, keyed: idempotencyKey !== undefined };
  return caller.tasks ? handle(call, ctx, parts) : awaitTask(call, caller, ctx, parts);
}

/** The task's handle. Until it has left, the task belongs to a request that may still be called off. */
function handle(
  { task, existing, keyed }: TaskCall,
  ctx: ServerContext,
  { tasks, outbox }: ToolCallParts,
): CallToolResult {
  const { engine, logger } = tasks;
  const callOff = (): void => {
    engine
      .abandon(task.taskId, task.principal, keyed)
      .catch((error) => logger.error({ error }, 'a task nobody will ask for could not be cancelled'));
  };
  const handle = encodeHandle(task, engine.clock.now());
  const result = existing ? { ...handle, _meta: { [EXISTING_META_KEY]: true } } : handle;
  return outbox.standIn({ result }, ctx.mcpReq.signal, callOff) as CallToolResult;
}

/** For callers without tasks: runs as a task all the same, and answers with its result. */
async function awaitTask(
  { task: record, keyed }: TaskCall,
  caller: Caller,
  ctx: ServerContext,
  parts: ToolCallParts,
): Promise<Answer> {
  const { engine, logger } = parts.tasks;
  const { signal } = ctx.mcpReq;
  const report = progressReporter(ctx);
  try {
    const ended = await engine.wait(record.taskId, caller.principal, {
      signal,
      onChange: ({ progress }) => report(progress),
    });
    const state = ended.state as TerminalState;
    // An internal error that names no tool may be no more than what the handler threw: that is for the model to read.
    const chosen = state.status === 'failed' && (state.error.code !== internalError.code || namesTool(state.error));
    return inlineAnswer(record.name, state, chosen ? state.error : undefined, ctx, parts);
  } catch (error) {
    if (!signal.aborted) return refuse(answerTo(error, record.name, logger), ctx, parts);
    // Nobody else knows the id. A legacy client whose connection breaks has not cancelled anything, though.
    if (parts.era === 'modern' || !isConnectionClosed(signal.reason)) {
      await engine.abandon(record.taskId, caller.principal, keyed);
    }
    throw error;
  }
}

async function runInline(
  tool: RegisteredTaskTool,
  args: RawArguments,
  prepared: JsonValue | undefined,
  { principal }: Caller,
  ctx: ServerContext,
  parts: ToolCallParts,
): Promise<Answer> {
  const { engine, logger } = parts.tasks;
  const { definition } = tool;
  let chosen: RpcErrorObject | undefined;
  const run: typeof definition.run = async (input, context) => {
    try {
      return await definition.run(input, context);
    } catch (error) {
      chosen = chosenError(error); // Ours too, about a result that is none: a fault of the server, not of the call.
      if (chosen?.code === internalError.code) logger.error({ tool: tool.name, error }, 'a tool is at fault');
      throw error;
    }
  };
  const state = await engine.runInline({ ...definition, run }, args.raw, {
    principal,
    signal: ctx.mcpReq.signal,
    ...(prepared !== undefined && { prepared }),
    onProgress: progressReporter(ctx),
  });
  return inlineAnswer(tool.name, state, chosen, ctx, parts);
}

/** As the SDK answers a tool: what it threw is a failure the model can read, unless it chose a JSON-RPC error. */
function inlineAnswer(
  tool: string,
  state: TerminalState,
  chosen: RpcErrorObject | undefined,
  ctx: ServerContext,
  parts: ToolCallParts,
): CallToolResult {
  switch (state.status) {
    case 'completed': {
      const result: unknown = plainResult(state.result);
      if (isCallToolResult(result)) return result;
      // The SDK would blame the caller.
      parts.tasks.logger.error({ tool }, 'a tool returned what is no result of MCP');
      return refuse({ ...internalError, message: `tool ${tool} returned what is no result of MCP` }, ctx, parts);
    }
    case 'failed':
      return chosen === undefined ? failure(state.error.message) : refuse(chosen, ctx, parts);
    case 'cancelled':
      return failure(state.reason ?? 'the task was cancelled');
  }
}

function failure(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** A JSON-RPC error, which the SDK would not let a tool answer with. */
function refuse(error: RpcErrorObject, ctx: ServerContext, { outbox }: ToolCallParts): CallToolResult {
  return outbox.standIn({ error }, ctx.mcpReq.signal) as CallToolResult;
}

/** Sends progress where a token asked for it: rising numbers only, and never a reason to fail. */
function progressReporter(ctx: ServerContext): (progress: TaskProgress | undefined) => void {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let last = Number.NEGATIVE_INFINITY;
  return (news) => {
    if (news === undefined || news.progress <= last || ctx.mcpReq.signal.aborted) return;
    last = news.progress;
    const params = { progressToken, ...news };
    // A caller that went away is seen by the signal; there is nothing else to do about it here.
    ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

function refusal(tool: string, era: Era): RpcErrorObject {
  if (era === 'modern') return missingTasksCapability(`tool ${tool}`);
  const message = `tool ${tool} runs only as a task; call it with MCP 2026-07-28 and the tasks extension declared`;
  return { code: METHOD_NOT_FOUND, message };
}

/** The engine says so where the tool itself is at fault. */
function namesTool({ data }: RpcErrorObject): boolean {
  return isJsonObject(data) && typeof data.tool === 'string';
}

/** A connection that ended, rather than a request that was cancelled. */
function isConnectionClosed(reason: unknown): boolean {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed;
}
