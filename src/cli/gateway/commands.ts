import { Command, Option } from 'commander';
import type { Output } from '../output.ts';
import { duration, several } from '../parse.ts';
import type { WrapRunOptions } from './wrap.ts';
import { MODES, type WrapOptions } from './wrap-options.ts';

/** What puts the gateway in front of servers. What does the work is loaded when it is needed. */
export function gatewayCommands(output: Output, rest: readonly string[]): Command[] {
  const wrap = new Command('wrap')
    .description('put durable tasks in front of a server: of a command after --, or of an address')
    .option('--url <url>', 'the server is there')
    .option('--header-env <name=variable>', 'send it a header whose value is in a variable', several)
    .option('--header <header>', 'send it a header, as "Name: value"; secrets belong into --header-env', several)
    .option('--forward-authorization', "send it its caller's Authorization; kept in memory only")
    .addOption(
      new Option('--mode <mode>', 'every tool a task, none, or those that turn out to be slow')
        .choices(MODES)
        .default('task'),
    )
    .option('--tool <name=mode>', 'the same for single tools, by name or pattern', several)
    .addOption(
      new Option('--on-lost <rule>', 'what becomes of a call that was lost with its server').choices(['fail', 'rerun']),
    )
    .option('--slow-after <time>', 'with --mode auto: how long a quick call may take', duration)
    .option('--timeout <time>', 'cancel a call after 30s, 5m, 2h', duration)
    .option('--listen <address>', 'serve HTTP there, as 127.0.0.1:7717, instead of standard streams')
    .option('--state <folder>', 'where tasks are kept')
    .option('--no-daemon', 'run in this process, and end with it')
    .addOption(new Option('--was <members>', 'how wrap-config --undo finds back').hideHelp())
    .addHelpText(
      'after',
      '\nExample: longcall wrap -- npx -y some-server\n\nSecrets that a command needs are taken from the environment that this command was given.',
    )
    .action(async (options: WrapOptions & WrapRunOptions) => {
      const { wrap: run } = await import('./wrap.ts');
      await run(options, rest, output);
    });
  return [wrap];
}
