import { questionKey } from '../../src/core/index.ts';
import type { TaskContext, ToolResult } from '../../src/engine/index.ts';
import type { HandlerRun } from './facts.ts';
import type { Op, Program } from './programs.ts';

/** What a handler needs of the simulation around it. */
export interface Stage {
  run: HandlerRun;
  /** Goes on when the scheduler says so. */
  pause(label: string): Promise<void>;
  /** Goes on when the run calms down, at the latest. */
  hang(): Promise<void>;
  crash(): Promise<never>;
  note(what: 'working' | 'worked' | 'has' | 'answered', key: string, value?: string): void;
}

/** A flat form with one field; every answer of the simulation is another text. */
const SCHEMA = { type: 'object', properties: { text: { type: 'string', maxLength: 12 } }, required: ['text'] };

/** Plays a program as a handler would, writing down what it does. */
export async function play(program: Program, task: TaskContext, stage: Stage): Promise<ToolResult> {
  const player = new Player(task, stage);
  for (const op of program.ops) {
    try {
      await player.perform(op, program.stubborn);
    } catch (error) {
      if (!program.stubborn) throw error;
    }
  }
  if (program.leaks) player.step('leaked', false).catch(() => {});
  return end(program, stage);
}

async function end(program: Program, stage: Stage): Promise<ToolResult> {
  await stage.pause('end');
  const { id, fence } = stage.run;
  const result = { content: [], structuredContent: { run: id, fence } };
  switch (program.end) {
    case 'is_error':
      return { ...result, isError: true };
    case 'throw':
      throw new Error(`run ${id} failed`);
    case 'rpc_error':
      throw Object.assign(new Error(`run ${id} refused`), { code: -32050 });
    case 'hang':
      await stage.hang();
      return result;
    case 'return':
      return result;
  }
}

class Player {
  readonly #task: TaskContext;
  readonly #stage: Stage;
  readonly #ordinals = new Map<string, number>();

  constructor(task: TaskContext, stage: Stage) {
    this.#task = task;
    this.#stage = stage;
  }

  async perform(op: Op, stubborn: boolean): Promise<void> {
    const { signal } = this.#task;
    switch (op.do) {
      case 'step':
        return this.step(op.name, op.throws === true);
      case 'steps':
        await Promise.all(op.names.map((name) => this.step(name, false)));
        return;
      case 'ask':
        return this.#ask(op.name, op.timeoutMs);
      case 'asks':
        await Promise.all(op.names.map((name) => this.#ask(name)));
        return;
      case 'sleep':
        return this.#task.sleep(op.ms);
      case 'report': {
        const { id, fence } = this.#stage.run;
        this.#task.progress(id, undefined, `f${fence}`);
        this.#task.log(`f${fence} r${id}`);
        return this.#stage.pause('report');
      }
      case 'work':
        await this.#stage.pause('work');
        if (!stubborn) signal.throwIfAborted();
        return;
      case 'crash':
        return this.#stage.crash();
    }
  }

  async step(name: string, throws: boolean): Promise<void> {
    const key = `${name}#${this.#ordinal(`step ${name}`)}`;
    const value = await this.#task.step(name, async () => {
      this.#stage.note('working', key);
      await this.#stage.pause(`step ${key}`);
      if (throws) throw new Error(`step ${key} failed`);
      const made = `${key}@${this.#stage.run.id}`;
      this.#stage.note('worked', key, made);
      return made;
    });
    this.#stage.note('has', key, value);
  }

  async #ask(name: string, timeoutMs?: number): Promise<void> {
    const key = questionKey(name, this.#ordinal(`ask ${name}`));
    const options = { message: key, schema: SCHEMA, ...(timeoutMs !== undefined && { timeoutMs }) };
    const answer = await this.#task.ask(name, options);
    this.#stage.note('answered', key, JSON.stringify(answer));
  }

  #ordinal(what: string): number {
    const ordinal = (this.#ordinals.get(what) ?? 0) + 1;
    this.#ordinals.set(what, ordinal);
    return ordinal;
  }
}
