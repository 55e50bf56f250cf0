import { isJsonObject, type JsonObject, type ToolHints } from '../core/index.ts';
import { type FrontAsker, type FrontCall, type FrontTool, TaskNeededError } from '../server/front/front.ts';
import { COMPANIONS, hasCompanions } from '../wire/companions.ts';
import { withoutTaskHints } from '../wire/relayed.ts';
import { taskSupportOf } from '../wire/rev2025-11-25/client.ts';
import type { ToolPolicy, UpstreamConfig } from './config/types.ts';
import type { KnownTools } from './known-tools.ts';
import type { Lane } from './lanes/lane.ts';
import { Lanes, type LanesParts } from './lanes/lanes.ts';
import { isAllowed, matchPolicy } from './policy.ts';
import { passOn } from './relay/direct.ts';
import { Subscriptions } from './relay/subscriptions.ts';
import type { TaskTools } from './task-tools.ts';

/** A tool of an upstream as it is served here. */
interface Served {
  /** As it is called there. */
  tool: string;
  listing: JsonObject;
  policy: ToolPolicy;
  /** Its upstream lists it as one that can only run as a task. */
  onlyTask: boolean;
}

export interface UpstreamParts extends Omit<LanesParts, 'opened' | 'ended'> {
  known: KnownTools;
  taskTools: TaskTools;
  /** A tool turned out to be slow, and is listed otherwise from now on. */
  relisted: () => void;
}

const SLOW_AFTER_MS = 10_000;

/** One upstream of a gateway. */
export class Upstream {
  readonly config: UpstreamConfig;
  readonly lanes: Lanes;
  readonly subscriptions: Subscriptions;
  readonly #parts: UpstreamParts;
  /** By the list they were made of. */
  readonly #served = new WeakMap<readonly JsonObject[], readonly Served[]>();
  /** Names here of tools that cannot run otherwise. */
  readonly #onlyTasks = new Set<string>();

  constructor(config: UpstreamConfig, parts: UpstreamParts) {
    this.config = config;
    this.#parts = parts;
    this.subscriptions = new Subscriptions(parts);
    this.lanes = new Lanes(config, {
      ...parts,
      opened: (lane) => this.subscriptions.begin(lane),
      ended: (lane) => this.subscriptions.end(lane),
    });
  }

  /**
   * Whether all calls under a name are tasks, whether or not its tools were asked for yet. Of a tool that turns out to be slow, the
   * call by which it did so was none: sent again, it would run again.
   */
  keyed(name: string): boolean {
    const { prefix } = this.config;
    return (
      this.#onlyTasks.has(name) ||
      (name.startsWith(prefix) && matchPolicy(this.config, name.slice(prefix.length)).mode === 'task')
    );
  }

  /** What a tool of ours among the tasks is called here; undefined: it is none of this upstream's. */
  shownAs(task: string): string | undefined {
    const own = `${this.config.name}/`;
    return task.startsWith(own) ? this.config.prefix + task.slice(own.length) : undefined;
  }

  /** Tools as one caller is to see them. */
  async tools(lane: Lane, { caller, era }: FrontAsker): Promise<Map<string, FrontTool>> {
    const list = await lane.tools();
    let served = this.#served.get(list);
    if (served === undefined) {
      served = withoutCompanions(list, lane.server)
        .filter(({ name }) => isAllowed(this.config, String(name)))
        .map((one) => this.#serve(one));
      this.#served.set(list, served);
    }
    // Who can only be asked by an answer waits for an upstream that asks by requests: as a task, which keeps the one until the
    // other comes again.
    const bridged = era === 'modern' && caller.askedBy === 'rounds' && lane.link.era === 'legacy';
    return new Map(served.map((one) => [`${this.config.prefix}${one.tool}`, this.#toolOf(one, lane, bridged)]));
  }

  /** Has tasks go on that were made before this process: their tools need not be listed for that. */
  resume(names: Iterable<string>): void {
    const own = `${this.config.name}/`;
    for (const name of names) {
      if (!name.startsWith(own)) continue;
      const tool = name.slice(own.length);
      this.#put(tool, matchPolicy(this.config, tool, this.#parts.known.hintsOf(name)));
    }
  }

  async close(): Promise<void> {
    this.subscriptions.close();
    await this.lanes.close();
  }

  #serve(listed: JsonObject): Served {
    const tool = String(listed.name);
    const hints: ToolHints = isJsonObject(listed.annotations) ? listed.annotations : {};
    this.#parts.known.listed(`${this.config.name}/${tool}`, hints);
    const listing = { ...withoutTaskHints(listed), name: `${this.config.prefix}${tool}` };
    const policy = matchPolicy(this.config, tool, hints);
    return { tool, listing, policy, onlyTask: taskSupportOf(listed) === 'required' };
  }

  #toolOf(served: Served, lane: Lane, bridged: boolean): FrontTool {
    const { tool, listing, policy } = served;
    const { known } = this.#parts;
    const name = `${this.config.name}/${tool}`;
    const wanted = policy.mode === 'task' || (policy.mode === 'auto' && known.isSlow(name));
    // What cannot run otherwise there is a task here too, whatever is wanted.
    const onlyTask = (served.onlyTask && lane.server.revision === '2025-11-25') || known.isOnlyTask(name);
    const isTask = wanted || onlyTask;
    if (!isTask && !bridged) return { listing, relay: (call) => this.#relay(served, lane, call) };
    this.#put(tool, policy);
    if (onlyTask) this.#onlyTasks.add(`${this.config.prefix}${tool}`);
    return { listing, task: name };
  }

  #put(tool: string, policy: ToolPolicy): void {
    this.#parts.taskTools.put({
      name: `${this.config.name}/${tool}`,
      tool,
      policy,
      origin: `${this.config.name}: ${tool}`,
      server: async ({ principal, abilities }) => (await this.lanes.get({ principal, abilities })).server,
    });
  }

  async #relay({ tool, policy }: Served, lane: Lane, call: FrontCall): Promise<JsonObject> {
    const { clock, known, relisted } = this.#parts;
    const name = `${this.config.name}/${tool}`;
    const began = clock.monotonic();
    const { arguments: args = {} } = call.params;
    try {
      return await passOn(lane, 'tools/call', { name: tool, arguments: args }, call, { timeoutMs: policy.timeoutMs });
    } catch (error) {
      if (!(error instanceof TaskNeededError)) throw error;
      known.foundOnlyTask(name);
      this.#put(tool, policy);
      this.#onlyTasks.add(`${this.config.prefix}${tool}`);
      relisted();
      throw new TaskNeededError(name);
    } finally {
      const slow = clock.monotonic() - began >= (policy.slowAfterMs ?? SLOW_AFTER_MS);
      if (policy.mode === 'auto' && slow && known.foundSlow(name)) relisted();
    }
  }
}

/** Tools by which clients without tasks follow those of the upstream: here they follow ours, under the same names. */
export function withoutCompanions(
  list: readonly JsonObject[],
  { repeatable }: { repeatable: boolean },
): readonly JsonObject[] {
  const names = new Set(list.map(({ name }) => String(name)));
  if (!repeatable || !hasCompanions(names)) return list;
  const theirs: ReadonlySet<unknown> = new Set(Object.values(COMPANIONS));
  return list.filter(({ name }) => !theirs.has(name));
}
