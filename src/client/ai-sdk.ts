// The one file that knows the AI SDK: an optional peer, for those who import this subpath.
import { dynamicTool, jsonSchema, type ToolSet, type UserModelMessage } from 'ai';
import type { AgentNotice } from './agents/agent-calls.ts';
import type { AgentTool } from './agents/agent-tools.ts';
import type { AgentReply } from './agents/reply.ts';

/**
 * Tools for `generateText`, `streamText` and agents of the AI SDK, by their names. Give the same set to
 * `convertToModelMessages`. What comes later is a message of its own: `toAiSdkMessage` of what `AgentTools.wait` brings.
 */
export function toAiSdkTools(tools: readonly AgentTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema, execute }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema),
        execute: (args, { abortSignal }) => execute(args, { signal: abortSignal }),
        toModelOutput: ({ output }) => modelOutput(output as AgentReply),
      }),
    ]),
  );
}

/** A result that came later, with its pictures. Acknowledge it once the conversation that has the message is kept. */
export function toAiSdkMessage({ text, images }: Pick<AgentNotice, 'text' | 'images'>): UserModelMessage {
  const pictures = images.map(({ data, mimeType: mediaType }) => ({ type: 'file' as const, data, mediaType }));
  return { role: 'user', content: [{ type: 'text', text }, ...pictures] };
}

/** Pictures as pictures. A failure is said to be one, which has no place for them. */
function modelOutput({ text, isError, images }: AgentReply) {
  if (isError) return { type: 'error-text' as const, value: text };
  if (images.length === 0) return { type: 'text' as const, value: text };
  const pictures = images.map(({ data, mimeType }) => ({ type: 'image-data' as const, data, mediaType: mimeType }));
  return { type: 'content' as const, value: [{ type: 'text' as const, text }, ...pictures] };
}
