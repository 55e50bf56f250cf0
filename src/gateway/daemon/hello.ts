import { isJsonObject } from '../../core/index.ts';
import { type HandedCommand, handedProblem } from '../runs/handed-command.ts';
import type { WrapSpec } from '../wrapped.ts';

/** What a front hands to its daemon. Both are of the same version, so its shape is their own affair. */
export type Hello = {
  /** The folder that the front was started in. */
  folder: string;
} & (
  | {
      /** What to put behind the connection, with the environment that the host gave. */
      spec: WrapSpec;
    }
  | {
      /** Commands that are to be run; none: it asks of such as were begun. */
      commands: readonly HandedCommand[];
    }
);

export type DaemonRequest =
  | { want: 'serve'; hello: Hello }
  | { want: 'status' }
  /** End, after what is open was handed over. */
  | { want: 'stop' }
  /** End if nobody is served and nothing is open: another version would like the place. */
  | { want: 'yield' };

/** @throws when it is none. */
export function readRequest(value: unknown): DaemonRequest {
  if (!isJsonObject(value)) throw new Error('the request is not an object');
  const { want, hello } = value;
  if (want === 'status' || want === 'stop' || want === 'yield') return { want };
  if (want !== 'serve') throw new Error(`the request wants ${JSON.stringify(want)}, which there is not`);
  const problem = helloProblem(hello);
  if (problem !== undefined) throw new Error(`hello: ${problem}`);
  return { want, hello: hello as unknown as Hello };
}

function helloProblem(hello: unknown): string | undefined {
  if (!isJsonObject(hello)) return 'must be an object';
  if (typeof hello['folder'] !== 'string') return 'folder must be a text';
  const { spec, commands } = hello;
  if (commands !== undefined) return commandsProblem(commands);
  if (!isJsonObject(spec) || !isJsonObject(spec['policy'])) return 'spec must be an object with a policy';
  if (!Array.isArray(spec['tools'])) return 'spec.tools must be a list';
  const { target } = spec;
  if (!isJsonObject(target)) return 'spec.target must be an object';
  if (typeof target['url'] === 'string')
    return isJsonObject(target['headers']) ? undefined : 'headers must be an object';
  if (typeof target['command'] !== 'string') return 'spec.target needs a command or a url';
  if (!Array.isArray(target['args'])) return 'spec.target.args must be a list';
  return isJsonObject(target['env']) ? undefined : 'spec.target.env must be an object';
}

function commandsProblem(commands: unknown): string | undefined {
  if (!Array.isArray(commands)) return 'commands must be a list';
  const [problem] = commands.flatMap((command) => handedProblem(command) ?? []);
  return problem === undefined ? undefined : `a command: ${problem}`;
}
