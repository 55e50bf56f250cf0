import { Command, Option } from 'commander';
import type { Output } from '../output.ts';
import { time } from '../parse.ts';

/** Of every command on a daemon. */
export interface DaemonCommandOptions {
  state?: string;
  json?: boolean;
}

/** `longcall daemon …`: looking after the daemon behind the fronts. What does the work is loaded when it is needed. */
export function daemonCommand(output: Output, finish: (exitCode: number) => void): Command {
  const daemon = new Command('daemon')
    .description('look after the daemon that serves the hosts of `longcall wrap`')
    .helpCommand(false);

  command(daemon, 'status', 'say whether it runs, since when, and whom it serves; exit code 3 when it does not').action(
    async (options: DaemonCommandOptions) => {
      const { showStatus } = await import('./daemon-control.ts');
      finish(await showStatus(options, output));
    },
  );
  command(daemon, 'stop', 'end it, after what is open was handed over; the next one goes on with that')
    .option('--now', 'kill it instead, when it does not answer')
    .action(async (options: DaemonCommandOptions & { now?: boolean }) => {
      const { stop } = await import('./daemon-control.ts');
      await stop(options, output);
    });
  command(daemon, 'logs', 'print its log')
    .option('-f, --follow', 'go on until Ctrl-C')
    .action(async (options: DaemonCommandOptions & { follow?: boolean }) => {
      const { showLogs } = await import('./daemon-logs.ts');
      await showLogs(options, output);
    });
  daemon
    .command('run')
    .description('be the daemon, in the foreground; fronts start it by themselves')
    .addOption(stateOption())
    .option('--idle <time>', 'end when nobody was connected and nothing open for so long (30s, 5m)', time)
    .action(async (options: { state?: string; idle?: number }) => {
      const { run } = await import('./daemon-run.ts');
      finish(await run(options, output));
    });
  return daemon;
}

function command(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).addOption(stateOption()).option('--json', 'print JSON');
}

function stateOption(): Option {
  return new Option('--state <folder>', 'its folder, which nobody else may open').env('LONGCALL_RUNTIME_DIR');
}
