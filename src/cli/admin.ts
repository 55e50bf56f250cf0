import { Command, Option } from 'commander';
import { CliError, EXIT } from './errors.ts';
import { listTasks } from './list.ts';
import { printingLines } from './log-lines.ts';
import { showLog } from './logs.ts';
import { resolveId, withStore } from './open.ts';
import { type CommonOptions, type FilterOptions, filterOf } from './options.ts';
import type { Output } from './output.ts';
import { count, since, statuses } from './parse.ts';
import { showTask } from './show.ts';

interface CancelOptions extends CommonOptions, FilterOptions {
  all?: boolean;
  reason?: string;
}

interface RekeyCommandOptions extends CommonOptions {
  vacuum?: boolean;
}

/** `longcall admin …`: looking after the tasks in a database file, also while servers and workers use it. */
export function adminCommand(output: Output): Command {
  const admin = new Command('admin')
    .description('look after the tasks in a database file, also while it is in use')
    .helpCommand(false)
    .addHelpText('after', '\nAn ID may be shortened to a beginning that no other task has.');

  command(admin, 'ls', 'list tasks, newest first', filterable)
    .option('--limit <n>', 'how many', count(1_000), 50)
    .option('--cursor <cursor>', 'go on where an earlier list ended')
    .action((options) => listTasks(options, output));

  command(admin, 'show <id>', 'show a task: state, questions, attempts, timeline')
    .option('--payloads', 'with arguments, step values, answers and result')
    .action((id: string, options) => showTask(id, options, output));

  command(admin, 'logs <id>', 'print the log of a task', printingLines)
    .option('-f, --follow', 'go on until the task is over')
    .action((id: string, options) => showLog(id, options, output));

  command(admin, 'cancel [ids...]', 'cancel tasks, by id or by filter', filterable)
    .option('--all', 'every open task')
    .option('--reason <text>', 'told to whoever asks for the task')
    .action((ids: string[], options: CancelOptions) => cancel(ids, options, output));

  command(admin, 'requeue <ids...>', 'run finished tasks again, each as a new task').action(
    (ids: string[], options: CommonOptions) => requeue(ids, options, output),
  );

  command(admin, 'rm <ids...>', 'cancel tasks that are open, and delete everything there is of them').action(
    (ids: string[], options: CommonOptions) => remove(ids, options, output),
  );

  command(admin, 'rekey', 'encrypt everything with the key in use, also what another key or none has encrypted')
    .option(
      '--vacuum',
      'then write the file anew, so that no plain text is left in unused parts; writers wait meanwhile',
    )
    .action((options: RekeyCommandOptions) => rekey(options, output));
  return admin;
}

function command(parent: Command, name: string, description: string, also?: (command: Command) => Command): Command {
  const made = parent
    .command(name)
    .description(description)
    .requiredOption('--db <file>', 'the database file')
    .addOption(
      new Option('--key-file <file>', 'a file with the keys of an encrypted database').env('LONGCALL_KEY_FILE'),
    )
    .option('--json', 'print JSON');
  return also === undefined ? made : also(made);
}

function filterable(command: Command): Command {
  return command
    .option(
      '--status <status>',
      'only in this status; several with commas, `open` for both that are not over',
      statuses,
    )
    .option('--tool <name>', 'only of this tool')
    .option('--since <age or date>', 'only created since: 30m, 2h, 7d, 2026-01-31', since);
}

function cancel(ids: string[], options: CancelOptions, output: Output): Promise<void> {
  const filter = filterOf(options);
  const filtered = Object.keys(filter).length > 0 || options.all === true;
  if (ids.length > 0 === filtered) {
    throw new CliError('cancel: give either ids, or --status, --tool or --since, or --all for every open task');
  }
  const action = options.reason === undefined ? {} : { reason: options.reason };
  return withStore(options, output, async ({ inspector }) => {
    const cancelled: string[] = [];
    const over: string[] = [];
    if (filtered) cancelled.push(...(await inspector.cancelMany(filter, action)));
    const taskIds = await Promise.all(ids.map((id) => resolveId(inspector, id)));
    for (const taskId of taskIds) {
      ((await inspector.cancel(taskId, action)) === 'cancelled' ? cancelled : over).push(taskId);
    }
    if (options.json) return output.json({ cancelled, alreadyTerminal: over });
    const lines = [...cancelled.map((id) => `cancelled ${id}\n`), ...over.map((id) => `already over ${id}\n`)];
    return output.write(lines.length === 0 ? 'nothing to cancel\n' : lines.join(''));
  });
}

function requeue(ids: string[], options: CommonOptions, output: Output): Promise<void> {
  return withStore(options, output, async ({ inspector }) => {
    const taskIds = await Promise.all(ids.map((id) => resolveId(inspector, id)));
    const requeued: { taskId: string; as: string }[] = [];
    const open: string[] = [];
    const held: string[] = [];
    for (const taskId of taskIds) {
      const result = await inspector.requeue(taskId);
      if (result.outcome === 'requeued') requeued.push({ taskId, as: result.taskId });
      else (result.outcome === 'held' ? held : open).push(taskId);
    }
    if (options.json) await output.json({ requeued, stillOpen: open, held });
    else await output.write(requeued.map(({ taskId, as }) => `requeued ${taskId} as ${as}\n`).join(''));
    const problems = [
      ...(open.length > 0 ? [`still open, cancel first: ${open.join(', ')}`] : []),
      ...(held.length > 0 ? [`done by its server itself, which has to be called again: ${held.join(', ')}`] : []),
    ];
    if (problems.length > 0) throw new CliError(problems.join('; '));
  });
}

function remove(ids: string[], options: CommonOptions, output: Output): Promise<void> {
  return withStore(options, output, async ({ inspector }) => {
    const removed = await Promise.all(ids.map((id) => resolveId(inspector, id)));
    for (const taskId of removed) await inspector.remove(taskId);
    if (options.json) return output.json({ removed });
    return output.write(removed.map((taskId) => `removed ${taskId}\n`).join(''));
  });
}

function rekey(options: RekeyCommandOptions, output: Output): Promise<void> {
  if (options.keyFile === undefined) throw new CliError('rekey: give the keys with --key-file, or LONGCALL_KEY_FILE');
  return withStore(options, output, async ({ inspector }) => {
    const { vacuum = false } = options;
    const rekeyed = await inspector.rekey({ vacuum });
    const { key, rows, plain, left } = rekeyed;
    const shut = Object.entries(left).map(([id, count]) => `${count} with key "${id}"`);
    if (options.json) await output.json(rekeyed);
    else
      await output.write(
        `encrypted ${rows} rows anew with key "${key}"; ${plain} of them had not been encrypted at all\n`,
      );
    if (plain > 0 && !vacuum)
      output.warn('unused parts of the file may still hold their text: --vacuum writes it anew\n');
    if (shut.length > 0) {
      throw new CliError(
        `rows that do not open: ${shut.join(', ')}; see that the key file has these keys`,
        EXIT.infrastructure,
      );
    }
    if (!options.json) await output.write('nothing in the database needs another key\n');
  });
}
