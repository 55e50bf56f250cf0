import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { TaskError } from '../core/index.ts';
import { adminCommand } from './admin.ts';
import { CliError, EXIT } from './errors.ts';
import type { Output } from './output.ts';
import { workerCommand } from './worker.ts';

/** Runs `longcall` with these arguments; the result is the exit code. */
export async function runCli(argv: readonly string[], output: Output): Promise<number> {
  const program = new Command('longcall')
    .description('Durable tasks for MCP.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print what there is')
    .helpCommand(false)
    .addHelpText('after', '\nExit codes: 0 ok, 1 a fault, 2 wrong use, 3 no such task, 5 the store cannot be used.');
  program.addCommand(workerCommand(output));
  program.addCommand(adminCommand(output));
  withoutExit(program, output);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return failure(error, output);
  }
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

/** Out of the package's own manifest, which lies two folders up from sources and built files alike. */
function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
