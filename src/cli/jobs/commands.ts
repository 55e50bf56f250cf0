import { Command, Option } from 'commander';
import type { Finish } from '../calls/commands.ts';
import { CliError } from '../errors.ts';
import type { Output } from '../output.ts';
import { several, time } from '../parse.ts';
import type { AskOptions } from './ask.ts';
import type { RunOptions } from './run.ts';

/**
 * Commands as tasks. What does the work is loaded when it is needed.
 * @param rest what stands after `--`
 */
export function jobCommands(output: Output, rest: readonly string[], finish: Finish): Command[] {
  const run = new Command('run')
    .description('run a command as a task: it goes on without this terminal, and is found again by its id')
    .option('--cwd <folder>', 'where it runs; else here')
    .option('--env <name=value>', 'a variable for it; NAME alone: as it is here, where it has to be set', several)
    .option('--secret-env <name>', 'a variable whose value is taken out of what it writes', several)
    .option('--stdin', 'it reads what this command can read, which is read to its end first; else nothing')
    .option('--timeout <time>', 'stop the command after 30s, 5m, 2h', time)
    .option('--wait-timeout <time>', 'stop waiting after 30s, 5m, 2h; the command goes on', time)
    .option('--name <name>', 'what lists show, instead of the command')
    .option('--detach', 'leave as soon as it is taken over, and print its id')
    .option('--keep <time>', 'how long its result and its log should be kept', time)
    .option('--no-input', 'ask nothing at this terminal')
    .option('-q, --quiet', 'say nothing of its own, such as the id')
    .option('--state <folder>', 'where the daemon is that runs it')
    .addOption(new Option('--journal <file>', 'where calls are kept; else a file of yours').env('LONGCALL_JOURNAL'))
    .option('--json', 'print JSON, an event a line')
    .usage('[options] -- command...')
    .allowExcessArguments() // Said below: they are what is likely to be meant.
    .addHelpText(
      'after',
      "\nThe exit code is the command's, 128 and the number of the signal that ended it, 126 or 127 where there is no such " +
        'program; 124 the wait is over and the command goes on, 4 cancelled, 5 the daemon cannot be used, or what became of ' +
        'the command is not known.\n\nExample: longcall run -- npm test',
    )
    .action(async (options: RunOptions, { args }: Command) => {
      if (args.length > 0) throw new CliError(`the command stands after --, as in longcall run -- ${args.join(' ')}`);
      const [{ runCommand }, { withJournal }, { run: start }] = await Promise.all([
        import('./run-command.ts'),
        import('../calls/session.ts'),
        import('./run.ts'),
      ]);
      const stdin = options.stdin === true ? await (await import('../calls/stdin.ts')).readStdin() : undefined;
      const command = runCommand(rest, options, process.env, stdin);
      finish(
        await withJournal(options, output, (session) => start(command, options, session, output), { makes: true }),
      );
    });
  const ask = new Command('ask')
    .description('inside a command that runs as a task: ask whoever it is for, and print the answer')
    .requiredOption('--message <text>', 'what is asked')
    .option('--field <name:type>', 'a field to fill in: name, name:integer, name:red,green; name? is optional', several)
    .option('--schema <json>', 'its fields as a JSON Schema: an object of texts, numbers and booleans')
    .option('--schema-file <file>', 'the same out of a file')
    .option('--value <name>', 'print this field only; with a single field, that is printed anyway')
    .option('--timeout <time>', 'how long there is to answer: 30s, 5m, 2h; else as long as the task', time)
    .option('--json', 'print the whole answer, whatever it is: {"action":…,"content":{…}}')
    .addHelpText(
      'after',
      '\nWithout fields it asks for a yes, and prints nothing. Ending it withdraws the question.\n' +
        'Exit codes: 0 accepted, 1 a fault, 2 wrong use, also outside of a task, 4 declined or dismissed, 124 nobody ' +
        'answered in time.\n\nExample: branch=$(longcall ask --message "Deploy which branch?" --field branch --timeout 1h)',
    )
    .action(async (options: AskOptions) => {
      const { ask: run } = await import('./ask.ts');
      finish(await run(options, process.env, output));
    });
  return [run, ask];
}
