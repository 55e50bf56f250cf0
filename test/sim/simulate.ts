import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { answerAll, get } from './clients.ts';
import { watchConnections } from './connections.ts';
import type { Ground } from './database-file.ts';
import { EventLoop } from './event-loop.ts';
import { watchFiles } from './files.ts';
import type { TaskModel } from './model.ts';
import { factorOf } from './mood.ts';
import { operations, sweep, thaw } from './operations.ts';
import type { Plant } from './plants.ts';
import { GoesInCircles, type Violation, World } from './world.ts';

export interface RunReport {
  run: number;
  violations: Violation[];
  trace: string[];
  /** Of the trace: equal for equal runs. */
  hash: string;
}

/** Runs simulations on one scratch folder, one after the other. */
export class Simulator {
  readonly #ground: Ground;
  readonly #uninstall: (() => void)[];
  #rejection: (error: unknown) => void = () => {};

  private constructor(ground: Ground) {
    this.#ground = ground;
    const heard = (error: unknown): void => this.#rejection(error);
    process.on('unhandledRejection', heard);
    this.#uninstall = [
      EventLoop.install(),
      watchConnections(),
      watchFiles(),
      () => process.off('unhandledRejection', heard),
    ];
  }

  static async open(): Promise<Simulator> {
    const memory = '/dev/shm'; // Flushing a file in memory costs nothing.
    const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'longcall-sim-'));
    const template = join(folder, 'empty.db');
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const { store } = await sqliteStore(template).open({ clock: systemClock, random: systemRandom, logger });
    await store.close();
    return new Simulator({ folder, template });
  }

  close(): void {
    for (const uninstall of this.#uninstall) uninstall();
    rmSync(this.#ground.folder, { recursive: true, force: true });
  }

  /** One run: `run` and `seed` alone decide what happens in it. */
  async run(seed: number, run: number, plant?: Plant): Promise<RunReport> {
    const world = new World(seed, run, this.#ground, plant);
    this.#rejection = (error) =>
      world.violate('errors', `nobody handled a rejection: ${(error as Error)?.stack ?? error}`);
    try {
      for (const part of [chaos, calmDown, outlive]) if (world.violations.length === 0) await part(world);
    } catch (error) {
      if (error instanceof GoesInCircles) world.violate('P5', error.message);
      else world.violate('errors', `the run broke off: ${(error as Error)?.stack ?? error}`);
    } finally {
      world.end();
    }
    const hash = createHash('sha256').update(world.trace.join('\n')).digest('hex');
    return { run, violations: world.violations, trace: world.trace, hash };
  }
}

/** Anything may happen, in any order. */
async function chaos(world: World): Promise<void> {
  const { chance, mood } = world;
  await world.spawn('worker');
  if (chance.odds(0.6)) await world.spawn(chance.odds(0.7) ? 'worker' : 'server');
  for (let step = 0; step < mood.length && world.violations.length === 0; step += 1) {
    const happenings = world.happenings();
    if (happenings.length > 0 && chance.odds(mood.diligence / (mood.diligence + 1))) {
      await world.happen(chance.pick(happenings));
      continue;
    }
    const weights = operations.map(
      (operation) => [operation, operation.weight(world) * factorOf(mood, operation.name, chance)] as const,
    );
    const operation = chance.weighted(weights);
    if (operation !== undefined) await operation.begin(world);
    else world.advance(chance.int(1, 1_000));
  }
}

/** Nothing goes wrong any more: every task must come to its end, or wait for an answer; with answers, to its end. */
async function calmDown(world: World): Promise<void> {
  world.say('calm');
  world.calm = true;
  world.unhog();
  world.mendDisks();
  for (const process of world.living) {
    process.mine = undefined;
    if (process.fate === 'frozen') thaw(world, process);
  }
  await settle(world);
  if (world.violations.length > 0) return; // What follows from it would only hide it.
  world.observe({ kind: 'settled' });
  for (let round = 0; round < 20 && world.openTasks.length > 0 && world.violations.length === 0; round += 1) {
    for (const task of world.openTasks) {
      await look(world, task);
      await ensureWorker(world);
      await answerAll(world, task);
    }
    await settle(world);
  }
  for (const task of world.model.tasks.values()) await look(world, task);
  await world.pass(2_000); // Who waits in another process hears of the end a little later.
  if (world.violations.length > 0) return;
  world.observe({ kind: 'answered_all' });
}

async function look(world: World, task: TaskModel): Promise<void> {
  await ensureWorker(world);
  await get(world, task);
  await world.rest();
}

/** Whatever killed the last worker, somebody starts another one. */
async function ensureWorker(world: World): Promise<void> {
  if (!world.reachable.some(({ isWorker }) => isWorker)) await world.spawn('worker');
}

/** Lets time pass as it does on a good day, until nothing is left to do, or waiting longer makes no sense. */
async function settle(world: World): Promise<void> {
  const until = world.loop.elapsed + 45_000 + world.setBackMs;
  while (world.loop.elapsed < until && world.violations.length === 0) {
    await ensureWorker(world);
    await world.rest();
    if (world.unsettled === 0) return;
    world.advance(500);
  }
}

/** Long after, nothing may be left of a task that had a time to live. */
async function outlive(world: World): Promise<void> {
  for (let round = 0; round < 3 && world.violations.length === 0; round += 1) {
    world.advance(70_000 + world.setBackMs);
    await world.rest();
    await ensureWorker(world);
    await sweep(world);
    await world.rest();
  }
  for (const task of world.model.tasks.values()) await look(world, task);
  world.observe({ kind: 'outlived' });
}
