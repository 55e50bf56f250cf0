import { type ShellToolOptions, shellTool } from '../../adapters/index.ts';
import { commandOf } from '../../adapters/shell/input/command-of.ts';
import { InputError } from '../../adapters/shell/input/input-error.ts';
import {
  isJsonObject,
  type JobAdapter,
  type JobContext,
  type JsonObject,
  NonRetryableError,
} from '../../core/index.ts';
import type { ShellToolConfig } from '../config/types.ts';
import { ownTaskName } from './own-kinds.ts';
import { type OwnKind, type OwnTool, registerOwn } from './own-tool.ts';

const KIND = 'shell';
type Options = ShellToolOptions<JsonObject>;
/** What says how a command that ended is judged. */
type Judging = Pick<Options, 'limits' | 'okCodes' | 'output'>;

/** A command of the configuration as a tool. @param folder of all jobs of the gateway */
export function shellOwnTool(config: ShellToolConfig, folder: string): OwnTool {
  const { name, recipe, secrets, progress } = config;
  const judging = judgingOf(config);
  const options: Options = {
    ...judging,
    folder,
    secrets,
    ...(progress !== undefined && { progress }),
    command: (input) => {
      try {
        return commandOf(recipe, input);
      } catch (error) {
        // It was fine when the task was made: the tool has changed since.
        if (error instanceof InputError)
          throw new NonRetryableError(`the input no longer fits ${name}: ${error.message}`);
        throw error;
      }
    },
  };
  const task = ownTaskName(KIND, name);
  return {
    config,
    task,
    register: (tasks) => {
      registerOwn(tasks, task, config, {
        adapter: asBegun(options),
        prepared: judging as JsonObject,
        problemOf: (input) => {
          try {
            commandOf(recipe, input);
            return undefined;
          } catch (error) {
            if (error instanceof InputError) return error.message;
            throw error;
          }
        },
      });
    },
  };
}

export function shellKind(folder: string): OwnKind {
  return {
    kind: KIND,
    followed: (name) => {
      const config = { name, input: { type: 'object' }, policy: {}, secrets: [] };
      const command = (): never => {
        throw new NonRetryableError(`${name} was not started: it is not in the configuration any more`);
      };
      const task = ownTaskName(KIND, name);
      return {
        config,
        task,
        register: (tasks) => registerOwn(tasks, task, config, { adapter: asBegun({ folder, command }) }),
      };
    },
  };
}

function judgingOf({ limits, okCodes, output }: ShellToolConfig): Judging {
  return { limits, ...(okCodes !== undefined && { okCodes }), ...(output !== undefined && { output }) };
}

/** A command that was begun is judged as it was begun, whatever the configuration says by now. */
function asBegun(options: Options): JobAdapter<JsonObject, string> {
  const now = shellTool(options);
  const begun = ({ prepared }: JobContext): JobAdapter<JsonObject, string> => {
    if (!isJsonObject(prepared)) return now;
    const { limits = {}, okCodes, output } = prepared as Judging;
    return shellTool({
      folder: options.folder,
      command: options.command,
      limits,
      ...(okCodes !== undefined && { okCodes }),
      ...(output !== undefined && { output }),
    });
  };
  return {
    ...now,
    poll: (ref, context) => begun(context).poll(ref, context),
    cancel: async (ref, context) => begun(context).cancel?.(ref, context),
  };
}
