import { Output } from '../../../src/cli/output.ts';
import { runCli } from '../../../src/cli/program.ts';

/** Runs the command in this process, with streams that keep what they get. */
export async function longcall(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const text = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') =>
    ({
      on() {},
      write(some: string) {
        text[name] += some;
        return true;
      },
    }) as unknown as NodeJS.WriteStream;
  const code = await runCli(args, new Output(stream('stdout'), stream('stderr'), {}));
  return { code, ...text };
}
