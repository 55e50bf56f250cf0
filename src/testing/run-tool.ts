import { type JsonObject, LOCAL_PRINCIPAL, questionText, type TaskRecord, type TerminalState } from '../core/index.ts';
import { createTasks, type Tasks, type ToolResult } from '../engine/index.ts';
import { sqliteStore } from '../store/index.ts';
import { ManualClock } from './manual-clock.ts';

export interface RunToolOptions {
  /** Answers to the tool's questions, by the name they are asked under; `'decline'`, `'cancel'`, or the form's content. */
  answers?: Record<string, JsonObject | 'decline' | 'cancel'>;
  /**
   * Start the handler afresh after every step, question and sleep, as crashes and long waits do. Whatever a handler does
   * outside steps then shows by happening again. @default true
   */
  interrupt?: boolean;
  /** Give up after this many runs of the handler: it does not get further. @default 1000 */
  maxRuns?: number;
}

export interface ToolRun {
  /** How the task ended. */
  state: TerminalState;
  /** The tool's result, where it returned one. */
  result: ToolResult | undefined;
  /** How often the handler was started. */
  runs: number;
  /** Keys of the questions it asked, in order. */
  asked: string[];
}

/**
 * Runs one of your tools to its end, for your own tests: in memory, with sleeps skipped and questions answered at once.
 * @param register registers the tool, as your program does
 * @throws {Error} when a question has no answer in `answers`, or the handler does not come to an end.
 */
export async function runTool(
  register: (tasks: Tasks) => unknown,
  name: string,
  args: JsonObject = {},
  options: RunToolOptions = {},
): Promise<ToolRun> {
  const { answers = {}, interrupt = true, maxRuns = 1_000 } = options;
  const clock = new ManualClock();
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const tasks = createTasks({
    store: sqliteStore(':memory:'),
    clock,
    logger: silent,
    drainMs: 0,
    interruptRuns: interrupt,
  });
  const asked: string[] = [];
  try {
    register(tasks);
    const tool = tasks.tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`runTool: no tool ${JSON.stringify(name)} was registered`);
    const { engine } = tasks;
    const { task } = await engine.create({
      definition: tool.definition,
      principal: LOCAL_PRINCIPAL,
      input: args,
      revision: 'test',
      abilities: { form: true },
    });
    for (;;) {
      const record = await engine.get(task.taskId, LOCAL_PRINCIPAL);
      const { state } = record;
      if (state.status === 'completed' || state.status === 'failed' || state.status === 'cancelled') {
        const result = state.status === 'completed' ? (state.result as ToolResult) : undefined;
        return { state, result, runs: engine.runs, asked };
      }
      if (engine.runs > maxRuns) throw new Error(`runTool: ${name} was started ${engine.runs} times and is not done`);
      if (state.status === 'input_required') await answerAll(tasks, record, answers, asked);
      // Sleeps are skipped, and whatever is ready comes to pass.
      clock.advance(5_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await tasks.close();
  }
}

async function answerAll(
  { engine }: Tasks,
  record: TaskRecord,
  answers: NonNullable<RunToolOptions['answers']>,
  asked: string[],
): Promise<void> {
  if (record.state.status !== 'input_required') return;
  for (const [key, question] of Object.entries(record.state.inputRequests)) {
    const given = answers[key] ?? answers[key.replace(/-\d+$/, '')];
    if (given === undefined)
      throw new Error(`runTool: no answer for ${JSON.stringify(key)} ("${questionText(question)}") in answers`);
    asked.push(key);
    const answer = typeof given === 'string' ? { action: given } : ({ action: 'accept', content: given } as const);
    await engine.answer(record.taskId, LOCAL_PRINCIPAL, new Map([[key, answer]]));
  }
}
