import { Chance } from '../sim/chance.ts';
import { hearAccidents } from './accidents.ts';
import { Census } from './census.ts';
import { Endings } from './endings.ts';
import { Exchange } from './exchange.ts';
import type { Broken, Finding } from './findings.ts';
import { problemsOf } from './judge.ts';
import { logProblems } from './log.ts';
import type { Plant } from './plants.ts';
import { sendRaw } from './raw.ts';
import { mayStayOpen } from './sent.ts';
import { runOnStdio } from './stdio.ts';
import type { Send, Step } from './steps.ts';
import type { Target } from './targets.ts';
import { passing, realTime, turns } from './turns.ts';
import { compareTwins } from './twins.ts';
import { Uuids } from './uuids.ts';
import { World } from './world.ts';

/** Streams that are kept open at a time; of more, the oldest is left. */
const MAX_OPEN = 6;

export interface EpisodeReport {
  findings: Finding[];
  /** What happened, a line a message: equal for equal episodes. */
  trace: string[];
}

/** Runs episodes within this process, one after the other. */
export class Fuzzer {
  readonly #census = new Census();
  readonly #uuids = new Uuids(new Chance(0));
  readonly #uninstall: (() => void)[];
  #accident = (sentence: string): void => {
    process.stderr.write(`${sentence}\n`);
    process.exit(1);
  };

  constructor() {
    this.#uninstall = [
      hearAccidents((sentence) => this.#accident(sentence), ['error', 'warn', 'info']),
      this.#census.install(),
      this.#uuids.install(),
    ];
  }

  close(): void {
    for (const uninstall of this.#uninstall) uninstall();
  }

  /** @param seeds decide everything that the server draws by chance */
  async run(target: Target, steps: readonly Step[], seeds: readonly number[], plant?: Plant): Promise<EpisodeReport> {
    if (target.serve === undefined) return runOnStdio(steps, seeds);
    const parts = { target, chance: new Chance(...seeds), census: this.#census, uuids: this.#uuids, plant };
    const episode = new Episode(await World.open(parts));
    this.#accident = (sentence) => episode.find('process', sentence);
    try {
      for (const step of steps) await episode.take(step);
      await episode.end();
    } catch (error) {
      episode.find('failed', `the episode broke off: ${(error as Error)?.stack ?? String(error)}`);
      await episode.abandon();
    }
    return { findings: episode.findings, trace: episode.trace };
  }
}

class Episode {
  readonly findings: Finding[] = [];
  readonly trace: string[] = [];
  readonly #world: World;
  readonly #endings: Endings;
  #open: Exchange[] = [];
  #step = 0;
  #logged = 0;
  #violations = 0;

  constructor(world: World) {
    this.#world = world;
    this.#endings = new Endings(world.tasks);
  }

  find(broken: Broken, sentence: string): void {
    this.findings.push({ broken, sentence, step: this.#step });
  }

  async take(step: Step): Promise<void> {
    const world = this.#world;
    switch (step.do) {
      case 'send':
        await this.#burst([step]);
        break;
      case 'burst':
        await this.#burst(step.sends);
        break;
      case 'twin': {
        const { different, exchanges } = await compareTwins(step, world);
        if (different !== undefined) this.find('foreign', `what is somebody else's can be told: ${different}`);
        for (const exchange of exchanges) this.#judge(exchange);
        break;
      }
      case 'pass':
        await passing(world.clock, step.ms);
        break;
      case 'leave':
        await this.#leave(this.#open.at(-1 - step.which));
        break;
      case 'raw': {
        const { text, problems } = await sendRaw(step, world);
        for (const { broken, sentence } of problems) this.find(broken, sentence);
        this.trace.push(`${this.#step} bytes: ${text.slice(0, 100)}`);
        break;
      }
    }
    for (const exchange of this.#open) this.#note(exchange);
    this.#look();
    if (this.#step % 25 === 24) for (const changed of await this.#endings.changed()) this.find('store', changed);
    this.#step += 1;
  }

  /** Everybody goes, all tasks end, and nothing may be left. */
  async end(): Promise<void> {
    const world = this.#world;
    for (const exchange of [...this.#open]) await this.#leave(exchange);
    await passing(world.clock, 100_000); // Whoever waited to come back has had the time for it.
    for (const stuck of await this.#endings.stuck()) this.find('store', stuck);
    await world.tasks.inspect.cancelMany({});
    await passing(world.clock, 2_000);
    for (const changed of await this.#endings.changed()) this.find('store', changed);
    if (world.served.port !== undefined) await realTime(5_000, () => world.census.left({ closed: false }).length === 0);
    for (const held of this.#world.census.left({ closed: false })) this.find('held', `${held}, though nobody is left`);
    await this.#close();
    await passing(world.clock, 2_000); // Whoever was told to stop had a moment.
    for (const held of this.#world.census.left({ closed: true }))
      this.find('held', `${held}, though the server is closed`);
    if (world.clock.pendingTimers > 0)
      this.find('held', `${world.clock.pendingTimers} timers, though the server is closed`);
    this.#look();
  }

  async abandon(): Promise<void> {
    for (const exchange of this.#open) exchange.leave();
    await this.#close();
  }

  async #burst(sends: readonly Send[]): Promise<void> {
    const world = this.#world;
    const begun = await Promise.all(sends.map((send) => Exchange.begin(send, world)));
    for (const exchange of begun) {
      if (exchange === undefined) continue;
      const lasting = mayStayOpen(exchange.send.method, exchange.message);
      const settled = await exchange.settled(world, { patient: !lasting });
      if (settled) this.#judge(exchange);
      else if (lasting) this.#open.push(exchange);
      else {
        this.find('hang', `no answer came to ${exchange.body.slice(0, 500)}`);
        exchange.leave();
      }
    }
    while (this.#open.length > MAX_OPEN) await this.#leave(this.#open[0]);
  }

  async #leave(exchange: Exchange | undefined): Promise<void> {
    if (exchange === undefined) return;
    this.#open = this.#open.filter((other) => other !== exchange);
    if (!exchange.finished) exchange.leave();
    const finished = (): boolean => exchange.finished;
    await turns(60, finished);
    if (!exchange.finished && this.#world.served.port !== undefined) await realTime(5_000, finished);
    if (exchange.finished) this.#judge(exchange);
    else this.find('hang', `a request goes on without its client: ${exchange.body.slice(0, 500)}`);
  }

  #judge(exchange: Exchange): void {
    this.#note(exchange);
    for (const { broken, sentence } of problemsOf(exchange)) {
      if (broken !== 'schema')
        this.find(broken, `${sentence}\n  to ${exchange.send.as}: ${exchange.body.slice(0, 500)}`);
    }
    const { send, status, text, left } = exchange;
    this.trace.push(`${this.#step} ${send.as} ${send.method} ${status}${left ? ', left' : ''} ${text.slice(0, 300)}`);
  }

  /** What later messages may speak of. */
  #note(exchange: Exchange): void {
    const { asked, made } = this.#world;
    for (const message of exchange.news()) {
      const { id, method, result } = (message ?? {}) as {
        id?: unknown;
        method?: unknown;
        result?: Record<string, unknown>;
      };
      if (method !== undefined && typeof id === 'string') asked.unshift(id);
      const handle = (result?.['task'] as Record<string, unknown> | undefined)?.['taskId'] ?? result?.['taskId'];
      if (typeof handle === 'string') made.unshift(handle);
    }
  }

  /** At what was said beside the answer: to operators, or against the schema. */
  #look(): void {
    const { log, validator } = this.#world;
    for (const line of log.lines.slice(this.#logged))
      for (const problem of logProblems(line)) this.find('log', problem);
    this.#logged = log.lines.length;
    for (const { method, path, reason, message } of validator.violations.slice(this.#violations)) {
      this.find('schema', `${method} ${path || '/'}: ${reason}\n  in ${JSON.stringify(message)?.slice(0, 600)}`);
    }
    this.#violations = validator.violations.length;
  }

  async #close(): Promise<void> {
    const { served, clock } = this.#world;
    let closed = false;
    const done = served.close().then(
      () => {
        closed = true;
      },
      (error) => this.find('failed', `the server did not close: ${(error as Error)?.stack}`),
    );
    const until = performance.now() + (this.#world.served.port === undefined ? 0 : 5_000);
    for (let round = 0; (round < 500 || performance.now() < until) && !closed; round += 1) {
      clock.advance(50);
      await turns(2);
    }
    if (!closed) this.find('hang', 'the server does not close');
    else await done;
  }
}
