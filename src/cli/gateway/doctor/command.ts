import { Command, Option } from 'commander';
import type { Output } from '../../output.ts';
import { several, time } from '../../parse.ts';
import type { DoctorOptions } from './doctor.ts';

/** `longcall doctor`: how servers and hosts are served, and why. What does the work is loaded when it is needed. */
export function doctorCommand(output: Output, rest: readonly string[], finish: (exitCode: number) => void): Command {
  return new Command('doctor')
    .description('look at servers, at the clients of the daemon, at the state and the machine, and say what to do')
    .argument('[file]', "a gateway's configuration, whose servers are looked at")
    .option('--config <file>', "a host's file, whose servers are looked at")
    .option('--url <url>', 'a server to look at; or give a command after --')
    .option('--header <header>', 'send it a header, as "Name: value"; secrets belong into --header-env', several)
    .option('--header-env <name=variable>', 'send it a header whose value is in a variable', several)
    .option('--state <folder>', 'where tasks are kept, instead of where the file says or the daemon keeps them')
    .addOption(new Option('--timeout <time>', 'how long to look at a server').argParser(time).default(10_000, '10s'))
    .option('--strict', 'exit code 1 for warnings too')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nServers that are commands are started, and ended with all that they started. Nothing else is changed.' +
        '\nExit codes: 0 nothing failed, 1 something did, 2 wrong use, 5 the state cannot be read.',
    )
    .action(async (file: string | undefined, options: DoctorOptions) => {
      const { doctor } = await import('./doctor.ts');
      finish(await doctor(file, options, rest, output));
    });
}
