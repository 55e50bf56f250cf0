import { isJsonObject, type JsonObject, type Logger, type ToolHints } from '../core/index.ts';
import type { FrontCall, FrontTool } from '../server/front/front.ts';
import type { UpstreamConfig } from './config/types.ts';
import type { Lane } from './lanes/lane.ts';
import { Lanes, type LanesParts, type LaneUser } from './lanes/lanes.ts';
import { isAllowed, matchPolicy } from './policy.ts';
import { passOn } from './relay/direct.ts';
import { Subscriptions } from './relay/subscriptions.ts';
import type { SlowTools } from './slow-tools.ts';

/** A tool of an upstream as it is served here. */
export interface Served {
  /** Its name here. */
  name: string;
  /** Its name there. */
  tool: string;
  listing: JsonObject;
  policy: ReturnType<typeof matchPolicy>;
}

export interface UpstreamParts extends LanesParts {
  slow: SlowTools;
  logger: Logger;
  /** Makes a tool one that runs as a task. May be told again and again. */
  asTask: (upstream: Upstream, served: Served) => void;
}

/** One upstream of a gateway. */
export class Upstream {
  readonly config: UpstreamConfig;
  readonly lanes: Lanes;
  readonly subscriptions: Subscriptions;
  readonly #parts: UpstreamParts;
  /** By the list they were made of. */
  readonly #served = new WeakMap<readonly JsonObject[], readonly Served[]>();

  constructor(config: UpstreamConfig, parts: UpstreamParts) {
    this.config = config;
    this.#parts = parts;
    this.lanes = new Lanes(config, parts);
    this.subscriptions = new Subscriptions(parts);
  }

  /** Tools as one caller is to see them. */
  async tools(lane: Lane, era: FrontCall['era'], asked: boolean): Promise<Map<string, FrontTool>> {
    const list = await lane.tools();
    let served = this.#served.get(list);
    if (served === undefined) {
      served = list.filter(({ name }) => isAllowed(this.config, String(name))).map((one) => this.#serve(one));
      this.#served.set(list, served);
    }
    // Who can only be asked by answers waits for an upstream that asks by requests: as a task, which keeps the one until the
    // other is there.
    const bridged = era === 'modern' && asked && lane.link.era === 'legacy';
    return new Map(served.map((one) => [one.name, this.#toolOf(one, lane, bridged)]));
  }

  async lane(user: LaneUser): Promise<Lane> {
    return this.lanes.get(user);
  }

  async close(): Promise<void> {
    this.subscriptions.close();
    await this.lanes.close();
  }

  #serve(listed: JsonObject): Served {
    const tool = String(listed.name);
    const name = `${this.config.prefix}${tool}`;
    const hints: ToolHints = isJsonObject(listed.annotations) ? listed.annotations : {};
    return { name, tool, listing: { ...listed, name }, policy: matchPolicy(this.config, tool, hints) };
  }

  #toolOf(served: Served, lane: Lane, bridged: boolean): FrontTool {
    const { name, tool, listing, policy } = served;
    const slow = policy.mode === 'auto' && this.#parts.slow.has(this.config.name, tool);
    if (policy.mode === 'task' || slow || bridged) {
      this.#parts.asTask(this, served);
      return { listing, task: `${this.config.name}/${tool}` };
    }
    return { listing, relay: (call) => this.#relay(name, tool, policy, lane, call) };
  }

  async #relay(name: string, tool: string, policy: Served['policy'], lane: Lane, call: FrontCall): Promise<JsonObject> {
    const { clock, slow } = this.#parts;
    const began = clock.monotonic();
    try {
      const { arguments: args = {} } = call.params;
      return await passOn(lane, 'tools/call', { name: tool, arguments: args }, call, { timeoutMs: policy.timeoutMs });
    } finally {
      const tookMs = clock.monotonic() - began;
      if (policy.mode === 'auto' && tookMs >= (policy.slowAfterMs ?? 10_000))
        await slow.add(this.config.name, tool, name);
    }
  }
}
