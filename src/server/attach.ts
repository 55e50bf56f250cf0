import { type CallToolResult, McpServer, type ServerContext, type Transport } from '@modelcontextprotocol/server';
import type { StandardSchema } from '../core/index.ts';
import type { RegisteredTaskTool, Tasks } from '../engine/index.ts';
import { IDEMPOTENCY_EXTENSION } from '../wire/idempotency.ts';
import { Outbox } from '../wire/outbox.ts';
import { keepResponses, TASKS_EXTENSION } from '../wire/rev2026-07-28/index.ts';
import { callTool, type ToolCallParts } from './call-tool.ts';
import type { Era } from './caller.ts';
import type { PrincipalOf } from './principal.ts';
import { convertedOnce, type RawArguments, rememberingRaw } from './raw-schema.ts';
import { registerTaskResources } from './resources.ts';
import { registerTaskMethods } from './task-methods.ts';

/** The schemas of a tool as every server instance registers them: made once, since instances come per request. */
interface ServedSchemas {
  input: StandardSchema<unknown, RawArguments> | undefined;
  output: StandardSchema | undefined;
}

const servedSchemas = new WeakMap<RegisteredTaskTool, ServedSchemas>();

/**
 * Puts the tools and the task methods on a server that is not connected yet, by public means only: ordinary
 * registrations, and a look at what comes and leaves.
 */
export function attach(
  mcp: McpServer,
  tasks: Tasks,
  options: { era: Era; principalOf: PrincipalOf; resources: boolean },
): void {
  if (!(mcp instanceof McpServer)) {
    throw new TypeError('the server factory must return an McpServer of @modelcontextprotocol/server');
  }
  const outbox = new Outbox();
  const parts: ToolCallParts = { tasks, outbox, ...options };
  for (const tool of tasks.tools) registerTool(mcp, tool, parts);
  if (options.era === 'modern') {
    mcp.server.registerCapabilities({ extensions: { [TASKS_EXTENSION]: {}, [IDEMPOTENCY_EXTENSION]: {} } });
    registerTaskMethods(mcp, tasks, options.principalOf);
  }
  if (options.resources) registerTaskResources(mcp, tasks, options.principalOf);
  const connect = mcp.connect.bind(mcp);
  mcp.connect = (transport) => connect(watch(transport, outbox));
}

function registerTool(mcp: McpServer, tool: RegisteredTaskTool, parts: ToolCallParts): void {
  const { inputSchema, outputSchema, ...config } = tool.config;
  let schemas = servedSchemas.get(tool);
  if (schemas === undefined) {
    schemas = {
      input: inputSchema && rememberingRaw(inputSchema),
      output: outputSchema && convertedOnce(outputSchema),
    };
    servedSchemas.set(tool, schemas);
  }
  const outgoing = { ...config, ...(schemas.output !== undefined && { outputSchema: schemas.output }) };
  if (schemas.input === undefined) {
    const noArguments: RawArguments = { raw: {}, parsed: {} };
    mcp.registerTool(tool.name, outgoing, (ctx: ServerContext) => callTool(tool, noArguments, ctx, parts));
    return;
  }
  mcp.registerTool(
    tool.name,
    { ...outgoing, inputSchema: schemas.input },
    (args: RawArguments, ctx: ServerContext): Promise<CallToolResult> =>
      callTool(tool, args, ctx, parts) as Promise<CallToolResult>,
  );
}

/** In place, so that the SDK still meets the transport object it made itself; it calls a handler it finds before its own. */
function watch(transport: Transport, outbox: Outbox): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(outbox.outbound(message), options);
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    keepResponses(message);
    onmessage?.(message, extra);
  };
  return transport;
}
