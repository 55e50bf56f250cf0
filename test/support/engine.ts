import { LOCAL_PRINCIPAL, type Logger } from '../../src/core/index.ts';
import { createTasks, type Tasks, type TasksOptions } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { silent } from './stores.ts';

/** Tasks in memory, on a clock that stands still. */
export function someTasks(options: Partial<TasksOptions> = {}): { tasks: Tasks; clock: ManualClock } {
  const clock = (options.clock as ManualClock | undefined) ?? new ManualClock();
  const tasks = createTasks({
    store: sqliteStore(':memory:'),
    logger: silent,
    drainMs: 0,
    stopGraceMs: 0,
    ...options,
    clock,
  });
  return { tasks, clock };
}

/** Starts a tool as a client with forms would, and returns the new task. */
export async function start(
  tasks: Tasks,
  name: string,
  input: Record<string, unknown> = {},
  abilities = { form: true },
) {
  const tool = tasks.tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  const { task } = await tasks.engine.create({
    definition: tool.definition,
    principal: LOCAL_PRINCIPAL,
    input: input as never,
    revision: '2026-07-28',
    abilities,
  });
  return task;
}

/** Waits until the task is in `status`. */
export async function reaches(tasks: Tasks, taskId: string, status: string): Promise<void> {
  const stop = new AbortController();
  try {
    await tasks.engine.wait(taskId, LOCAL_PRINCIPAL, {
      signal: stop.signal,
      onChange: ({ state }) => {
        if (state.status === status) stop.abort();
      },
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

/** A promise with its handles outside. */
export function deferred<Value = void>(): {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Everything that is ready to happen happens: promises, and the store's group commits. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Keeps what is logged, to look for or to prove absent. */
export function recordingLogger(): { logger: Logger; lines: { level: string; fields: object; message: string }[] } {
  const lines: { level: string; fields: object; message: string }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines };
}

/**
 * Lets time pass as it does for a living process: in pieces small enough that heartbeats are answered in between. One
 * big `advance` is a process that stood still.
 */
export async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; ; left -= 5_000) {
    clock.advance(Math.min(Math.max(left, 0), 5_000));
    await settle(left > 60_000 ? 3 : 8);
    if (left <= 5_000) return;
  }
}
