import { answer, cancel, create, get, knownTasks, owner, stranger, wait } from './clients.ts';
import type { TaskModel } from './model.ts';
import { LEASE_MS } from './mood.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

type Begin = (world: World) => void | Promise<void>;

/** Something that a client, an operator or bad luck may begin at any moment. */
interface Operation {
  name: string;
  /** Zero where it makes no sense. */
  weight(world: World): number;
  begin: Begin;
}

const when = (possible: (world: World) => boolean, name: string, weight: number, begin: Begin): Operation => ({
  name,
  weight: (world) => (possible(world) ? weight : 0),
  begin,
});
const always = (name: string, weight: number, begin: Begin): Operation => when(() => true, name, weight, begin);
const toTask = (name: string, weight: number, begin: (world: World, task: TaskModel) => Promise<void>): Operation =>
  when(canCall, name, weight, (world) => begin(world, world.chance.pick(knownTasks(world))));

/**
 * All that may be begun. To add something: a name, how often, and what it does; what clients do goes to clients.ts, so
 * that checkers learn of it.
 */
export const operations: readonly Operation[] = [
  when(canCreate, 'create', 6, (world) => create(world, false)),
  when(canCreate, 'create and leave', 0.5, (world) => create(world, true)),
  toTask('get', 3, (world, task) => get(world, task, owner)),
  toTask('get foreign', 0.3, (world, task) => get(world, task, stranger)),
  toTask('wait', 0.7, wait),
  toTask('answer', 4, (world, task) => answer(world, task, owner)),
  toTask('answer foreign', 0.3, (world, task) => answer(world, task, stranger)),
  toTask('cancel', 0.7, (world, task) => cancel(world, task, owner)),
  toTask('cancel foreign', 0.2, (world, task) => cancel(world, task, stranger)),

  always('a moment', 4, (world) => world.advance(world.chance.int(1, 150))),
  always('the next timer', 4, (world) => world.advance(world.loop.untilNextTimer ?? 1)),
  always('a while', 1, (world) => world.advance(world.chance.int(200, LEASE_MS))),
  always('a lease', 1, (world) => world.advance(LEASE_MS + world.chance.int(1, 500))),
  always('a long time', 0.2, (world) => world.advance(world.chance.int(5_000, 70_000))),
  always('time passes', 0.5, (world) => world.pass(world.chance.int(500, 2 * LEASE_MS), someHandlers(world))),
  always('jump forward', 0.3, (world) => world.jump(world.chance.pick([50, 2_000, 20_000, 100_000]))),
  always('jump back', 0.3, (world) => world.jump(-world.chance.pick([50, 2_000, 10_000]))),

  when(hasRoom, 'start a worker', 1, (world) => world.spawn('worker')),
  when(hasRoom, 'start a server', 0.3, (world) => world.spawn('server')),
  when((world) => world.living.length > 0, 'kill', 0.7, kill),
  when((world) => world.living.length > 0, 'mine', 0.5, mine),
  when(
    (world) => awake(world).length > 0,
    'freeze',
    0.6,
    (world) => void freeze(world),
  ),
  when((world) => awake(world).length > 1, 'stall', 0.4, stall),
  when(
    (world) => frozen(world).length > 0,
    'thaw',
    1.5,
    (world) => thaw(world, world.chance.pick(frozen(world))),
  ),
  when((world) => world.reachable.length > 1, 'shut down', 0.4, shutDown),
  when(
    (world) => world.reachable.length > 0,
    'sweep',
    0.7,
    (world) => sweep(world),
  ),

  when(
    (world) => !world.hogged,
    'busy',
    0.3,
    (world) => world.hog(),
  ),
  when(
    (world) => world.hogged,
    'no longer busy',
    2,
    (world) => world.unhog(),
  ),
  when((world) => awake(world).length > 0, 'disk trouble', 0.3, spoilDisk),
  when(
    (world) => world.troubled,
    'disk fine',
    2,
    (world) => world.mendDisks(),
  ),
  when(
    (world) => !world.hogged,
    'power cut',
    0.15,
    (world) => world.cutPower(),
  ),
];

/** One round of recovery and sweeping, in some process. */
export function sweep(world: World): Promise<void> {
  const process = world.chance.pick(world.reachable);
  world.say(`${process.name} is asked to sweep`);
  return world.as(process, () => {
    process.tasks.engine.sweep().catch((error: unknown) => world.violate('errors', `a sweep threw ${String(error)}`));
  });
}

export function thaw(world: World, process: SimProcess): void {
  world.say(`${process.name} is thawed`);
  process.fate = 'alive';
}

function canCall(world: World): boolean {
  return world.reachable.length > 0 && knownTasks(world).length > 0;
}

function canCreate(world: World): boolean {
  return world.reachable.length > 0 && world.calls.filter(({ program }) => program).length < world.mood.tasks;
}

function hasRoom(world: World): boolean {
  return world.living.length < 3;
}

function awake(world: World): SimProcess[] {
  return world.living.filter(({ fate }) => fate === 'alive');
}

function frozen(world: World): SimProcess[] {
  return world.living.filter(({ fate }) => fate === 'frozen');
}

function someHandlers(world: World) {
  return world.chance.pick(['handlers go on', 'handlers take long'] as const);
}

function kill(world: World): Promise<void> {
  const how = world.chance.odds(0.5) ? 'commits get through' : 'nothing gets through';
  return world.chance.pick(world.living).kill(how);
}

/** A death at a store call to come: before it has reached the file, or before its answer is heard. */
function mine(world: World): void {
  const process = world.chance.pick(world.living);
  process.mine = { calls: world.chance.int(1, 10), when: world.chance.pick(['before the call', 'after the call']) };
  world.say(`${process.name} will die ${process.mine.when} in ${process.mine.calls} calls`);
}

function freeze(world: World): SimProcess {
  const process = world.chance.pick(awake(world));
  process.fate = 'frozen';
  world.say(`${process.name} is frozen`);
  return process;
}

/** One process stands still for so long that the others take over what it had. */
async function stall(world: World): Promise<void> {
  const process = freeze(world);
  await world.pass(3 * LEASE_MS, someHandlers(world));
  if (process.fate === 'frozen') thaw(world, process);
}

function shutDown(world: World): Promise<void> {
  const process = world.chance.pick(world.reachable);
  world.say(`${process.name} is told to shut down`);
  return world.as(process, () => process.close());
}

function spoilDisk(world: World): void {
  world.setDisk(world.chance.pick(awake(world)), world.chance.pick(['full', 'flaky']));
}
