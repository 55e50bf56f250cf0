import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';

/** What a `tools/list` shows one caller. */
export interface ToolView {
  /** Tools it is not shown. */
  hidden: ReadonlySet<string>;
  /** Tools whose calls may be answered without their result: description and output schema allow for that. */
  detachable: ReadonlySet<string>;
  /** The tool that such an answer is followed up with. */
  followUp: string | undefined;
}

/** What a detached answer carries as structured content. */
const DETACHED_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The call goes on in the background; this is not its result yet',
  properties: {
    taskId: { type: 'string' },
    status: { type: 'string' },
    pollAfterMs: { type: 'number' },
  },
  required: ['taskId', 'status'],
};

/** What is listed of tools and of prompts, where their SDK cannot say it of them. */
export interface Listings {
  tools: ReadonlyMap<string, JsonObject>;
  prompts: ReadonlyMap<string, JsonObject>;
}

/** The answer to a list, with what its SDK could not say of those it names. */
export function withListings(message: unknown, { tools, prompts }: Listings): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return message;
  const { result } = message;
  const told = (entries: JsonValue, listings: ReadonlyMap<string, JsonObject>): JsonValue[] =>
    (entries as JsonValue[]).map((entry) => {
      const listing = isJsonObject(entry) ? listings.get(String(entry.name)) : undefined;
      return listing === undefined ? entry : { ...(entry as JsonObject), ...listing };
    });
  return {
    ...message,
    result: {
      ...result,
      ...(Array.isArray(result.tools) && { tools: told(result.tools, tools) }),
      ...(Array.isArray(result.prompts) && { prompts: told(result.prompts, prompts) }),
    },
  };
}

/** The arguments of a prompt as they are listed, from the JSON Schema of what it takes. @see 2025-11-25 schema, `PromptArgument` */
export function promptArguments({ properties, required }: JsonObject): JsonObject[] {
  const needed: readonly JsonValue[] = Array.isArray(required) ? required : [];
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => {
    const { description } = isJsonObject(schema) ? schema : {};
    return {
      name,
      ...(typeof description === 'string' && { description }),
      ...(needed.includes(name) && { required: true }),
    };
  });
}

export function isPromptListRequest(message: unknown): message is { id: string | number } {
  return isJsonObject(message) && message.method === 'prompts/list' && message.id !== undefined;
}

export function isToolListRequest(message: unknown): message is { id: string | number; params?: unknown } {
  return isJsonObject(message) && message.method === 'tools/list' && message.id !== undefined;
}

/** The answer to a `tools/list` as one caller is to see it; no cache may show it to another. */
export function toolsFor(message: unknown, { hidden, detachable, followUp }: ToolView): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.result) || !Array.isArray(message.result.tools)) return message;
  const { result } = message;
  const tools = (result.tools as JsonValue[])
    .filter((tool) => !isJsonObject(tool) || !hidden.has(String(tool.name)))
    .map((tool) => {
      return isJsonObject(tool) && detachable.has(String(tool.name)) ? described(widened(tool), followUp) : tool;
    });
  const scope = result.cacheScope === undefined ? {} : { cacheScope: 'private' };
  return { ...message, result: { ...result, ...scope, tools } };
}

/** Models do not look for a tool that nobody told them about. */
function described(tool: JsonObject, followUp: string | undefined): JsonObject {
  if (followUp === undefined) return tool;
  const own = typeof tool.description === 'string' && tool.description !== '' ? `${tool.description}\n` : '';
  return { ...tool, description: own + followUpHint(followUp) };
}

function followUpHint(followUp: string): string {
  return `If this takes long, it answers with a taskId instead of its result: then call ${followUp} with it.`;
}

/** A description without what was added for models that follow tasks up themselves. */
export function withoutFollowUp(description: string, followUp: string): string {
  const hint = followUpHint(followUp);
  return description.endsWith(hint) ? description.slice(0, -hint.length).trimEnd() : description;
}

/** A schema that cannot be moved without a change of meaning is not listed, which promises nothing. */
function widened(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool;
  if (!isJsonObject(outputSchema)) return tool;
  const { $schema, $defs, definitions, ...own } = outputSchema;
  if (!isMovable(own) || !isMovable($defs) || !isMovable(definitions)) return rest;
  const top = Object.entries({ $schema, $defs, definitions }).filter(([, value]) => value !== undefined);
  // What is not an object is legal only where the tool itself may answer so.
  const type = own.type === 'object' ? { type: 'object' } : {};
  return { ...rest, outputSchema: { ...Object.fromEntries(top), ...type, anyOf: [own, DETACHED_SCHEMA] } };
}

/** Whether all that a schema refers to stays where it is while its root moves: shared definitions, and nothing else. */
export function isMovable(schema: JsonValue | undefined): boolean {
  if (Array.isArray(schema)) return schema.every(isMovable);
  if (!isJsonObject(schema)) return true;
  return Object.entries(schema).every(([name, value]) => {
    if (name === '$id' || name === '$dynamicRef' || name === '$recursiveRef') return false;
    if (name === '$ref' && typeof value === 'string') return /^#\/(\$defs|definitions)\//.test(value);
    return isMovable(value);
  });
}
