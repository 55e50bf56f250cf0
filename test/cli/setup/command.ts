import { Output } from '../../../src/cli/output.ts';
import { runCli } from '../../../src/cli/program.ts';

/** Streams that keep what they get. */
export function kept(): { output: Output; text: { stdout: string; stderr: string } } {
  const text = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') =>
    ({
      on() {},
      write(some: string) {
        text[name] += some;
        return true;
      },
    }) as unknown as NodeJS.WriteStream;
  return { output: new Output(stream('stdout'), stream('stderr'), {}), text };
}

/** Runs the command in this process. */
export async function longcall(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { output, text } = kept();
  const code = await runCli(args, output);
  return { code, ...text };
}
