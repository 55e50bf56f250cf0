// Real processes on one database, and a front of the test's own that only asks and answers.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createTasks, sqliteStore, type Tasks, type TasksOptions } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { onTestFinished } from 'vitest';
import { type Client, clientOf } from '../../chaos/client.ts';
import { type Entry, readNotes } from '../../chaos/ledger.ts';
import type { Json } from '../../support/messages.ts';
import { scratchFolder, silent } from '../../support/stores.ts';
import { until } from '../processes.ts';
import { registerTools } from './tools.ts';

type Mode = 'work' | 'http' | 'stdio';
type Options = Omit<TasksOptions, 'store' | 'logger' | 'clock' | 'random'>;

export interface Worker {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly pid: number;
  /** Where it listens, if it does. */
  readonly url: string;
  /** What it told its operator so far. */
  readonly stderr: string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** As a power cut would. */
  kill(): Promise<void>;
}

/** A database with the processes around it; everything goes when the test ends. */
export class Site {
  readonly folder: string;
  readonly database: string;
  /** Asks through a process without slots: the test's own. */
  readonly front: Client;
  readonly tasks: Tasks;

  /** @param at the folder of an earlier site whose front is closed; that one removes it */
  constructor(at?: string) {
    const { path, remove } = at === undefined ? scratchFolder() : { path: at, remove: () => {} };
    this.folder = path;
    this.database = join(path, 'tasks.db');
    this.tasks = createTasks({ store: sqliteStore(this.database), slots: 0, logger: silent });
    registerTools(this.tasks, path);
    const server = createTaskServer(this.tasks, { name: 'front', version: '1.0.0' });
    this.front = clientOf('http://localhost/mcp', (request) => server.fetch(request));
    onTestFinished(async () => {
      await server.close();
      remove();
    });
  }

  /** How to start a process here. */
  command(mode: Mode, options: Options = {}): { command: string; args: string[] } {
    const script = fileURLToPath(new URL('server-process.ts', import.meta.url));
    const loader = ['--import', import.meta.resolve('tsx')];
    return {
      command: process.execPath,
      args: [...loader, script, mode, this.database, this.folder, JSON.stringify(options)],
    };
  }

  /** Starts a process; resolves once it serves or works, and over stdio, where nothing says so, at once. */
  async start(mode: Mode, options: Options = {}): Promise<Worker> {
    const { command, args } = this.command(mode, options);
    // A process that aborts may leave a core behind: in a folder that goes.
    const child = spawn(command, args, { cwd: this.folder, stdio: ['pipe', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdin.on('error', () => {}); // It may be gone before us.
    const ended = new Promise<number | string>((resolve) => {
      child.once('close', (code, signal) => resolve(signal ?? code ?? 'gone'));
    });
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
    };
    onTestFinished(kill);
    let url = '';
    if (mode !== 'stdio') {
      const line = new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve));
      const early = ended.then((how): never => {
        throw new Error(`the process ended with ${how} before it was ready:\n${stderr}`);
      });
      early.catch(() => {});
      ({ url = '' } = JSON.parse(await Promise.race([line, early])) as { url?: string });
    }
    return {
      child,
      pid: child.pid ?? 0,
      url,
      ended,
      kill,
      get stderr() {
        return stderr;
      },
    };
  }

  /** Lets everything go on that waits at the gate. */
  open(gate: string): void {
    writeFileSync(join(this.folder, gate), '');
  }

  /** The task, as soon as it is over. */
  over(taskId: string): Promise<Json> {
    return until(`${taskId} is over`, async () => {
      const task = await this.front.get(taskId);
      return task['status'] === 'working' ? undefined : task;
    });
  }

  notes(taskId: string): Entry[] {
    return readNotes(this.folder, taskId);
  }

  /** The first note of a task that is as wanted. */
  noted(taskId: string, what: Entry['what'], by?: Worker, key?: string): Promise<Entry> {
    return until(`${what} ${key ?? ''} of ${taskId} ${by === undefined ? '' : `in ${by.pid}`}`, () =>
      this.notes(taskId).find(
        (note) =>
          note.what === what &&
          (by === undefined || note.life === String(by.pid)) &&
          (key === undefined || note.key === key),
      ),
    );
  }

  /** How often each step began. */
  begun(taskId: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { what, key = '' } of this.notes(taskId)) if (what === 'began') counts[key] = (counts[key] ?? 0) + 1;
    return counts;
  }

  /** Of every process that was started here, siblings that we never see included. */
  pids(): number[] {
    const path = join(this.folder, 'pids');
    return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').map(Number) : [];
  }
}

/** Resolves once nobody listens there any more: draining has begun. */
export async function refuses(url: string): Promise<void> {
  await until(`${url} refuses connections`, async () => {
    const answered = await fetch(url).then(
      async (response) => {
        await response.body?.cancel();
        return true;
      },
      () => false,
    );
    return answered ? undefined : true;
  });
}

export function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
