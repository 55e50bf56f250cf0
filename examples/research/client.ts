// An agent whose conversation is in a file, as its calls are: kill it whenever you like, and start it again.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { generateText, type ModelMessage, stepCountIs } from 'ai';
import { asAgentTools, type ConnectOptions, openTaskClient } from 'longcall/client';
import { toAiSdkMessage, toAiSdkTools } from 'longcall/client/ai-sdk';
import { mockModel } from '../support/mock-model.ts';

interface Memory {
  messages: ModelMessage[];
  /** Whose results are in `messages`: one that comes twice, since this process died before it could acknowledge it, is known. */
  handedOver: string[];
}

const [folder, target] = process.argv.slice(2) as [string, string];
const file = `${folder}/conversation.json`;
const task: ModelMessage = { role: 'user', content: 'Write a report on the sea.' };
const memory: Memory = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { messages: [task], handedOver: [] };

await using client = await openTaskClient({ journal: `${folder}/host.db` });
await client.connect('library', JSON.parse(target) as ConnectOptions);
const agent = await asAgentTools(client, { agent: 'researcher', answerWithinMs: 100 });

/** Stands for a model that wants to know five things at once, and reports when it knows them. */
const topics = ['tides', 'currents', 'salt', 'storms', 'ice'];
const model = mockModel((conversation) => {
  if (!conversation.includes('NOT finished')) return topics.map((topic) => ({ tool: 'research', input: { topic } }));
  const known = topics.filter((topic) => conversation.includes(`what is known about ${topic}`));
  return known.length === topics.length ? `A report on ${known.join(', ')}.` : `I know ${known.length} of 5 things.`;
});

for (;;) {
  const waiting = memory.messages.at(-1)?.role === 'assistant'; // Started again: there is nothing to say before a result.
  if (!waiting) {
    const { messages } = memory;
    const turn = { model, messages, tools: toAiSdkTools(agent.tools), system: agent.instructions };
    const { text, response } = await generateText({ ...turn, stopWhen: stepCountIs(10) });
    messages.push(...response.messages);
    save();
    console.log(text);
  }
  const notices = await agent.wait();
  if (notices.length === 0) break;
  for (const notice of notices) {
    if (!memory.handedOver.includes(notice.id)) {
      memory.messages.push(toAiSdkMessage(notice));
      memory.handedOver.push(notice.id);
      save();
    }
    await notice.acknowledge();
  }
}

function save(): void {
  writeFileSync(`${file}.new`, JSON.stringify(memory));
  renameSync(`${file}.new`, file);
}
