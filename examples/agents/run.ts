import assert from 'node:assert/strict';
import { generateText, type LanguageModel, type ModelMessage, stepCountIs } from 'ai';
import { asAgentTools, openTaskClient, type TaskClient } from 'longcall/client';
import { toAiSdkMessage, toAiSdkTools } from 'longcall/client/ai-sdk';
import { mockModel } from '../support/mock-model.ts';
import { onEachTransport } from '../support/on-each-transport.ts';
import { type Where, where } from '../support/where.ts';

await onEachTransport(
  new URL('server.ts', import.meta.url),
  async ({ target }: Where) => {
    await using client = await openTaskClient({ journal: ':memory:' });
    await client.connect('ci', {
      ...target,
      // Questions go to a person, never to a model. Which agent's call asks stands in `call.note`.
      onQuestion: async ({ question, call }) => {
        assert(question.kind === 'form');
        console.log(`  a person is asked by ${call?.tool}: ${question.message} yes`);
        return { action: 'accept', content: {} };
      },
    });
    const answers = await Promise.all([
      converse(client, 'tester', 'Is main green?', modelThat('run_tests', { branch: 'main' })),
      converse(client, 'auditor', 'Is shop safe?', modelThat('audit', { service: 'shop' })),
      converse(client, 'releaser', 'Release 1.4.0.', modelThat('release', { version: '1.4.0' })),
    ]);
    assert.deepEqual(answers, ['412 tests of main passed, 0 failed', '1 flaw in shop: left-pad 1.0.0', '1.4.0 is out']);
  },
  where,
);

/** One agent: turns of a model, and between them the results that came meanwhile. */
async function converse(client: TaskClient, name: string, task: string, model: LanguageModel): Promise<string> {
  const agent = await asAgentTools(client, { agent: name, answerWithinMs: 200 });
  const tools = toAiSdkTools(agent.tools);
  const messages: ModelMessage[] = [{ role: 'user', content: task }];
  for (;;) {
    const turn = { model, tools, messages, system: agent.instructions, stopWhen: stepCountIs(10) };
    const { text, response } = await generateText(turn);
    console.log(`  ${name}: ${text}`);
    messages.push(...response.messages);
    const notices = await agent.wait(); // None: nothing goes on in the background.
    if (notices.length === 0) return text;
    for (const notice of notices) {
      messages.push(toAiSdkMessage(notice)); // A host with a memory writes it there first.
      await notice.acknowledge();
    }
  }
}

/** Stands for a model that needs one tool, waits for what it brings, and reports that. */
function modelThat(tool: string, input: Record<string, string>): LanguageModel {
  return mockModel((conversation) => {
    const [, result] = /<result-\w+>\\n(.*?)\\n<\/result-/.exec(conversation) ?? [];
    if (result !== undefined) return result;
    return conversation.includes('NOT finished') ? 'It is running; I will tell you.' : [{ tool, input }];
  });
}
