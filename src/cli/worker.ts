import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import type { Tasks } from '../engine/index.ts';
import { CliError } from './errors.ts';
import type { Output } from './output.ts';

/** `longcall worker ./tools.js`: runs the tasks of a store without serving anybody. */
export function workerCommand(output: Output): Command {
  return new Command('worker')
    .description('run tasks beside a server on the same store, until SIGTERM or Ctrl-C')
    .argument('<module>', 'a file that exports its tasks: `export default createTasks({ … })`')
    .option('--json', 'say what happens as JSON, a line each')
    .addHelpText('after', '\nOn the first signal running tasks get their time to finish and the rest is handed back.')
    .action((file: string, options: { json?: boolean }) => work(file, options.json === true, output));
}

async function work(file: string, json: boolean, output: Output): Promise<void> {
  const tasks = await tasksOf(file);
  const tools = tasks.tools.map(({ name }) => name);
  if (tools.length === 0) throw new CliError(`${file}: no tools are registered, so there is nothing to work on`);
  const working = tasks.work(); // Minds signals from here on, before anything runs.
  working.catch(() => {}); // Told below.
  await tasks.start();
  if (json) await output.json({ event: 'working', pid: process.pid, tools });
  else await output.write(`working on ${tools.join(', ')}; stop with Ctrl-C\n`);
  await working;
  if (json) await output.json({ event: 'stopped' });
  else await output.write('stopped\n');
}

async function tasksOf(file: string): Promise<Tasks> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CliError(`${file}: no such file`);
  let module: { default?: unknown; tasks?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as typeof module;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw new CliError(
        `${file}: this Node cannot run TypeScript; use Node 22.18 or later, or name the built .js file`,
      );
    }
    throw new CliError(`${file}: cannot be loaded: ${(error as Error).message}`);
  }
  for (const found of [module.default, module.tasks]) if (isTasks(found)) return found;
  throw new CliError(
    `${file}: exports no tasks; write \`export default createTasks({ … })\`, or export them as \`tasks\``,
  );
}

/** By its methods: the file may have loaded another copy of this package. */
function isTasks(value: unknown): value is Tasks {
  return typeof value === 'object' && value !== null && 'work' in value && 'tools' in value && 'start' in value;
}
