import { Command, Option } from 'commander';
import type { Output } from '../../output.ts';
import { HOSTS } from './hosts.ts';
import type { InitOptions } from './init.ts';
import type { WrapConfigOptions } from './wrap-config.ts';

/**
 * What changes the files of hosts. What does the work is loaded when it is needed.
 * @param rest what stands after `--`
 */
export function setupCommands(output: Output, rest: readonly string[]): Command[] {
  const init = new Command('init')
    .description('what a host needs to run the gateway in front of a server: prints it, or merges it into its file')
    .addOption(new Option('--client <client>', 'the host').choices(Object.keys(HOSTS)).makeOptionMandatory())
    .option('--name <name>', 'what the host is to call the server; else by its command')
    .addOption(
      new Option('--scope <scope>', 'for all of you, or for the project here')
        .choices(['user', 'project'])
        .default('user'),
    )
    .option('--file <file>', "the host's file, if it is not where hosts have it")
    .option('--url <url>', 'a gateway that listens, instead of a command')
    .option('--token-env <name>', 'the variable of the environment that holds the token of that gateway')
    .option('--write', 'merge it into the file, and keep a copy of it')
    .option('--force', 'also replace another server of that name')
    .option('--bin <program>', 'run this longcall, instead of the one that npx gets')
    .option('--json', 'print JSON')
    .usage('[options] [-- command...]')
    .action(async (options: InitOptions) => {
      const { init: run } = await import('./init.ts');
      await run(options, rest, output);
    });
  const wrapConfig = new Command('wrap-config')
    .argument('<file>')
    .description("put the servers of a host's file behind the gateway; shows what would change, unless --write")
    .option('--only <names...>', 'these, and no others')
    .option('--except <names...>', 'all but these')
    .option('--undo', 'take them out again, as they were')
    .option('--write', 'write the file, and keep a copy of it')
    .option('--bin <program>', 'run this longcall, instead of the one that npx gets')
    .option('--json', 'print JSON')
    .action(async (file: string, options: WrapConfigOptions) => {
      const { wrapConfig: run } = await import('./wrap-config.ts');
      await run(file, options, output);
    });
  return [init, wrapConfig];
}
