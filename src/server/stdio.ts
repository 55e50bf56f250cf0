import type { Readable, Writable } from 'node:stream';
import { type StdioServerHandle, StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { stopOnSignals, type Tasks } from '../engine/index.ts';
import { answeringTransport } from './answering-transport.ts';
import { type FrontFactory, type TaskServerFactory, withTasks } from './handler.ts';
import { leave } from './leaving.ts';
import { listenTransport } from './listen-transport.ts';
import { defaultPrincipal } from './principal.ts';
import { type Serving, type ServingOptions, servingOf } from './serving.ts';

/** A process that has lived this long is no version probe. */
const PROBE_MS = 1_000;
/** Clients of the SDK close stdin, wait two seconds, and kill. */
const PATIENCE_MS = 1_500;
/** After this long without a client the process ends, whatever still runs in it. */
const EXIT_MS = PATIENCE_MS + 5_000;

export interface StdioTaskServer {
  /** Resolves when the client has gone and running tasks are finished or handed back. */
  readonly closed: Promise<void>;
  /** Ends the connection as if the client had gone. */
  close(): Promise<void>;
}

/** What a client is served on: a socket is both. Whoever made them closes them. */
export interface TaskStreams {
  input: Readable;
  output: Writable;
}

/** One client's connection. */
export interface TaskStream {
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>;
  /** Ends the connection as if the client had gone. The streams themselves stay as they are. */
  close(): Promise<void>;
}

/**
 * Serves one client over this process's stdin and stdout, like the SDK's `serveStdio`. When the client closes stdin, or
 * on SIGTERM or SIGINT, running tasks get a second and a half to finish, which is what clients allow; the rest is handed
 * back to the store without spending an attempt, and the process can exit.
 *
 * Nothing else may write to stdout: the protocol owns it.
 */
export function serveTaskStdio(
  tasks: Tasks,
  factory: TaskServerFactory | FrontFactory,
  options: ServingOptions = {},
): StdioTaskServer {
  const serving = servingOf(tasks, options, defaultPrincipal('local'));
  // Not at once: to learn a server's versions, the SDK's client starts a second process, asks it `server/discover` and
  // ends it. That one must not take tasks it cannot finish. A request that needs the store opens it earlier.
  const settled = setTimeout(() => {
    tasks.start().catch((error) => {
      tasks.logger.error({ error }, 'the task store could not be opened');
      process.exitCode = 1;
      void end();
    });
  }, PROBE_MS);
  const { connection } = connect(tasks, factory, serving, { input: process.stdin, output: process.stdout });
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    clearTimeout(settled);
    removeHandlers();
    ending ??= shutDown(connection, tasks);
    return ending;
  };
  const removeHandlers = options.signals === false ? () => {} : stopOnSignals(end);
  const closed = new Promise<void>((resolve, reject) => {
    const stdinEnded = (): void => {
      end().then(resolve, reject);
      // Nobody is left to talk to: a handler that ignores its signal must not keep the process.
      if (options.signals !== false) setTimeout(() => process.exit(), EXIT_MS).unref();
    };
    process.stdin.once('end', stdinEnded);
    process.stdin.once('close', stdinEnded);
  });
  closed.catch((error) => tasks.logger.error({ error }, 'the server did not shut down cleanly'));
  return { closed, close: end };
}

/**
 * Serves one client on a pair of streams, by the rules of stdio. When the connection ends its tasks go on: the engine is
 * whoever's it was. Signals and the process are left alone.
 */
export function serveTaskStream(
  tasks: Tasks,
  factory: TaskServerFactory | FrontFactory,
  streams: TaskStreams,
  options: Omit<ServingOptions, 'signals'> = {},
): TaskStream {
  const serving = servingOf(tasks, options, defaultPrincipal('local'));
  const { connection, ended } = connect(tasks, factory, serving, streams);
  const closed = ended.then(async () => {
    await connection.close();
    serving.followers.close();
    await serving.inFlight.close();
  });
  closed.catch((error) => tasks.logger.error({ error }, 'a connection did not end cleanly'));
  const close = async (): Promise<void> => {
    await connection.close();
    await closed;
  };
  tasks.start().catch((error) => {
    tasks.logger.error({ error }, 'the task store could not be opened');
    close().catch(() => {}); // Logged above.
  });
  return { closed, close };
}

/** One client on a pair of streams. `ended` resolves when it can neither say nor hear anything any more. */
function connect(
  tasks: Tasks,
  factory: TaskServerFactory | FrontFactory,
  serving: Serving,
  { input, output }: TaskStreams,
): { connection: StdioServerHandle; ended: Promise<void> } {
  const streams = new StdioServerTransport(input, output);
  const transport = listenTransport(answeringTransport(streams, tasks, serving), tasks, serving);
  const { onclose } = streams;
  const ended = new Promise<void>((resolve) => {
    streams.onclose = () => {
      serving.connection.over = true; // Before requests learn of it: it cancels none of them.
      onclose?.();
      resolve();
    };
  });
  const connection = serveStdio(withTasks(tasks, factory, serving), {
    transport,
    onerror: (error) => tasks.logger.info({ error }, 'a message was refused or the connection broke'),
  });
  return { connection, ended };
}

async function shutDown(connection: StdioServerHandle, tasks: Tasks): Promise<void> {
  // Timers never keep a process alive here, so draining has to.
  const keepAlive = setInterval(() => {}, 60_000);
  leave(tasks);
  try {
    await connection.close();
    await tasks.close({ drainMs: PATIENCE_MS });
  } finally {
    clearInterval(keepAlive);
  }
}
