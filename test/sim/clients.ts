import { type Answer, isTerminal, type Principal } from '../../src/core/index.ts';
import type { Chance } from './chance.ts';
import type { Call } from './facts.ts';
import { isOwner, type TaskModel } from './model.ts';
import { someProgram } from './programs.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** Whom tasks belong to; two of them differ by their tenant alone. */
const OWNERS: readonly Principal[] = [{ subject: 'ann' }, { tenant: 'acme', subject: 'ann' }, { subject: 'bob' }];

type ByWhom = (task: TaskModel, chance: Chance) => Principal;
export const owner: ByWhom = (task) => task.principal;
export const stranger: ByWhom = (task, chance) => chance.pick(OWNERS.filter((principal) => !isOwner(task, principal)));

/** Tasks a client was told of. */
export function knownTasks(world: World): TaskModel[] {
  return [...world.model.tasks.values()].filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
}

export function get(world: World, task: TaskModel, by: ByWhom = owner): Promise<void> {
  return callAbout(world, 'get', task, by, {}, ({ engine }, { principal }) => engine.get(task.id, principal));
}

export function wait(world: World, task: TaskModel): Promise<void> {
  return callAbout(world, 'wait', task, owner, {}, ({ engine }, { principal }) => engine.wait(task.id, principal));
}

export function cancel(world: World, task: TaskModel, by: ByWhom): Promise<void> {
  const reason = world.newText();
  return callAbout(world, 'cancel', task, by, { reason }, ({ engine }, { principal }) =>
    engine.cancel(task.id, principal, reason),
  );
}

/** `leaves`: the caller breaks off before it learns of its task. Some come with a key, and come again. */
export function create(world: World, leaves: boolean): Promise<void> {
  const { chance } = world;
  const key = chance.odds(0.3) ? chance.pick(['k1', 'k2']) : undefined;
  const earlier = world.calls.findLast((call) => call.key !== undefined && call.key === key);
  const repeated = chance.odds(0.7) ? earlier : undefined;
  const principal = repeated?.principal ?? chance.pick(OWNERS);
  const program = repeated?.program ?? someProgram(chance);
  const process = chance.pick(world.reachable);
  const op = leaves ? 'create and leave' : 'create';
  const call = world.call({ op, process: process.name, principal, program, ...(key !== undefined && { key }) });
  return underWay(world, call, process, async ({ engine, tools }) => {
    const definition = tools.find(({ name }) => name === program.tool)?.definition;
    if (definition === undefined) throw new Error(`no tool ${program.tool}`);
    const { task } = await engine.create({
      definition,
      principal,
      input: structuredClone(program) as never, // An object of its own: it tells under which lease a handler runs.
      revision: '2026-07-28',
      abilities: { form: true },
      ...(key !== undefined && { idempotencyKey: key }),
    });
    call.taskId = task.taskId;
    if (leaves) await engine.abandon(task.taskId, principal, key !== undefined);
    return leaves ? undefined : task;
  });
}

/** Open questions, those that were answered before, and some that nobody asked; one, some or all of them. */
export async function answer(world: World, task: TaskModel, by: ByWhom): Promise<void> {
  const { chance } = world;
  const open = openKeys(world, task);
  const candidates = [...new Set([...open, ...task.asked]), ...(chance.odds(0.1) ? ['nobody-asked', '__proto__'] : [])];
  const keys = candidates.filter(() => chance.odds(0.6));
  if (keys.length === 0) return;
  const answers = new Map(keys.map((key): [string, Answer] => [key, someAnswer(world)]));
  if (chance.odds(0.05)) answers.set(keys[0] as string, { action: 'accept', content: { text: 7 } });
  await sendAnswers(world, task, by, answers, open);
}

/** Answers every question that the last look showed open. */
export async function answerAll(world: World, task: TaskModel): Promise<void> {
  const keys = openKeys(world, task);
  const answers = new Map(keys.map((key): [string, Answer] => [key, someAnswer(world)]));
  if (keys.length > 0) await sendAnswers(world, task, owner, answers, keys);
}

function sendAnswers(
  world: World,
  task: TaskModel,
  by: ByWhom,
  answers: ReadonlyMap<string, Answer>,
  seenOpen: readonly string[],
): Promise<void> {
  return callAbout(world, 'answer', task, by, { answers, seenOpen }, ({ engine }, { principal }) =>
    engine.answer(task.id, principal, answers),
  );
}

/** As a client knows them: from the last record it was given. */
function openKeys(world: World, task: TaskModel): string[] {
  const last = world.calls.findLast(
    ({ op, taskId, outcome }) => op === 'get' && taskId === task.id && outcome?.ok === true,
  );
  const record = last?.outcome?.ok === true ? last.outcome.value : undefined;
  if (typeof record !== 'object' || isTerminal(record.state) || record.state.status !== 'input_required') return [];
  return Object.keys(record.state.inputRequests);
}

function someAnswer(world: World): Answer {
  const kind = world.chance.int(1, 6);
  if (kind === 1) return { action: 'decline' };
  if (kind === 2) return { action: 'cancel' };
  return { action: 'accept', content: { text: world.newText() } };
}

function callAbout(
  world: World,
  op: Call['op'],
  task: TaskModel,
  by: ByWhom,
  more: Partial<Call>,
  act: (tasks: SimProcess['tasks'], call: Call) => Promise<unknown>,
): Promise<void> {
  const process = world.chance.pick(world.reachable);
  const principal = by(task, world.chance);
  const call = world.call({ op, process: process.name, principal, taskId: task.id, ...more });
  return underWay(world, call, process, act);
}

type Value = (Call['outcome'] & { ok: true })['value'];

/** Runs a call in its process and writes down what comes back, whenever that is. */
function underWay(
  world: World,
  call: Call,
  process: SimProcess,
  act: (tasks: SimProcess['tasks'], call: Call) => Promise<unknown>,
): Promise<void> {
  return world.as(process, () => {
    act(process.tasks, call).then(
      (value) => world.returned(call, { ok: true, value: value as Value }),
      (error: unknown) => world.returned(call, { ok: false, error: error as Error }),
    );
  });
}
