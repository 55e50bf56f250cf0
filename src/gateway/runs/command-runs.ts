import type { Readable, Writable } from 'node:stream';
import type { Principal } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import { FrontServer } from '../../server/front/front-server.ts';
import type { InnerOptions } from '../../server/serving.ts';
import { serveTaskStream } from '../../server/stdio.ts';
import { version } from '../version.ts';
import type { HandedCommand } from './handed-command.ts';
import { runFront } from './run-front.ts';
import { type AdapterOf, prepareRun, RUN, runAdapter, runArguments } from './run-tool.ts';

/** Nobody else's: hosts on the same daemon neither see these tasks nor can do anything with their ids. */
const PRINCIPAL: Principal = { subject: 'longcall run' };
/** Somebody looks at what the command writes. */
const LOG_NEWS_MS = 100;
/** The rest of the slots is for the tasks of hosts on the same daemon. */
const MOST_AT_ONCE = 48;
const INFO = { name: 'longcall-run', version: version() };

/** Commands of this user as tasks: `longcall run`. Each front is served the one tool, and no host ever is. */
export class CommandRuns {
  readonly #tasks: Tasks;
  /** What was handed over and does not run yet. */
  readonly #commands = new Map<string, HandedCommand>();
  /** What each connection brought. */
  readonly #brought = new Set<readonly HandedCommand[]>();

  constructor(tasks: Tasks, adapterOf: AdapterOf) {
    this.#tasks = tasks;
    const task = {
      support: 'required',
      origin: 'longcall run',
      prepare: prepareRun,
      concurrency: MOST_AT_ONCE,
    } as const;
    tasks.registerJob(RUN, { inputSchema: runArguments, task }, runAdapter(adapterOf, this.#commands));
  }

  /** Serves one front, which may have brought a command. That stays until it runs, also when its front has gone. */
  serve(
    commands: readonly HandedCommand[],
    streams: { input: Readable; output: Writable },
  ): { closed: Promise<void>; close(): Promise<void> } {
    for (const command of commands) this.#commands.set(command.id, command);
    this.#brought.add(commands);
    const options: InnerOptions = { principal: () => PRINCIPAL, logNewsMs: LOG_NEWS_MS };
    const { closed, close } = serveTaskStream(this.#tasks, () => new FrontServer(INFO, runFront), streams, options);
    return { close, closed: closed.then(() => this.#left(commands)) };
  }

  /** Whether any of them is not over. */
  async busy(): Promise<boolean> {
    const { tasks } = await this.#tasks.inspect.list({ name: RUN, status: ['working', 'input_required'], limit: 1 });
    return tasks.length > 0;
  }

  /** What no task waits for any more is forgotten: it holds an environment. */
  async #left(commands: readonly HandedCommand[]): Promise<void> {
    this.#brought.delete(commands);
    if (this.#commands.size === 0 || (await this.busy())) return;
    const wanted = new Set([...this.#brought].flat().map(({ id }) => id));
    for (const id of this.#commands.keys()) if (!wanted.has(id)) this.#commands.delete(id);
  }
}
