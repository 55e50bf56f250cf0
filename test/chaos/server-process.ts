// One process of the fleet: `server-process.ts DATABASE NOTES`. It waits in the wings, loaded but with nothing open, until
// its parent gives it its part. Then it serves HTTP on a free port of loopback, says where, and works within its slots;
// with 0 it only answers. Knows nothing about being killed.
import { once } from 'node:events';
import { createTasks, type Logger, sqliteStore } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { settings } from './settings.ts';
import { registerTools } from './tools.ts';

/** What the parent says, and what it is told. */
export type Part = { life: string; slots: number };
export type Told = { loaded: true } | { url: string } | { logged: string };

const tell = (what: Told): void => void process.send?.(what);
const [database = '', notes = ''] = process.argv.slice(2);
process.once('disconnect', () => process.exit()); // Not without whoever started it.

const entering = once(process, 'message') as Promise<[Part]>;
tell({ loaded: true });
const [{ life, slots }] = await entering;
process.channel?.unref(); // From here on it is the server that keeps this process alive.

const quiet = (): void => {};
const logger: Logger = {
  debug: quiet,
  info: quiet,
  warn: quiet, // Lost workers are what this is about.
  error: (...args: unknown[]) => {
    if (!args.includes('a tool failed')) tell({ logged: args.map(readable).join(' ') }); // Some tools are made to.
  },
};

const tasks = createTasks({ store: sqliteStore(database), ...settings, slots, logger });
registerTools(tasks, notes, life);
const { url } = await createTaskServer(tasks, { name: 'chaos', version: '1.0.0' }).listen({ port: 0 });
tell({ url });

function readable(arg: unknown): string {
  if (typeof arg === 'string') return arg;
  const { error } = arg as { error?: Error };
  return error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(arg);
}
