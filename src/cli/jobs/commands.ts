import { Command } from 'commander';
import type { Finish } from '../calls/commands.ts';
import type { Output } from '../output.ts';
import { time } from '../parse.ts';
import type { AskOptions } from './ask.ts';

/** Commands as tasks. What does the work is loaded when it is needed. */
export function jobCommands(output: Output, finish: Finish): Command[] {
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
  return [ask];
}

function several(value: string, before: string[] = []): string[] {
  return [...before, value];
}
