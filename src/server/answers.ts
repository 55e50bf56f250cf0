import { isJsonObject, type JsonObject, type RpcErrorObject, type TerminalState } from '../core/index.ts';
import type { Outbox, Reply } from '../wire/outbox.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import { internalError, plainResult } from '../wire/rev2026-07-28/index.ts';
import type { ServingParts } from './parts.ts';
import type { CallToolResult, ServerContext } from './sdk.ts';
import { troubleLogOf } from './trouble-log.ts';

/** What a tool's callback may hand to the SDK: a result, or on 2026-07-28 what it asks for first. */
export type Answer = CallToolResult;

/** As the SDK answers a tool: what it threw is a failure the model can read, unless it chose a JSON-RPC error. */
export function inlineAnswer(
  tool: string,
  state: TerminalState,
  chosen: RpcErrorObject | undefined,
  ctx: ServerContext,
  parts: ServingParts,
): CallToolResult {
  switch (state.status) {
    case 'completed': {
      const result: unknown = parts.peer.era === 'modern' ? plainResult(state.result) : legacyResult(state.result);
      if (parts.isToolResult(result)) return result as Answer;
      // The SDK would blame the caller.
      troubleLogOf(parts.tasks).note('error', { tool }, {}, 'a tool returned what is no result of MCP');
      return refuse({ ...internalError, message: `tool ${tool} returned what is no result of MCP` }, ctx, parts);
    }
    case 'failed':
      return chosen === undefined ? failure(state.error.message) : refuse(chosen, ctx, parts);
    case 'cancelled':
      return failure(state.reason ?? 'the task was cancelled');
  }
}

/** Structured content of any kind: the SDK holds it against the tool's schema before it words both for its client. */
function legacyResult(result: JsonObject): JsonObject {
  const { structuredContent } = result;
  return { ...v25.plainResult(result), ...(structuredContent !== undefined && { structuredContent }) };
}

/**
 * The error of a failed task that somebody chose, or that names the tool as its cause. An internal error of no such kind
 * may be no more than what the handler threw: that is for the model to read.
 */
export function chosenOf(state: TerminalState): RpcErrorObject | undefined {
  if (state.status !== 'failed') return undefined;
  const { code, data } = state.error;
  const namesTool = isJsonObject(data) && typeof data.tool === 'string';
  return code !== internalError.code || namesTool ? state.error : undefined;
}

export function failure(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

/** What no tool may answer with by itself. @param then what becomes of it, see {@link Outbox.standIn} */
export function standInFor(
  reply: Reply,
  ctx: ServerContext,
  { outbox }: ServingParts,
  then?: Parameters<Outbox['standIn']>[2],
): Answer {
  return outbox.standIn(reply, ctx.mcpReq.signal, then) as Answer;
}

/** A JSON-RPC error, which the SDK would not let a tool answer with. */
export function refuse(error: RpcErrorObject, ctx: ServerContext, parts: ServingParts): Answer {
  return standInFor({ error }, ctx, parts);
}
