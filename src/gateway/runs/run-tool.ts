import { isJsonObject, type JobAdapter, type JobContext, type StandardSchema } from '../../core/index.ts';
import type { HandedCommand } from './handed-command.ts';

/** The name of the tool, and of its tasks: no tool of an upstream has a name without a slash. */
export const RUN = 'run';

/** What of a command is kept with its task, beside what people are shown. */
export interface RunArguments {
  /** By which it is found in memory. */
  id: string;
  timeoutMs?: number;
}

export interface Run {
  /** Undefined: it is not in memory. */
  command: HandedCommand | undefined;
  timeoutMs: number | undefined;
}

/** An adapter that runs one command. Whatever runs it knows by its ref alone, also without the command. */
export type AdapterOf = (run: Run) => JobAdapter<RunArguments, string>;

/** Written and read by this side alone: whoever calls it is its own front. */
export const runArguments: StandardSchema<unknown, RunArguments> = {
  '~standard': {
    version: 1,
    vendor: 'longcall',
    validate: (value: unknown) => {
      const { id, timeoutMs } = isJsonObject(value) ? value : {};
      if (typeof id !== 'string') return { issues: [{ message: 'expected a text', path: ['id'] }] };
      return { value: { id, ...(typeof timeoutMs === 'number' && { timeoutMs }) } };
    },
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
};

/** What is needed of the arguments once it runs. */
export function prepareRun(args: unknown): { prepared: { timeoutMs?: number } } {
  const { timeoutMs } = args as RunArguments; // As the schema above makes them.
  return { prepared: { ...(timeoutMs !== undefined && { timeoutMs }) } };
}

/**
 * Jobs whose command comes out of memory, and is forgotten there once it runs. Whoever takes such a job over needs no more than
 * where it is.
 */
export function runAdapter(
  adapterOf: AdapterOf,
  commands: Pick<Map<string, HandedCommand>, 'get' | 'delete'>,
): JobAdapter<RunArguments, string> {
  const of = ({ prepared }: JobContext, command?: HandedCommand): JobAdapter<RunArguments, string> => {
    const { timeoutMs } = isJsonObject(prepared) ? prepared : {};
    return adapterOf({ command, timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined });
  };
  return {
    ...adapterOf({ command: undefined, timeoutMs: undefined }),
    async start(args, context) {
      const started = await of(context, commands.get(args.id)).start(args, context);
      commands.delete(args.id);
      return started;
    },
    poll: (ref, context) => of(context).poll(ref, context),
  };
}
