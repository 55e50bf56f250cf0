import { describeIssues, type JobAdapter, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import { standardSchema } from '../../server/json-schema.ts';
import type { OwnToolConfig } from '../config/types.ts';
import { ANYTHING } from '../task-tools.ts';
import type { OwnKindName } from './own-kinds.ts';

/** A tool of the gateway's own, whatever does its work. */
export interface OwnTool {
  config: OwnToolConfig;
  /** Its name among the tasks. */
  task: string;
  register(tasks: Tasks): void;
}

/** One kind of work. */
export interface OwnKind {
  kind: OwnKindName;
  /** What follows tasks of a tool that is not in the configuration any more: nothing of it is started. */
  followed(name: string): OwnTool;
}

export interface Work {
  adapter: JobAdapter<JsonObject, JsonValue>;
  /** What the schema of the input cannot say: what is wrong with an input that fits it, in words that name the field. */
  problemOf?(input: JsonObject): string | undefined;
  /** Kept with each task, for the adapter: what holds for a job from its start on, whatever is configured later. */
  prepared?: JsonValue;
}

/** Registers a tool whose calls are checked before anything of them is a task. */
export function registerOwn(tasks: Tasks, task: string, config: OwnToolConfig, work: Work): void {
  const { name, annotations, policy } = config;
  const schema = standardSchema(config.input);
  const { adapter, problemOf, prepared } = work;
  const wrong = async (input: JsonObject): Promise<string | undefined> => {
    const checked = await schema['~standard'].validate(input);
    return checked.issues === undefined ? problemOf?.(input) : describeIssues(checked.issues);
  };
  const harmless = annotations?.readOnlyHint === true && annotations.idempotentHint === true;
  const { ttlMs, keepResultMs, timeoutMs, concurrency, onLost, maxAttempts, support, fallback } = policy;
  tasks.registerJob(
    task,
    {
      // Not the tool's own schema: a task that was begun goes on, also where its input would be refused by now.
      inputSchema: ANYTHING,
      ...(annotations !== undefined && { annotations }),
      task: {
        origin: name,
        onLost: onLost ?? (harmless ? 'rerun' : 'fail'),
        prepare: async (input) => {
          const problem = await wrong(input as JsonObject);
          if (problem !== undefined) return { problem };
          return prepared === undefined ? undefined : { prepared };
        },
        ...(ttlMs !== undefined && { ttlMs }),
        ...(keepResultMs !== undefined && { keepResultMs }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(concurrency !== undefined && { concurrency }),
        ...(maxAttempts !== undefined && { maxAttempts }),
        ...(support !== undefined && { support }),
        ...(fallback !== undefined && { fallback }),
      },
    },
    adapter,
  );
}

/** A tool as it is listed. */
export function listingOf({ name, title, description, input, annotations }: OwnToolConfig): JsonObject {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: input,
    ...(annotations !== undefined && { annotations: { ...annotations } as JsonObject }),
  };
}
