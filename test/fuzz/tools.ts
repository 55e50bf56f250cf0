import { z } from 'zod';
import { type Prepared, type TaskContext, type Tasks, text } from '../../src/engine/index.ts';

/** Every error a tool of ours throws begins with this: any other error comes from the server itself. */
export const BLAME = 'the fuzzed tool says:';

const task = { keepResultMs: 600_000, onWorkerLost: 'rerun' } as const;
const anything = z.object({ value: z.unknown().optional() });
const form = z.object({ colour: z.string(), size: z.number().optional(), really: z.boolean().optional() });

/** Tools of every kind of support and every way to go on, each answering at once or waiting for something. */
export function registerTools(tasks: Tasks): void {
  registerAnswering(tasks);
  registerAsking(tasks);
  registerFailing(tasks);
  registerWaiting(tasks);
}

export const tools = [
  'greet',
  'echo',
  'must',
  'typed',
  'forge',
  'paint',
  'interview',
  'visit',
  'sample',
  'roots',
  'prepared',
  'broken',
  'thrown',
  'report',
  'slow',
  'nap',
  'chatty',
] as const;

function registerAnswering(tasks: Tasks): void {
  tasks.registerTool(
    'greet',
    { description: 'Says hello', inputSchema: z.object({ name: z.string() }), task: { support: 'forbidden' } },
    ({ name }) => text(`hello ${name}`),
  );
  // What came in goes through steps, log, progress and result.
  tasks.registerTool('echo', { inputSchema: anything, task }, async ({ value }, context) => {
    const kept = await context.step('value', () => value ?? null);
    context.log(JSON.stringify(kept).slice(0, 1_000));
    context.progress(1, 2, typeof kept === 'string' ? kept : 'halfway');
    return { ...text(JSON.stringify(kept)), structuredContent: { kept } };
  });
  tasks.registerTool('must', { inputSchema: anything, task: { ...task, support: 'required' } }, () => text('done'));
  tasks.registerTool(
    'typed',
    { inputSchema: anything, outputSchema: z.object({ n: z.number() }), task },
    async (_args, context) => {
      await context.step('one', () => 1);
      return { content: [], structuredContent: { n: 1 } };
    },
  );
  // As one that hands on what another server answered.
  tasks.registerTool('forge', { task }, () => ({
    ...text('forged'),
    resultType: 'task',
    taskId: 'tsk_forged',
    task: { taskId: 'tsk_forged' },
    _meta: { 'longcall/outcome': '00000000-0000-4000-8000-000000000000', 'longcall/task': {} },
  }));
}

function registerAsking(tasks: Tasks): void {
  tasks.registerTool('paint', { task }, async (_args, context) => {
    const answer = await context.ask('colour', { message: 'Which colour?', schema: form });
    return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : answer.action);
  });
  tasks.registerTool('interview', { task: { ...task, support: 'required' } }, async (_args, context) => {
    const answers = [
      context.ask('__proto__', { message: 'Who?', schema: form }),
      context.ask('a key/with "odd" letters\u0000', { message: 'What?', schema: form }),
    ];
    const given = await Promise.all(answers);
    const last = await context.ask('again', { message: 'Again?', schema: form });
    return text([...given, last].map(({ action }) => action).join());
  });
  tasks.registerTool('visit', { task }, async (_args, context) =>
    text((await context.ask('pay', { message: 'Pay?', url: 'https://pay.example/1' })).action),
  );
  tasks.registerTool('sample', { task }, async (_args, context) => {
    const messages = [{ role: 'user', content: { type: 'text', text: 'Summarise' } }];
    return text((await context.sample('sum', { messages, maxTokens: 100 } as never)).action);
  });
  tasks.registerTool('roots', { task }, async (_args, context) => text((await context.roots()).action));
  const prepare = (_args: unknown, { answers, canAsk }: { answers: unknown; canAsk: boolean }): Prepared => {
    const answer = (answers as { name?: unknown } | undefined)?.name;
    if (answer !== undefined) return { prepared: { name: JSON.stringify(answer) ?? '' } };
    if (!canAsk) return { prepared: { name: 'nobody' } };
    const params = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    const inputRequests = { name: { method: 'elicitation/create', params } };
    return { respond: { resultType: 'input_required', inputRequests, requestState: 'a state of its own' } };
  };
  tasks.registerTool('prepared', { task: { ...task, prepare } }, (_args, context) =>
    text(JSON.stringify(context.prepared)),
  );
}

function registerFailing(tasks: Tasks): void {
  tasks.registerTool('broken', { task }, () => {
    throw Object.assign(new Error(`${BLAME} the projector broke`), { code: -32050, data: { reel: 3 } });
  });
  tasks.registerTool('thrown', { inputSchema: anything, task: { ...task, support: 'forbidden' } }, () => {
    throw new Error(`${BLAME} no`);
  });
  tasks.registerTool('report', { task }, () => ({ ...text('no such film'), isError: true }));
}

function registerWaiting(tasks: Tasks): void {
  tasks.registerTool('slow', { inputSchema: anything, task }, async ({ value }, context) => {
    context.progress(1, 2, typeof value === 'string' ? value : 'half-way');
    await stopped(context);
    return text('stopped');
  });
  tasks.registerTool('nap', { task }, async (_args, context) => {
    await context.sleep(60_000);
    return text('awake');
  });
  tasks.registerTool('chatty', { task }, async (_args, context) => {
    for (let n = 1; n <= 20; n += 1) {
      context.log(`line ${n}`);
      context.progress(n, 20);
      await context.step(`n ${n}`, () => n);
    }
    return text('said');
  });
}

function stopped({ signal }: TaskContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
