import { isJsonObject, isTerminal, type TaskRecord, toJsonSchema } from '../core/index.ts';
import type { RegisteredTaskTool, Tasks } from '../engine/index.ts';
import { outputSchemaOf, withObjectContent } from '../wire/rev2025-11-25/index.ts';

const wrapped = new WeakMap<RegisteredTaskTool, boolean>();

/**
 * A task whose result is as its tool was listed to clients before 2026-07-28. A schema that admits more than objects is listed
 * as one of an object around them; so what happens to be an object has one around it too, as the SDK has it in answers to
 * calls. What is none gets one anyway, where results are worded.
 */
export function asListed<Task extends TaskRecord>(task: Task, { tools }: Tasks): Task {
  const { method, name, state } = task;
  if (!isTerminal(state) || state.status !== 'completed' || method !== 'tools/call') return task;
  if (!isJsonObject(state.result.structuredContent)) return task;
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined || !isWrapped(tool)) return task;
  return { ...task, state: { ...state, result: withObjectContent(state.result, { wrapped: true }) } };
}

function isWrapped(tool: RegisteredTaskTool): boolean {
  const { outputSchema } = tool.config;
  let known = wrapped.get(tool);
  if (known === undefined) {
    known = outputSchemaOf(outputSchema && toJsonSchema(outputSchema, 'output')).wrapped;
    wrapped.set(tool, known);
  }
  return known;
}
