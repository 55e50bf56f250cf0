import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type JobCaps, LOCAL_PRINCIPAL, type TaskRecord, type TerminalState } from '../../core/index.ts';
import { createTasks, type JobTaskOptions, type Tasks } from '../../engine/index.ts';
import { sqliteStore } from '../../store/index.ts';
import { mortal } from '../mortal.ts';
import { type AdapterBench, says, silent } from './bench.ts';
import { dyingAdapter, dyingStore, type Point } from './dying.ts';
import { FORM, YES } from './forms.ts';
import type { AdapterProcess } from './system.ts';

const TOOL = 'job';

/** A process that has jobs done for tasks. */
export interface TaskProcess {
  tasks: Tasks;
  readonly dead: boolean;
  /** As SIGKILL. */
  kill(): void;
  /** In order: what runs is handed back. */
  close(): Promise<void>;
}

/** The real engine with the adapter, in processes that share one file of tasks. */
export class TaskBench {
  readonly bench: AdapterBench;

  constructor(bench: AdapterBench) {
    this.bench = bench;
  }

  /** A process begins. @param point where it dies, as soon as it comes there */
  async process({ task = {}, point }: { task?: JobTaskOptions; point?: Point } = {}): Promise<TaskProcess> {
    const { system, time, folder } = this.bench;
    const { clock } = time;
    const backend = mortal(sqliteStore(join(folder, 'tasks.db')));
    let own: AdapterProcess | undefined;
    const death = {
      dead: false,
      kill: (): void => {
        if (death.dead) return;
        death.dead = true;
        backend.kill();
        void own?.end?.();
      },
    };
    const store = dyingStore(backend, point, death);
    const tasks = createTasks({ store, clock, logger: silent, drainMs: 0, stopGraceMs: 0 });
    own = await time.during('enter', () => system.enter({ tasks, clock }));
    tasks.registerJob(TOOL, { task }, dyingAdapter(own.adapter, point, death));
    await time.during('start', () => tasks.start());
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      if (death.dead) return void tasks.close(); // Nothing of it comes to an end.
      closed ??= tasks.close().then(() => own?.end?.());
      await time.during('close', () => closed as Promise<void>);
    };
    this.bench.atEnd(close);
    return {
      tasks,
      get dead() {
        return death.dead;
      },
      kill: death.kill,
      close,
    };
  }

  /** A process that answers for tasks and cannot do jobs. */
  async bystander(): Promise<Tasks> {
    const { time, folder } = this.bench;
    const store = sqliteStore(join(folder, 'tasks.db'));
    const none = { slots: 0, attendedSlots: 0, drainMs: 0, stopGraceMs: 0 };
    const tasks = createTasks({ store, clock: time.clock, logger: silent, ...none });
    await time.during('start', () => tasks.start());
    this.bench.atEnd(() => tasks.close());
    return tasks;
  }

  /** @returns the id of the task that has the job done */
  async call({ tasks }: TaskProcess, job: string): Promise<string> {
    const definition = tasks.tool(TOOL)?.definition;
    assert.ok(definition);
    const whose = { principal: LOCAL_PRINCIPAL, revision: 'test', abilities: { form: true } };
    const input = this.bench.system.args(job) as never;
    const { task } = await this.bench.time.during('create', () => tasks.engine.create({ definition, input, ...whose }));
    return task.taskId;
  }

  /** Waits until the job is started where it runs. */
  async started(job: string, times = 1): Promise<void> {
    const { system, time } = this.bench;
    await time.until(`${job} was started`, async () => (await system.started(job)) >= times);
  }

  async death(process: TaskProcess): Promise<void> {
    await this.bench.time.until('the process dies', () => process.dead);
  }

  async reaches<Seen>(
    { tasks }: { tasks: Tasks },
    taskId: string,
    what: string,
    wanted: (task: TaskRecord) => Seen | false | undefined | Promise<Seen | false | undefined>,
  ): Promise<Seen> {
    let seen: unknown = '';
    const look = async (): Promise<Seen | false | undefined> => {
      const task = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
      seen = { state: task.state, message: task.statusMessage };
      return wanted(task);
    };
    return this.bench.time.until(`the task ${what}`, look, () => seen);
  }

  ends(process: { tasks: Tasks }, taskId: string): Promise<TerminalState> {
    return this.reaches(process, taskId, 'ends', ({ state }) => isTerminal(state) && state);
  }

  /** What the adapter says that it can do. */
  async caps(): Promise<JobCaps> {
    const { clock } = this.bench.time;
    const process = await this.bench.system.enter({ tasks: await this.bystander(), clock });
    this.bench.atEnd(() => process.end?.());
    return process.adapter.caps;
  }

  /** The job asks, and so does its task. */
  async asks({ tasks }: TaskProcess, taskId: string, job: string): Promise<void> {
    const { system, time } = this.bench;
    await system.ask?.(job, FORM);
    await time.until('the task asks', async () => {
      const [question, ...more] = [...(await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL)).values()];
      if (question === undefined) return false;
      assert.equal(more.length, 0, 'it asks one question');
      assert.ok(JSON.stringify(question).includes(FORM.message), `it asks ${JSON.stringify(question)}`);
      return true;
    });
  }

  /** Somebody answers the one question that the task asks. */
  async answers({ tasks }: TaskProcess, taskId: string): Promise<void> {
    const { engine } = tasks;
    await this.bench.time.until('the answer is taken', async () => {
      const [key] = (await engine.openQuestions(taskId, LOCAL_PRINCIPAL)).keys();
      if (key === undefined) return false;
      await engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[key, YES]]));
      return true;
    });
  }

  /** The job has its answer, and none beside it. */
  async answered(job: string): Promise<void> {
    const { system, time } = this.bench;
    const taken = async () => (await system.answers?.(job)) ?? [];
    await time.until(`${job} has its answer`, async () => (await taken()).length > 0);
    assert.deepEqual(await taken(), [YES]);
  }

  /** The lines of its task's log, oldest first. */
  async log({ tasks }: { tasks: Tasks }, taskId: string): Promise<string[]> {
    const { lines } = await this.bench.time.during('read', () => tasks.inspect.readLog(taskId));
    return lines.map(({ text }) => text);
  }

  /** The job ends well, and so does its task; nothing was started beside it. */
  async completes(process: TaskProcess, taskId: string, job: string): Promise<void> {
    const { system } = this.bench;
    await this.started(job);
    await system.finish(job, `${job} is done`);
    await this.completed(process, taskId, job);
  }

  async completed(process: TaskProcess, taskId: string, job: string): Promise<void> {
    const state = await this.reaches(process, taskId, 'ends', async ({ state }) => {
      assert.equal(await this.bench.system.started(job), 1, `${job} was started more than once`);
      return isTerminal(state) && state;
    });
    assert.equal(state.status, 'completed', JSON.stringify(state));
    assert.ok(says(state, `${job} is done`), `its result is another: ${JSON.stringify(state)}`);
  }
}

function isTerminal(state: TaskRecord['state']): state is TerminalState {
  return state.status !== 'working' && state.status !== 'input_required';
}
