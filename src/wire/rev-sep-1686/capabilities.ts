import { isJsonObject, type JsonObject } from '../../core/index.ts';

/**
 * The server's `tasks` capability: booleans, where later revisions have objects. `undefined` where nothing runs as a task.
 * @see core draft of 2025-10-31, "Capabilities"
 */
export function tasksCapability(methods: ReadonlySet<string>): JsonObject | undefined {
  const capability = {
    ...(methods.has('tools/call') && { tools: { call: true } }),
    ...(methods.has('prompts/get') && { prompts: { get: true } }),
    ...(methods.has('resources/read') && { resources: { read: true } }),
  };
  return Object.keys(capability).length > 0 ? capability : undefined;
}

/** Whether a client takes `sampling/createMessage` as a task of its own. */
export function samplesAsTask(clientCapabilities: unknown): boolean {
  const tasks = isJsonObject(clientCapabilities) ? clientCapabilities.tasks : undefined;
  const sampling = isJsonObject(tasks) ? tasks.sampling : undefined;
  return isJsonObject(sampling) && sampling.createMessage === true;
}
