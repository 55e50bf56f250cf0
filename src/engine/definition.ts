import { type JsonObject, type JsonValue, type RetryPolicy, type WorkerLostRule, workName } from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { EndedTask } from './jobs/ended-jobs.ts';
import type { HintedJobs } from './jobs/hinted-jobs.ts';
import type { KeptJob } from './jobs/keeper.ts';

/** Something that can be run as a task: for the engine a tool, a prompt and a resource are all the same. */
export interface Definition {
  /** The request method it answers, e.g. `tools/call`. */
  method: string;
  name: string;
  version?: string;
  ttlMs: number | null;
  keepResultMs: number;
  timeoutMs?: number;
  pollIntervalMs?: number;
  maxAttempts: number;
  onWorkerLost: WorkerLostRule;
  /** Thrown errors are tried again only where this says so. */
  retry?: RetryPolicy;
  /** How many of it may run at once in one process. */
  concurrency?: number;
  /** Fails a task whose handler changed under it, instead of going on with a warning. */
  strict: boolean;
  /** Runs it on the request's own arguments; what it returns is the request's result, what it throws its error. */
  run(input: JsonValue, context: TaskContext): Promise<JsonObject>;
  /** Its work needs nothing of this process: one that stops does not wait for it. */
  handsOver?: boolean;
  /** Its work goes on elsewhere: what is to be done for that of a task which ended without it. */
  jobOf?(ended: EndedTask): Promise<KeptJob | undefined>;
  /** Its work goes on elsewhere: which jobs a request of that service is about; `undefined`: it is not authentic. */
  webhook?(request: Request): Promise<HintedJobs | undefined>;
}

/** Definitions by method and name. */
export class Registry {
  readonly #definitions = new Map<string, Definition>();
  readonly #retired = new Set<string>();
  #list: readonly Definition[] = [];

  /** @throws {TypeError} when there is one of this name, unless that is retired: it is replaced then. */
  add(definition: Definition): void {
    const key = workName(definition.method, definition.name);
    if (this.#definitions.has(key) && !this.#retired.delete(key))
      throw new TypeError(`${definition.name} is registered already; choose another name`);
    this.#definitions.set(key, definition);
    this.#list = [...this.#definitions.values()];
  }

  /** No task of it will be made any more; those that there are are worked on as before. */
  retire(method: string, name: string): void {
    const key = workName(method, name);
    if (this.#definitions.has(key)) this.#retired.add(key);
  }

  find(method: string, name: string): Definition | undefined {
    return this.#definitions.get(workName(method, name));
  }

  /** The definition that a dispatcher knows by this name, see `workName`. */
  byWorkName(work: string): Definition | undefined {
    return this.#definitions.get(work);
  }

  get all(): readonly Definition[] {
    return this.#list;
  }
}
