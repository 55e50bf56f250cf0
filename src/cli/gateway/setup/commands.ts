import { Command } from 'commander';
import type { Output } from '../../output.ts';
import type { WrapConfigOptions } from './wrap-config.ts';

/** What changes the files of hosts. What does the work is loaded when it is needed. */
export function setupCommands(output: Output): Command[] {
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
  return [wrapConfig];
}
