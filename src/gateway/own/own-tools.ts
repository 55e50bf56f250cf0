import type { JsonObject, Logger } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import type { FrontTool } from '../../server/front/front.ts';
import { type ConfigChanges, diffByName } from '../config/diff.ts';
import { readOwnTask } from './own-kinds.ts';
import { listingOf, type OwnKind, type OwnTool } from './own-tool.ts';

export interface OwnToolsParts {
  tasks: Tasks;
  logger: Logger;
  /** All that there are, whether configured or not. */
  kinds: readonly OwnKind[];
}

/** The tools of a gateway that no upstream has. Whoever sees all that it serves sees them. */
export class OwnTools {
  readonly #parts: OwnToolsParts;
  #served: ReadonlyMap<string, { tool: OwnTool; listing: JsonObject }> = new Map();
  /** Names that an upstream has too, once told. */
  readonly #told = new Set<string>();

  constructor(parts: OwnToolsParts) {
    this.#parts = parts;
  }

  /** Serves these, and no others. Tasks of the others go on as they were begun. @throws {TypeError} when two have one name */
  set(tools: readonly OwnTool[]): ConfigChanges {
    const { tasks } = this.#parts;
    const next = new Map(tools.map((tool) => [tool.config.name, { tool, listing: listingOf(tool.config) }]));
    if (next.size < tools.length) throw new TypeError('two tools of the gateway’s own have one name');
    const before = [...this.#served.values()].map(({ tool }) => tool);
    const changes = diffByName(before.map(compared), tools.map(compared));
    const gone = new Set([...changes.removed, ...changes.changed]);
    for (const { config, task } of before) if (gone.has(config.name)) tasks.removeTool(task);
    const fresh = new Set([...changes.added, ...changes.changed]);
    for (const tool of tools) if (fresh.has(tool.config.name)) tool.register(tasks);
    this.#served = next;
    return changes;
  }

  /** Has tasks go on that were made before this process, of tools that are not there any more. @param open their names */
  resume(open: Iterable<string>): void {
    const { tasks, kinds } = this.#parts;
    const served = new Set([...this.#served.values()].map(({ tool }) => tool.task));
    for (const task of open) {
      const own = served.has(task) ? undefined : readOwnTask(task);
      const kind = kinds.find((one) => one.kind === own?.kind);
      if (own === undefined || kind === undefined) continue;
      kind.followed(own.name).register(tasks);
      tasks.removeTool(task); // None is made any more.
    }
  }

  /** Those of upstreams, and these. */
  beside(theirs: ReadonlyMap<string, FrontTool>): ReadonlyMap<string, FrontTool> {
    const all = new Map(theirs);
    for (const [name, { tool, listing }] of this.#served) {
      if (theirs.has(name)) this.#tell(name);
      all.set(name, { listing, task: tool.task });
    }
    return all;
  }

  get some(): boolean {
    return this.#served.size > 0;
  }

  has(name: string): boolean {
    return this.#served.has(name);
  }

  /** Under which name a tool among the tasks is listed; undefined: it is none of these. */
  shownAs(task: string): string | undefined {
    return [...this.#served.values()].find(({ tool }) => tool.task === task)?.tool.config.name;
  }

  /** Whether a task is of such a tool, also where that is not there any more. */
  owns(task: string): boolean {
    return readOwnTask(task) !== undefined;
  }

  /** A file that says so is refused; what an upstream comes to have, nobody knows beforehand. */
  #tell(name: string): void {
    if (this.#told.has(name)) return;
    this.#told.add(name);
    this.#parts.logger.warn(
      { tool: name },
      'an upstream has a tool of the same name as one of the gateway’s own, which is served',
    );
  }
}

/** Whatever does its work may have changed with its name and configuration being the same. */
function compared({ config, task }: OwnTool): { name: string } {
  return { ...config, task } as { name: string };
}
