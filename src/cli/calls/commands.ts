import { Command, Option } from 'commander';
import { printingLines } from '../log-lines.ts';
import type { Output } from '../output.ts';
import { count, several, time } from '../parse.ts';
import type { AnswerOptions } from './answer.ts';
import type { CallCommandOptions, WaitOptions } from './call.ts';
import type { CallLogOptions, ListOptions } from './manage.ts';
import type { CallsOptions, ReachOptions, Session } from './session.ts';

/** What ended a command, where it is more than whether there was an error. */
export type Finish = (exitCode: number) => void;

/**
 * `longcall call …` and what becomes of calls: the requestor's side. What does the work is loaded when it is needed: the other
 * commands need no client.
 * @param rest what stands after `--`
 */
export function callCommands(output: Output, rest: readonly string[], finish: Finish): Command[] {
  /** Runs on the journal; the result is the exit code. */
  const on = async (
    options: CallsOptions,
    use: (session: Session) => Promise<number>,
    makes = false,
  ): Promise<void> => {
    const { withJournal } = await import('./session.ts');
    finish(await withJournal(options, output, use, { makes }));
  };
  const manage = () => import('./manage.ts');
  const given = <Options extends ReachOptions>(options: Options): Options => ({ ...options, command: rest });

  const call = reaching(
    command('call <server> <tool> [arguments...]', 'call a tool: key=value, key:=JSON, - for JSON on stdin'),
  )
    .option('--args <json>', 'arguments as a JSON object')
    .option('--detach', 'leave as soon as the server has taken the call over')
    .option('--timeout <time>', 'stop waiting after 30s, 5m, 2h; the call goes on', time)
    .option('--keep <time>', 'how long the server should keep the task', time)
    .option('--no-input', 'ask nothing at this terminal')
    .action(async (server: string, tool: string, words: string[], options: CallCommandOptions) => {
      const { makeCall } = await import('./call.ts');
      await on(options, (session) => makeCall(server, tool, words, given(options), session, output), true);
    });

  const wait = reaching(command('wait <id>', 'wait for a call, and print its result'))
    .option('--timeout <time>', 'stop waiting after 30s, 5m, 2h; the call goes on', time)
    .option('--no-input', 'ask nothing at this terminal')
    .action(async (id: string, options: WaitOptions) => {
      const { waitForCall } = await import('./call.ts');
      await on(options, (session) => waitForCall(id, given(options), session, output));
    });

  const ls = command('ls', 'list calls, newest first')
    .option('--open', 'only those that are not over')
    .option('--limit <n>', 'how many', count(1_000), 50)
    .option('--before <id>', 'only those made before this one')
    .action((options: CallsOptions & ListOptions) =>
      on(options, async (session) => (await manage()).listCalls(options, session, output)),
    );

  const get = reaching(command('get <id>', 'show a call; of one that is open, its server is asked'))
    .option('--offline', 'ask no server')
    .action((id: string, options: ReachOptions) =>
      on(options, async (session) => (await manage()).getCall(id, given(options), session, output)),
    );

  const result = reaching(command('result <id>', 'print the result of a call that is over')).action(
    (id: string, options: ReachOptions) =>
      on(options, async (session) => (await manage()).showResult(id, given(options), session, output)),
  );

  const logs = printingLines(
    reaching(command('logs <id>', 'print what the task of a call has logged, where its server tells that')),
  )
    .option('-f, --follow', 'go on until the call is over')
    .option('--db <file>', 'of a task in this database file; ids of tasks are else looked for in that of the daemon')
    .addOption(
      new Option('--key-file <file>', 'a file with the keys of an encrypted database').env('LONGCALL_KEY_FILE'),
    )
    .action(async (id: string, options: CallLogOptions) => {
      const { taskFileOf } = await import('./task-file.ts');
      const db = taskFileOf(id, options.db, process.env);
      if (db !== undefined) await (await import('../logs.ts')).showLog(id, { ...options, db }, output);
      else await on(options, async (session) => (await manage()).showCallLog(id, given(options), session, output));
    });

  const answer = reaching(
    command('answer <id> [fields...]', 'answer what a call asks: key=value, or a form at a terminal'),
  )
    .option('--args <json>', 'fields as a JSON object')
    .option('--question <key>', 'which one, where it asks several things')
    .option('--accept', 'say yes, with the fields that are given, or none')
    .option('--decline', 'say no')
    .option('--cancel', 'dismiss the question')
    .option('--timeout <time>', 'how long to wait for the question to be there', time)
    .action(async (id: string, words: string[], options: AnswerOptions) => {
      await on(options, async (session) => {
        const [{ answerCall }, { isInteractive }] = await Promise.all([import('./answer.ts'), import('./call.ts')]);
        return answerCall(id, words, given(options), session, isInteractive(options), output);
      });
    });

  const cancel = reaching(command('cancel <ids...>', 'cancel calls')).action((ids: string[], options: ReachOptions) =>
    on(options, async (session) => (await manage()).cancelCalls(ids, given(options), session, output)),
  );

  const rm = reaching(command('rm <ids...>', 'delete calls that are over, also at servers that let a client do that'))
    .option('--offline', 'only here; ask no server')
    .action((ids: string[], options: ReachOptions) =>
      on(options, async (session) => (await manage()).removeCalls(ids, given(options), session, output)),
    );
  return [call, ls, get, wait, result, logs, answer, cancel, rm];
}

function command(usage: string, description: string): Command {
  const [name, ...args] = usage.split(' ');
  const made = new Command(name);
  for (const argument of args) made.argument(argument);
  return made
    .description(description)
    .addOption(new Option('--journal <file>', 'where calls are kept; else a file of yours').env('LONGCALL_JOURNAL'))
    .option('--json', 'print JSON');
}

/** Where its server is, unless it is remembered. */
function reaching(made: Command): Command {
  return made
    .addOption(new Option('--config <file>', "a host's file of servers (mcp.json)").env('LONGCALL_CONFIG'))
    .option('--url <url>', 'the server is at this address')
    .option('--header <header>', `'Name: value' for it; \${NAME} is taken from the environment`, several)
    .option('--env <name>', 'a variable of the environment that the command after -- gets', several)
    .option('--stderr <file>', 'keep what a server that is a command writes for its operator')
    .usage(`${made.usage()} [-- command...]`);
}
