import { setTimeout as sleep } from 'node:timers/promises';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { type Tasks, text } from 'longcall';
import { z } from 'zod';

/** The tools that the suite's `tasks-*` scenarios call, by the names and arguments they call them with. */
export function registerTaskTools(tasks: Tasks): void {
  tasks.registerTool(
    'greet',
    {
      description: 'Says hello; never a task',
      inputSchema: z.object({ name: z.string() }),
      task: { support: 'forbidden' },
    },
    ({ name }) => text(`Hello, ${name}!`),
  );

  tasks.registerTool(
    'slow_compute',
    {
      description: 'Sleeps for some seconds',
      inputSchema: z.object({ seconds: z.number().min(0), label: z.string().optional() }),
    },
    async ({ seconds, label = 'nothing' }, task) => {
      await sleep(seconds * 1_000, undefined, { signal: task.signal });
      return text(`computed ${label} in ${seconds} s`);
    },
  );

  tasks.registerTool(
    'failing_job',
    { description: 'Does its work and reports that it went wrong', task: { support: 'required' } },
    async (_args, task) => {
      await sleep(1_000, undefined, { signal: task.signal });
      return { ...text('the job went wrong'), isError: true };
    },
  );

  tasks.registerTool('protocol_error_job', { description: 'Ends in a JSON-RPC error' }, () => {
    throw Object.assign(new Error('the job broke'), { code: -32050 });
  });

  tasks.registerTool(
    'confirm_delete',
    { description: 'Asks before it deletes', inputSchema: z.object({ filename: z.string() }) },
    async ({ filename }, task) => {
      const message = `Delete ${filename}?`;
      const answer = await task.ask('confirm', { message, schema: z.object({ confirm: z.boolean() }) });
      const confirmed = answer.action === 'accept' && answer.content.confirm;
      return text(confirmed ? `deleted ${filename}` : `kept ${filename}`);
    },
  );

  tasks.registerTool('multi_input', { description: 'Asks two questions at once' }, async (_args, task) => {
    const [name, confirm] = await Promise.all([
      task.ask('name', { message: 'What is your name?', schema: z.object({ name: z.string() }) }),
      task.ask('confirm', { message: 'Go on?', schema: z.object({ confirm: z.boolean() }) }),
    ]);
    return text(`${name.action} and ${confirm.action}`);
  });

  tasks.registerTool(
    'test_tool_with_task',
    {
      description: 'Asks for a name, then greets it in a task',
      task: {
        support: 'required',
        prepare: (_args, { answers }) => {
          const requestedSchema = z.object({ name: z.string() });
          const answer = acceptedContent(answers, 'user_name', requestedSchema);
          if (answer !== undefined) return { prepared: answer.name };
          const user_name = inputRequired.elicit({ message: 'What is your name?', requestedSchema });
          return { respond: inputRequired({ inputRequests: { user_name } }) };
        },
      },
    },
    (_args, task) => text(`Hello, ${String(task.prepared)}!`),
  );
}
