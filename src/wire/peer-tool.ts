import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';

/** A tool as its server lists it. Its words are the server's: data, never instructions. */
export interface PeerTool {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema of its arguments; of an object. */
  inputSchema: JsonObject;
  /** JSON Schema of its structured results, where it has any. */
  outputSchema?: JsonObject;
  /** What it says about itself (`readOnlyHint`, `destructiveHint` …); a server may say anything. */
  annotations?: JsonObject;
}

/** `undefined`: nothing that could be called. A schema that is none says nothing, and the server checks what it gets. */
export function readTool(tool: JsonValue | undefined): PeerTool | undefined {
  if (!isJsonObject(tool) || typeof tool.name !== 'string' || tool.name === '') return undefined;
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: isJsonObject(inputSchema) ? inputSchema : { type: 'object' },
    ...(isJsonObject(outputSchema) && { outputSchema }),
    ...(isJsonObject(annotations) && { annotations }),
  };
}
