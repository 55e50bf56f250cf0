import { type ChildRef, childJob } from '../../client/child-job.ts';
import type { CallEnd, ConnectedServer } from '../../client/index.ts';
import { type JobAdapter, type JobContext, type JobSnapshot, type JsonObject, unreachable } from '../../core/index.ts';

export interface McpToolOptions {
  /**
   * The server as this process reaches it now, for this task. Its client has to be opened with the `tasks` that the adapter is
   * registered with, and has to connect the server under the same name after every restart.
   */
  server: (context: JobContext) => ConnectedServer | Promise<ConnectedServer>;
  /** The tool's name on the server. */
  tool: string;
  /** How long the server should keep the task, in milliseconds; a wish. @default what the server says */
  ttlMs?: number;
  /** Sent with the call in `_meta`, beside what the revision puts there. @default nothing */
  meta?: (context: JobContext) => JsonObject | undefined;
}

/**
 * A tool of another MCP server as a job, whatever generation of tasks it speaks, or none. Arguments and result go through as they
 * are, blocks of content and members that nobody here knows included; so do errors of the protocol with code, message and data.
 */
export function mcpTool({ server, tool, ttlMs, meta }: McpToolOptions): JobAdapter<JsonObject, ChildRef> {
  const calls = childJob({ server, endOf: snapshotOf, logs: true });
  return {
    ...calls,
    start: (args, context) => {
      const sent = meta?.(context);
      return calls.start(
        {
          name: tool,
          arguments: args,
          ...(ttlMs !== undefined && { options: { ttlMs } }),
          ...(sent !== undefined && { meta: sent }),
        },
        context,
      );
    },
    find: async (args, context) => calls.find?.({ name: tool, arguments: args }, context),
  };
}

function snapshotOf(end: CallEnd): JobSnapshot {
  switch (end.kind) {
    case 'completed':
      return { state: 'done', outcome: end.result.isError === true ? 'error' : 'ok', result: end.result };
    case 'failed':
    case 'refused':
      return { state: 'done', outcome: 'error', error: end.error };
    case 'cancelled':
      return { state: 'cancelled', ...(end.reason !== undefined && { message: end.reason }) };
    case 'expired':
      return { state: 'lost', message: end.message, ...(end.neverSent === true && { effect: 'none' }) };
    case 'lost':
    case 'unknown':
      return { state: 'lost', message: end.message };
    default:
      return unreachable(end);
  }
}
