import { isJsonObject, type JsonObject } from '../../core/index.ts';

/** What a server that speaks this revision says of its tasks. */
export interface Offer {
  /** The `tasks` capability; `undefined` where nothing runs as a task. */
  capability: JsonObject | undefined;
  /** Tools that are expected to be called as tasks. */
  hinted: Pick<ReadonlySet<string>, 'has'>;
}

/**
 * The message with what this revision adds: a capability at `initialize`, and a hint to tools that are good to call as
 * tasks. For sessions of versions that have no tasks of their own.
 * @see core draft of 2025-10-31, `ServerCapabilities`, `ToolAnnotations`
 */
export function withOffer(message: unknown, { capability, hinted }: Offer): unknown {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return message;
  const { result } = message;
  const { protocolVersion, capabilities, tools } = result;
  if (typeof protocolVersion === 'string' && isJsonObject(capabilities)) {
    if (capability === undefined) return message;
    return { ...message, result: { ...result, capabilities: { ...capabilities, tasks: capability } } };
  }
  if (!Array.isArray(tools)) return message;
  const told = tools.map((tool) => {
    if (!isJsonObject(tool) || !hinted.has(String(tool.name))) return tool;
    const annotations = isJsonObject(tool.annotations) ? tool.annotations : {};
    return { ...tool, annotations: { ...annotations, taskHint: true } };
  });
  return { ...message, result: { ...result, tools: told } };
}
