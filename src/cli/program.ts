import { Command, CommanderError } from 'commander';
import { TaskError } from '../core/index.ts';
import { version } from '../gateway/version.ts';
import { adminCommand } from './admin.ts';
import { callCommands } from './calls/commands.ts';
import { CliError, EXIT } from './errors.ts';
import { gatewayCommands } from './gateway/commands.ts';
import { daemonCommand } from './gateway/daemon.ts';
import { doctorCommand } from './gateway/doctor/command.ts';
import { serveCommand } from './gateway/serve-command.ts';
import { setupCommands } from './gateway/setup/commands.ts';
import { jobCommands } from './jobs/commands.ts';
import type { Output } from './output.ts';
import { workerCommand } from './worker.ts';

/** Runs `longcall` with these arguments; the result is the exit code. */
export async function runCli(argv: readonly string[], output: Output): Promise<number> {
  let exitCode: number = EXIT.ok;
  const [words, rest] = splitAt(argv);
  const program = longcall(output, rest, (code) => {
    exitCode = code;
  });
  withoutExit(program, output);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return exitCode;
  } catch (error) {
    return failure(error, output);
  }
}

/** All commands. */
export function longcall(output: Output, rest: readonly string[], finish: (exitCode: number) => void): Command {
  const program = new Command('longcall')
    .description('Durable tasks for MCP.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print what there is')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 a fault or an error of the tool, 2 wrong use, 3 no such task, call or server, 4 cancelled, ' +
        '5 store, journal, server or daemon cannot be used, 124 the wait is over and the call goes on.',
    );
  for (const command of callCommands(output, rest, finish)) program.addCommand(command);
  for (const command of jobCommands(output, rest, finish)) program.addCommand(command);
  for (const command of gatewayCommands(output, rest)) program.addCommand(command);
  program.addCommand(serveCommand(output, finish));
  for (const command of setupCommands(output, rest)) program.addCommand(command);
  program.addCommand(daemonCommand(output, finish));
  program.addCommand(doctorCommand(output, rest, finish));
  program.addCommand(workerCommand(output));
  program.addCommand(adminCommand(output));
  return program;
}

/** Commands on calls take the command of a server after `--`; to the others it is what it always was. */
function splitAt(argv: readonly string[]): [readonly string[], readonly string[]] {
  const at = argv.indexOf('--');
  if (at < 0 || ['worker', 'admin', 'daemon', 'ask'].includes(argv[0] ?? '')) return [argv, []];
  return [argv.slice(0, at), argv.slice(at + 1)];
}

/** Errors are thrown to us instead of ending the process, in sub-commands too, which do not inherit it. */
function withoutExit(command: Command, output: Output): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void output.write(text),
    writeErr: (text) => output.warn(text),
  });
  for (const child of command.commands) withoutExit(child, output);
}

function failure(error: unknown, output: Output): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage; // It has said what is wrong.
  const ours = error instanceof Error ? clientExitCode(error) : undefined;
  if (ours !== undefined) {
    output.warn(`longcall: ${(error as Error).message}\n`);
    return ours;
  }
  if (error instanceof CliError || error instanceof TaskError) {
    output.warn(`longcall: ${error.message}\n`);
    return error instanceof CliError ? error.exitCode : exitCodeOf(error);
  }
  output.warn(`longcall: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.fault;
}

function exitCodeOf({ code }: TaskError): number {
  if (code === 'TASK_NOT_FOUND') return EXIT.notFound;
  return code.startsWith('STORE_') ? EXIT.infrastructure : EXIT.fault;
}

/** By its code: the client's own classes are loaded only by commands that need them. */
function clientExitCode(error: Error): number | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'CALL_NOT_FOUND') return EXIT.notFound;
  if (code === 'CALL_AMBIGUOUS' || code === 'CALL_OPEN') return EXIT.usage;
  if (code === 'REMOTE_REFUSED') return EXIT.fault;
  return code.startsWith('REMOTE_') || code.startsWith('DAEMON_') ? EXIT.infrastructure : undefined;
}
