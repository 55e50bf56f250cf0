import { type StdioServerHandle, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Tasks } from '../engine/index.ts';
import { type ServingOptions, type TaskServerFactory, withTasks } from './handler.ts';
import { defaultPrincipal } from './principal.ts';

export interface StdioTaskServer {
  /** Resolves when the client has gone and running tasks are finished or handed back. */
  readonly closed: Promise<void>;
  /** Ends the connection as if the client had gone. */
  close(): Promise<void>;
}

/**
 * Serves one client over this process's stdin and stdout, like the SDK's `serveStdio`. When the client closes stdin,
 * running tasks get `drainMs` to finish; the rest is handed back to the store, and the process can exit.
 *
 * Nothing else may write to stdout: the protocol owns it.
 */
export function serveTaskStdio(
  tasks: Tasks,
  factory: TaskServerFactory,
  options: ServingOptions = {},
): StdioTaskServer {
  const principalOf = options.principal ?? defaultPrincipal('local');
  // Not while somebody waits for an answer: the store is opened, and refused, before the first request.
  tasks.start().catch((error) => tasks.logger.error({ error }, 'the task store could not be opened'));
  const connection = serveStdio(withTasks(tasks, factory, principalOf), {
    onerror: (error) => tasks.logger.warn({ error }, 'a message was refused or the connection broke'),
  });
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ending ??= shutDown(connection, tasks);
    return ending;
  };
  const closed = new Promise<void>((resolve, reject) => {
    const stdinEnded = (): void => void end().then(resolve, reject);
    process.stdin.once('end', stdinEnded);
    process.stdin.once('close', stdinEnded);
  });
  closed.catch((error) => tasks.logger.error({ error }, 'the server did not shut down cleanly'));
  return { closed, close: end };
}

async function shutDown(connection: StdioServerHandle, tasks: Tasks): Promise<void> {
  // Timers never keep a process alive here, so draining has to.
  const keepAlive = setInterval(() => {}, 60_000);
  try {
    await connection.close();
    await tasks.close();
  } finally {
    clearInterval(keepAlive);
  }
}
