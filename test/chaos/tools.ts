// Tools of every kind that recovery tells apart. Each writes down what it does, and none knows what will be done to it.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type TaskContext, type Tasks, type ToolResult, type ToolTaskOptions, text } from 'longcall';
import { z } from 'zod';
import { RunNotes } from './ledger.ts';

const run = promisify(execFile);
/** Lost workers must not use up a task's attempts where that is not what is looked at. */
const OFTEN = 1_000;

/** What the checks have to know of each tool. */
export const rules = {
  steps: 'resume',
  job: 'auto',
  ask: 'auto',
  both: 'resume',
  nap: 'resume',
  once: 'never again',
  guarded: 'never again',
  look: 'rerun',
  flaky: 'rerun',
  hopeless: 'rerun',
  poison: 'rerun',
} as const;

export type ToolName = keyof typeof rules;

const ms = z.number();
type Body<Args> = (args: Args, task: TaskContext, notes: RunNotes) => Promise<string[]>;

/** @param life which life of which process this is, for the notes */
export function registerTools(tasks: Tasks, folder: string, life: string): void {
  const register = <Input extends z.ZodObject>(
    name: ToolName,
    inputSchema: Input,
    options: ToolTaskOptions<z.infer<Input>> & { annotations?: object },
    body: Body<z.infer<Input>>,
  ): void => {
    const { annotations, ...task } = options;
    const config = { inputSchema, ...(annotations && { annotations }), task: { maxAttempts: OFTEN, ...task } };
    tasks.registerTool(
      name,
      config as never,
      (async (args: z.infer<Input>, context: TaskContext) =>
        noted(new RunNotes(folder, life, context.id, context.attempt), context, (notes) =>
          body(args, context, notes),
        )) as never,
    );
  };

  register('steps', z.object({ count: z.int(), ms }), { onWorkerLost: 'resume' }, async (args, task, notes) => {
    const values: string[] = [];
    for (let n = 1; n <= args.count; n += 1) {
      values.push(await step(task, notes, `step ${n}`, args.ms));
      task.progress(n, args.count);
    }
    return values;
  });

  register('job', z.object({ ms }), {}, async (args, task, notes) => {
    const before = await step(task, notes, 'prepare', 5);
    const done = await step(task, notes, 'job', 0, async (signal) => {
      const script = 'sleep "$1"; printf "%s" "$2" >> "$3"; echo done';
      const line = notes.line('effect', { key: 'job' });
      const { stdout } = await run('sh', ['-c', script, 'job', String(args.ms / 1000), line, notes.path], { signal });
      return stdout.trim();
    });
    return [before, done];
  });

  const word = z.object({ word: z.string() });
  const ask = async (task: TaskContext, notes: RunNotes, key: string, timeoutMs?: number): Promise<string> => {
    const options = { message: `The word for ${key}?`, schema: word, ...(timeoutMs !== undefined && { timeoutMs }) };
    const answer = await task.ask(key, options);
    const value = answer.action === 'accept' ? answer.content.word : answer.action;
    notes.write('heard', { key, value });
    return value;
  };
  register('ask', z.object({ ms, withinMs: z.number().optional() }), {}, async (args, task, notes) => {
    const before = await step(task, notes, 'before', args.ms);
    const heard = await ask(task, notes, 'word', args.withinMs);
    return [before, heard, await step(task, notes, 'after', args.ms)];
  });
  register('both', z.object({ ms }), { onWorkerLost: 'resume' }, async (args, task, notes) => {
    const heard = await Promise.all([ask(task, notes, 'left'), ask(task, notes, 'right')]);
    return [...heard, await step(task, notes, 'after', args.ms)];
  });

  register('nap', z.object({ ms, napMs: ms }), { onWorkerLost: 'resume' }, async (args, task, notes) => {
    const before = await step(task, notes, 'before', args.ms);
    await task.sleep(args.napMs);
    return [before, await step(task, notes, 'after', args.ms)];
  });

  register('once', z.object({ ms }), {}, async (args, task) => work(args.ms, task.signal));
  register('guarded', z.object({ ms, asks: z.boolean() }), { onWorkerLost: 'fail' }, async (args, task, notes) => {
    const before = await step(task, notes, 'before', args.ms);
    const heard = args.asks ? [await ask(task, notes, 'word')] : [];
    return [before, ...heard, await step(task, notes, 'after', args.ms)];
  });
  const harmless = { readOnlyHint: true, idempotentHint: true };
  register('look', z.object({ ms }), { annotations: harmless }, async (args, task) => work(args.ms, task.signal));

  const retry = { backoffMs: 50, maxBackoffMs: 200 };
  const flaky = { annotations: harmless, retry };
  register('flaky', z.object({ ms, failures: z.int() }), flaky, async (args, task) => {
    const done = await work(args.ms, task.signal);
    if (task.attempt <= args.failures) throw new Error('not yet');
    return done;
  });
  register('hopeless', z.object({ ms }), { ...flaky, maxAttempts: 3 }, async (args, task) => {
    await work(args.ms, task.signal);
    throw new Error('hopeless');
  });
  register('poison', z.object({}), { onWorkerLost: 'rerun', maxAttempts: 2 }, async () => {
    process.kill(process.pid, 'SIGKILL');
    return setTimeout(60_000, []);
  });
}

/** Runs a handler with its beginning and its ends written down. */
async function noted(
  notes: RunNotes,
  task: TaskContext,
  body: (notes: RunNotes) => Promise<string[]>,
): Promise<ToolResult> {
  notes.write('started');
  const told = (): void => notes.write('told', { value: (task.signal.reason as Error).message });
  task.signal.addEventListener('abort', told, { once: true });
  try {
    const values = await body(notes);
    notes.write('returned');
    return { ...text(values.join(' ')), structuredContent: { values } };
  } catch (error) {
    notes.write('threw', { value: (error as Error).message });
    throw error;
  }
}

/** A step whose value can be made only once: doing it again would show. */
async function step(
  task: TaskContext,
  notes: RunNotes,
  key: string,
  forMs: number,
  also: (signal: AbortSignal) => Promise<string> = async () => 'worked',
): Promise<string> {
  const value = await task.step(key, async ({ signal }) => {
    notes.write('began', { key });
    if (forMs > 0) await setTimeout(forMs, undefined, { signal });
    const made = `${await also(signal)} ${randomBytes(6).toString('hex')}`;
    notes.write('made', { key, value: made });
    return made;
  });
  notes.write('has', { key, value });
  return value;
}

async function work(forMs: number, signal: AbortSignal): Promise<string[]> {
  await setTimeout(forMs, undefined, { signal });
  return [randomBytes(6).toString('hex')];
}
