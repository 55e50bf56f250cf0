// Asking a server that is gone for a while.
import { setTimeout } from 'node:timers/promises';
import { connectHttp, connectStdio, isRefusal, type TaskClient, type TaskView } from '../support/task-client.ts';
import type { FromClient, ServerAddress } from './messages.ts';
import { say, seconds } from './screen.ts';

const RETRY_MS = 200;
const GIVE_UP_MS = 30_000;

export interface Progress {
  progress: number;
  total: number;
}

/** Polls through a gap. Over stdio it starts the server again, which is what hosts do. */
export class Session {
  readonly #server: ServerAddress;
  readonly #tell: (message: FromClient) => void;
  #client: TaskClient | undefined;
  /** How often the server got lost. */
  gaps = 0;

  constructor(server: ServerAddress, tell: (message: FromClient) => void) {
    this.#server = server;
    this.#tell = tell;
  }

  async client(): Promise<TaskClient> {
    if (this.#client !== undefined) return this.#client;
    if (this.#server.transport === 'http') {
      this.#client = await connectHttp(this.#server.url);
    } else {
      this.#client = await connectStdio(process.execPath, this.#server.args, this.#server.env);
      const pid = this.#client.serverPid;
      if (pid === undefined) throw new Error('the server ended as soon as it was started');
      say('client', `started a server: process ${pid}`);
      this.#tell({ type: 'server' });
    }
    return this.#client;
  }

  /** Asks until there is an answer. For requests that may be sent twice: a call may not. */
  async get(taskId: string): Promise<TaskView> {
    let lostAt: number | undefined;
    for (;;) {
      try {
        const task = await (await this.client()).get(taskId);
        if (lostAt !== undefined) this.#back(task, performance.now() - lostAt);
        return task;
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (lostAt === undefined) {
          lostAt = performance.now();
          this.gaps += 1;
          say('client', `gets no answer (${reason(error)}): the handle is still good, so it polls on`);
        }
        if (performance.now() - lostAt > GIVE_UP_MS) throw error;
        if (this.#server.transport === 'stdio') await this.close();
        await setTimeout(RETRY_MS);
      }
    }
  }

  progressOf(task: TaskView): Progress | undefined {
    return task._meta?.['longcall/progress'] as Progress | undefined;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.close();
  }

  #back(task: TaskView, downMs: number): void {
    const progress = this.progressOf(task);
    const at = progress === undefined ? '' : ` at ${progress.progress}/${progress.total}`;
    say('client', `has answers again after ${seconds(downMs)}: ${task.status}${at}`);
    this.#tell({ type: 'back', status: task.status, downMs });
  }
}

function reason(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
