import type { JSONValue, LanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

type Generate = Extract<MockLanguageModelV3['doGenerate'], (...args: never[]) => unknown>;
type Prompt = Parameters<Generate>[0]['prompt'];
export type Generated = Awaited<ReturnType<Generate>>;

/** What a model does in one step: it says something, or calls tools. */
export type Step = string | { tool: string; input?: JSONValue }[];

const usage: Generated['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that does as its script says, which sees the conversation it is shown as text. */
export function scriptedModel(script: (prompt: string, step: number) => Step): {
  model: LanguageModel;
  prompts: string[];
  calls: MockLanguageModelV3['doGenerateCalls'];
} {
  const prompts: string[] = [];
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }: { prompt: Prompt }): Promise<Generated> => {
      const seen = JSON.stringify(prompt);
      prompts.push(seen);
      const step = script(seen, prompts.length);
      const content: Generated['content'] =
        typeof step === 'string'
          ? [{ type: 'text', text: step }]
          : step.map(({ tool, input = {} }, n) => ({
              type: 'tool-call',
              toolCallId: `${prompts.length}-${n}`,
              toolName: tool,
              input: JSON.stringify(input),
            }));
      const finish = typeof step === 'string' ? 'stop' : 'tool-calls';
      return { content, finishReason: { unified: finish, raw: finish }, usage, warnings: [] };
    },
  });
  return { model, prompts, calls: model.doGenerateCalls };
}
