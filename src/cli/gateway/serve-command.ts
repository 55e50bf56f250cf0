import { Command } from 'commander';
import type { Output } from '../output.ts';
import type { ServeOptions } from './serve.ts';

/** `longcall serve longcall.yaml`: the gateway, in front of the servers of a file. */
export function serveCommand(output: Output, finish: (exitCode: number) => void): Command {
  return new Command('serve')
    .description('serve the MCP servers of a file, with tasks, until SIGTERM or Ctrl-C')
    .argument('[file]', 'the configuration; no such file is looked for by itself')
    .option('--listen <address>', 'HOST:PORT, instead of what the file says')
    .option('--state <folder>', 'where tasks are kept, instead of what the file says')
    .option('--check', 'only check the file: 0 when it can be served, 2 with all that is wrong')
    .option('--print-schema', 'only print the JSON Schema of the file, for editors')
    .option('--json', 'print JSON, a line each')
    .addHelpText('after', '\nThe file is read again when it changes, and with what it refers to on SIGHUP.')
    .action(async (file: string | undefined, options: ServeOptions) => {
      const { serve } = await import('./serve.ts');
      finish(await serve(file, options, output));
    });
}
