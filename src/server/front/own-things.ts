import type { ResourceTemplate } from '@modelcontextprotocol/server';
import { describeIssues, isJsonObject, type JsonObject, type JsonValue, toJsonSchema } from '../../core/index.ts';
import { failure } from '../answers.ts';
import type { Host, HostedTool } from '../host.ts';
import type { CallToolResult, ServerContext } from '../sdk.ts';

// What a server in front of others has of its own: tools that are tasks, tools to go on with, and tasks as resources.

export interface Registered {
  tool: HostedTool;
  call: (args: unknown, ctx: ServerContext) => Promise<CallToolResult>;
}

export interface OwnResource {
  name: string;
  template: ResourceTemplate;
  title: string;
  description: string;
  mimeType: string;
  read: Parameters<Host['registerResource']>[3];
}

/** Calls a tool with arguments as its schema makes them. */
export async function callOwn(
  name: string,
  { tool, call }: Registered,
  args: JsonObject,
  ctx: ServerContext,
): Promise<CallToolResult> {
  if (tool.inputSchema === undefined) return call(undefined, ctx);
  const parsed = await tool.inputSchema['~standard'].validate(args);
  if (parsed.issues === undefined) return call(parsed.value, ctx);
  return failure(`Input validation error: Invalid arguments for tool ${name}: ${describeIssues(parsed.issues)}`);
}

/** A tool of ours as it is listed. */
export function listingOf(name: string, registered: Registered | undefined): JsonObject {
  const { inputSchema, description, annotations } = registered?.tool ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    inputSchema: { type: 'object', ...(inputSchema !== undefined && toJsonSchema(inputSchema, 'input')) },
    ...(annotations !== undefined && { annotations: { ...annotations } as JsonObject }),
  };
}

/** The templates of another server, and on the last page those of ours. */
export function withOwnTemplates(answer: JsonObject, resources: readonly OwnResource[]): JsonObject {
  const { resourceTemplates, nextCursor } = answer;
  if (typeof nextCursor === 'string' || !Array.isArray(resourceTemplates)) return answer;
  const ours = resources.map(({ name, template, title, description, mimeType }): JsonValue => {
    return { name, uriTemplate: template.uriTemplate.toString(), title, description, mimeType };
  });
  const taken = new Set(resourceTemplates.map((one) => (isJsonObject(one) ? one.uriTemplate : undefined)));
  const free = ours.filter((one) => isJsonObject(one) && !taken.has(one.uriTemplate));
  return { ...answer, resourceTemplates: [...resourceTemplates, ...free] };
}
