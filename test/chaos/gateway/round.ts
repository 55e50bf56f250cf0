// One round with a gateway between a host and its servers: calls, blows, and everything started again; then the host leaves,
// the gateway is stopped, and what is left is looked at.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Call, openTaskClient, type TaskClient } from '../../../src/client/index.ts';
import { createTasks } from '../../../src/engine/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { Stage } from '../../gateway/killed/stage.ts';
import { Chance } from '../../sim/chance.ts';
import type { Violation } from '../evidence.ts';
import { machineTime } from '../ledger.ts';
import { type Blow, type CallStory, checkRound, type StoredTask } from './checks.ts';
import { Fronts, type House, Served } from './houses.ts';
import { type CallPlan, planFor, type RoundPlan } from './plan.ts';

/** How long all may take to come to rest once nothing is killed any more. */
const REST_WITHIN_MS = 60_000;
/** A moment that does not come is not waited for: what should have come to it may be gone. */
const MOMENT_WITHIN_MS = 10_000;

export interface GatewayReport {
  plan: RoundPlan;
  calls: number;
  stories: readonly CallStory[];
  blows: readonly Blow[];
  /** How calls ended, and how many did so. */
  ends: ReadonlyMap<string, number>;
  violations: readonly Violation[];
  /** What there is to read about a call by whoever wants to understand a violation. */
  story(taskId: string): string;
  ms: number;
}

export async function gatewayRound(number: number, seed: number, folder: string): Promise<GatewayReport> {
  const since = machineTime();
  const chance = new Chance(seed, number, 7);
  const plan = planFor(chance);
  const own = join(folder, `gateway-${number}`);
  mkdirSync(own, { mode: 0o700 });
  const stage = new Stage(own);
  const house = plan.way === 'fronts' ? new Fronts(stage) : new Served(stage);
  const client = await openTaskClient({ journal: join(own, 'host.db'), minPollMs: 20 });
  const round = new Round(stage, house, client);
  let left: string[] = [];
  try {
    await house.open(client, plan.protocol);
    await round.run(plan.calls);
  } finally {
    await client.close();
    left = await house.close();
  }
  const { stories, blows } = round;
  const stored = {
    gateway: await tasksIn(join(stage.state, 'tasks.db')),
    durable: await tasksIn(join(own, 'durable.db')),
  };
  const violations = checkRound({ stories, blows, entries: stage.entries, stored, left });
  const ends = new Map<string, number>();
  for (const { end } of stories) ends.set(end?.kind ?? 'open', (ends.get(end?.kind ?? 'open') ?? 0) + 1);
  return {
    plan,
    stories,
    calls: stories.length,
    blows,
    ends,
    violations,
    story: (taskId) => {
      const token = taskId.split(' ')[0];
      const lines = [
        ...stories.filter((story) => story.token === token),
        ...blows,
        ...stage.entries.filter((entry) => entry.token === token || entry.what === 'up'),
      ];
      return [plan.way, plan.protocol, ...lines.map((line) => JSON.stringify(line))].join('\n');
    },
    ms: machineTime() - since,
  };
}

class Round {
  readonly stories: CallStory[] = [];
  readonly blows: Blow[] = [];
  readonly #stage: Stage;
  readonly #house: House;
  readonly #client: TaskClient;

  constructor(stage: Stage, house: House, client: TaskClient) {
    this.#stage = stage;
    this.#house = house;
    this.#client = client;
  }

  async run(plans: readonly CallPlan[]): Promise<void> {
    const dealt: Promise<void>[] = [];
    const ended: Promise<void>[] = [];
    const placed = plans.map(async (plan, n) => {
      await setTimeout(plan.atMs);
      const token = `call-${n}`;
      const call = await this.#house.call(plan.server, plan.tool, { token, ms: plan.ms });
      const story: CallStory = { token, plan, madeAt: machineTime(), handled: false };
      this.stories.push(story);
      const blow = this.#deal(plan, story, call);
      dealt.push(blow);
      ended.push(this.#follow(call, story, blow));
    });
    await Promise.all(placed);
    await Promise.all(dealt);
    await Promise.race([Promise.all(ended), setTimeout(REST_WITHIN_MS, undefined, { ref: false })]);
    await this.#client.calls({ open: true }); // Still there to be asked.
    await this.#serverRests();
  }

  /** Follows a call to its end, answers what it asks once its blow has been dealt, and cancels it if that is planned. */
  async #follow(call: Call, story: CallStory, blow: Promise<void>): Promise<void> {
    const { cancelAfterMs, answerAfterMs } = story.plan;
    if (cancelAfterMs !== undefined) void this.#cancel(call, story, cancelAfterMs);
    for await (const { phase, questions, end } of call.updates()) {
      if (phase === 'following') story.handled = true;
      if (end !== undefined) {
        story.end = end;
        story.endedAt = machineTime();
        return;
      }
      for (const key of Object.keys(questions ?? {})) {
        void blow
          .then(() => setTimeout(answerAfterMs))
          .then(() => call.answer(key, { action: 'accept', content: { word: `word for ${story.token}` } }));
      }
    }
  }

  async #cancel(call: Call, story: CallStory, afterMs: number): Promise<void> {
    await setTimeout(afterMs);
    await call.cancel();
    story.cancelledAt = machineTime();
  }

  async #deal({ server, blow }: CallPlan, story: CallStory, call: Call): Promise<void> {
    if (blow === undefined) return;
    await Promise.race([this.#moment(blow.moment, story.token, call), setTimeout(MOMENT_WITHIN_MS)]);
    await setTimeout(blow.afterMs);
    const at = machineTime();
    const hit = await Promise.all(blow.parts.map((part) => this.#house.kill(part, server)));
    const parts = blow.parts.filter((_, n) => hit[n]);
    if (parts.length > 0) this.blows.push({ parts, server, at });
  }

  async #moment(moment: string, token: string, call: Call): Promise<void> {
    switch (moment) {
      case 'running':
        await this.#stage.noted('began', token);
        return;
      case 'asking':
        for await (const { questions } of call.updates()) if (questions !== undefined) return;
        return;
      case 'ending':
        await this.#stage.noted('done', token);
        return;
      case 'over':
        await call.result().catch(() => {}); // However it ended.
        return;
    }
  }

  /** The server with tasks comes to rest too: what was cancelled at the gateway is cancelled there a moment later. */
  async #serverRests(): Promise<void> {
    const until = machineTime() + REST_WITHIN_MS / 3;
    while (machineTime() < until) {
      const tasks = await tasksIn(join(this.#stage.folder, 'durable.db'));
      const handled = new Set(this.stories.flatMap((story) => (story.handled ? [story.token] : [])));
      const open = tasks.filter(({ status, token }) => /working|input_required/.test(status) && handled.has(token));
      if (open.length === 0) return;
      await setTimeout(200);
    }
  }
}

async function tasksIn(database: string): Promise<StoredTask[]> {
  const tasks = createTasks({ store: sqliteStore(database), slots: 0 });
  try {
    const page = await tasks.inspect.list({ limit: 1_000 });
    return await Promise.all(
      page.tasks.map(async ({ taskId, status }) => {
        const { input, result } = await tasks.inspect.payloads(taskId);
        const [, token = ''] = /"token":"([^"]*)"/.exec(JSON.stringify(input)) ?? [];
        return { token, taskId, status, ...(result !== undefined && { result }) };
      }),
    );
  } finally {
    await tasks.close();
  }
}
