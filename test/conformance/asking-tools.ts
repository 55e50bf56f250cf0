import { type AskResult, type JsonObject, type Tasks, text } from 'longcall';
import { z } from 'zod';

const told = ({ action, ...rest }: AskResult<unknown>): string =>
  `action=${action}, content=${JSON.stringify('content' in rest ? rest.content : {})}`;

const string = (more: JsonObject): JsonObject => ({ type: 'string', ...more });
const titled = (value: string, title: string): JsonObject => ({ const: value, title });

const withDefaults: JsonObject = {
  type: 'object',
  properties: {
    name: string({ default: 'John Doe' }),
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: string({ enum: ['active', 'inactive', 'pending'], default: 'active' }),
    verified: { type: 'boolean', default: true },
  },
};

const choices: JsonObject = {
  type: 'object',
  properties: {
    untitledSingle: string({ enum: ['option1', 'option2', 'option3'] }),
    titledSingle: string({
      oneOf: [titled('value1', 'First Option'), titled('value2', 'Second Option'), titled('value3', 'Third Option')],
    }),
    legacyEnum: string({ enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] }),
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: {
      type: 'array',
      items: {
        anyOf: [titled('value1', 'First Choice'), titled('value2', 'Second Choice'), titled('value3', 'Third Choice')],
      },
    },
  },
};

/** Tools that ask while their call waits, as clients of 2025-11-25 without tasks are asked. */
export function registerAskingTools(tasks: Tasks): void {
  tasks.registerTool(
    'test_elicitation',
    { description: 'Asks a person', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, task) => {
      const schema = z.object({
        username: z.string().describe("User's response"),
        email: z.string().describe("User's email address"),
      });
      return text(`User response: ${told(await task.ask('who', { message, schema }))}`);
    },
  );
  tasks.registerTool(
    'test_sampling',
    { description: 'Asks a model', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, task) => {
      const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
      const answer = await task.sample('prompt', { messages, maxTokens: 100 });
      const said = answer.action === 'accept' ? (answer.content.content as JsonObject).text : answer.action;
      return text(`LLM response: ${String(said)}`);
    },
  );
  for (const [name, schema] of Object.entries({
    test_elicitation_sep1034_defaults: withDefaults,
    test_elicitation_sep1330_enums: choices,
  })) {
    tasks.registerTool(name, { description: 'Asks with a form of all kinds of fields' }, async (_args, task) =>
      text(`Elicitation completed: ${told(await task.ask('form', { message: 'Please choose', schema }))}`),
    );
  }
}
