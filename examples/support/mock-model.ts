// A model for examples that run without one: the AI SDK's own mock, which does as its script says.
import type { JSONValue, LanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

/** What a model does in one step: it says something, or calls tools. */
export type Step = string | { tool: string; input: JSONValue }[];

/** @param script what the model does, by the conversation as it is shown (JSON) */
export function mockModel(script: (conversation: string) => Step): LanguageModel {
  let steps = 0;
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      steps += 1;
      const step = script(JSON.stringify(prompt));
      const said = typeof step === 'string';
      return {
        content: said
          ? [{ type: 'text', text: step }]
          : step.map(({ tool, input }, n) => ({
              type: 'tool-call',
              toolCallId: `${steps}-${n}`,
              toolName: tool,
              input: JSON.stringify(input),
            })),
        finishReason: said ? { unified: 'stop', raw: 'stop' } : { unified: 'tool-calls', raw: 'tool_calls' },
        usage: {
          inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 0, text: 0, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}
