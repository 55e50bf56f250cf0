import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import { type JsonValue, TaskError, type TaskProgress, type TaskRecord, type TerminalState } from '../core/index.ts';
import type { RegisteredTaskTool, Tasks } from '../engine/index.ts';
import type { Outbox, Reply } from '../wire/outbox.ts';
import { encodeError, encodeHandle, missingTasksCapability, REVISION } from '../wire/rev2026-07-28/index.ts';
import { type Caller, callerOf, type Era } from './caller.ts';
import type { PrincipalOf } from './principal.ts';
import type { RawArguments } from './raw-schema.ts';

const METHOD_NOT_FOUND = -32601;

export interface ToolCallParts {
  tasks: Tasks;
  outbox: Outbox;
  era: Era;
  principalOf: PrincipalOf;
}

type Answer = CallToolResult | InputRequiredResult;

/** Answers one `tools/call` whose arguments the SDK has validated. */
export async function callTool(
  tool: RegisteredTaskTool,
  args: RawArguments,
  ctx: ServerContext,
  parts: ToolCallParts,
): Promise<Answer> {
  const { tasks, outbox, era, principalOf } = parts;
  const caller = callerOf(ctx, era, principalOf);
  if (tool.support === 'required' && !caller.tasks) {
    return outbox.standIn({ error: refusal(tool.name, era) }) as CallToolResult;
  }
  const { principal } = caller;
  const { signal } = ctx.mcpReq;
  const state = ctx.mcpReq.requestState();
  const answers = ctx.mcpReq.inputResponses;
  const prepared = await tool.prepare?.(args.parsed, {
    principal,
    answers,
    state: typeof state === 'string' ? state : undefined,
    signal,
  });
  if (prepared !== undefined && 'respond' in prepared) return prepared.respond as Answer;
  const value = prepared?.prepared;
  if (tool.support === 'forbidden') return runInline(tool, args, value, caller, ctx, parts);
  let record: TaskRecord;
  try {
    record = await tasks.engine.create({
      definition: tool.definition,
      principal,
      input: args.raw,
      ...(value !== undefined && { prepared: value }),
      revision: REVISION,
      abilities: caller.abilities,
      originRequestId: String(ctx.mcpReq.id),
      ...(caller.traceparent !== undefined && { traceparent: caller.traceparent }),
    });
  } catch (error) {
    return outbox.standIn(errorReply(error, tool.name, tasks)) as CallToolResult;
  }
  return caller.tasks ? handle(record, ctx, parts) : awaitTask(record, caller, ctx, parts);
}

/** The task's handle. Until it has left, the task belongs to a request that may still be called off. */
function handle(record: TaskRecord, ctx: ServerContext, { tasks, outbox }: ToolCallParts): CallToolResult {
  const { signal } = ctx.mcpReq;
  const { engine, logger } = tasks;
  const callOff = (): void => {
    outbox.discard(standIn);
    engine
      .cancel(record.taskId, record.principal, 'the request was cancelled before its handle was sent')
      .catch((error) => logger.error({ error }, 'a task nobody will ask for could not be cancelled'));
  };
  const standIn = outbox.standIn({ result: encodeHandle(record, engine.clock.now()) }, () =>
    signal.removeEventListener('abort', callOff),
  );
  if (signal.aborted) callOff();
  else signal.addEventListener('abort', callOff, { once: true });
  return standIn as CallToolResult;
}

/** For callers without tasks: runs as a task all the same, and answers with its result. */
async function awaitTask(
  record: TaskRecord,
  caller: Caller,
  ctx: ServerContext,
  parts: ToolCallParts,
): Promise<Answer> {
  const { engine } = parts.tasks;
  const { signal } = ctx.mcpReq;
  const report = progressReporter(ctx);
  try {
    const ended = await engine.wait(record.taskId, caller.principal, {
      signal,
      onChange: ({ progress }) => report(progress),
    });
    return inlineAnswer(ended.state as TerminalState);
  } catch (error) {
    if (!signal.aborted) return parts.outbox.standIn(errorReply(error, record.name, parts.tasks)) as CallToolResult;
    // Nobody else knows the id. A legacy client that goes away has not cancelled anything.
    if (parts.era === 'modern') await engine.cancel(record.taskId, caller.principal, 'the request was cancelled');
    throw error;
  }
}

async function runInline(
  tool: RegisteredTaskTool,
  args: RawArguments,
  prepared: JsonValue | undefined,
  { principal }: Caller,
  ctx: ServerContext,
  { tasks }: ToolCallParts,
): Promise<Answer> {
  const { signal } = ctx.mcpReq;
  const onProgress = progressReporter(ctx);
  const options = { principal, signal, ...(prepared !== undefined && { prepared }), onProgress };
  return inlineAnswer(await tasks.engine.runInline(tool.definition, args.raw, options));
}

/** As the SDK answers a tool that throws: a failure the model can read. */
function inlineAnswer(state: TerminalState): CallToolResult {
  if (state.status === 'completed') return state.result as CallToolResult;
  const message = state.status === 'failed' ? state.error.message : (state.reason ?? 'the task was cancelled');
  return { content: [{ type: 'text', text: message }], isError: true };
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

function refusal(tool: string, era: Era) {
  if (era === 'modern') return missingTasksCapability(`tool ${tool}`);
  const message = `tool ${tool} runs only as a task; call it with MCP 2026-07-28 and the tasks extension declared`;
  return { code: METHOD_NOT_FOUND, message };
}

function errorReply(error: unknown, tool: string, { logger }: Tasks): Reply {
  logger.error({ tool, error }, 'a call could not be served');
  if (error instanceof TaskError) return { error: encodeError(error) };
  return { error: { code: -32603, message: 'Internal error' } };
}
