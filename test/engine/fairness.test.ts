import { afterEach, describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, type Principal } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { Slots } from '../../src/engine/slots.ts';
import { deferred, settle, someTasks } from '../support/engine.ts';

let open: Tasks[] = [];
afterEach(async () => {
  await Promise.all(open.map((tasks) => tasks.close()));
  open = [];
});

function fresh(options: Parameters<typeof someTasks>[0]) {
  const { tasks, clock } = someTasks(options);
  open.push(tasks);
  return { tasks, clock };
}

async function create(tasks: Tasks, name: string, principal: Principal, attended = false): Promise<string> {
  const definition = tasks.tools.find((tool) => tool.name === name)?.definition;
  if (definition === undefined) throw new Error(`no tool ${name}`);
  const request = { definition, principal, input: {}, revision: '2026-07-28', abilities: { form: false }, attended };
  return (await tasks.engine.create(request)).task.taskId;
}

describe('slots', () => {
  const settings = { slots: 8, attendedSlots: 2, maxRunningPerPrincipal: undefined };
  const user = (principal: string | undefined, name = 'tool', concurrency?: number) => ({
    principal,
    name,
    concurrency,
  });

  it('keep the last eighth for whoever has nothing running', () => {
    const slots = new Slots(settings);
    const hog = Array.from({ length: 8 }, () => slots.take(user('hog'), false));
    expect(hog.filter((slot) => slot !== undefined)).toHaveLength(7);
    expect(slots.take(user('other'), false)).toBeDefined();
    expect(slots.take(user('third'), false)).toBeUndefined();
  });

  it('are all there for a caller that need not share', () => {
    const slots = new Slots(settings);
    for (let n = 0; n < 8; n += 1) expect(slots.take(user(undefined), false)).toBeDefined();
    expect(slots.take(user(undefined), false)).toBeUndefined();
  });

  it('count tools and principals, and give back what was given back, once', () => {
    const slots = new Slots({ ...settings, maxRunningPerPrincipal: 3 });
    const narrow = slots.take(user('a', 'narrow', 1), false);
    expect(slots.take(user('b', 'narrow', 1), false)).toBeUndefined();
    narrow?.free();
    narrow?.free();
    expect(slots.left).toBe(8);
    expect(slots.take(user('b', 'narrow', 1), false)).toBeDefined();
    for (let n = 0; n < 3; n += 1) expect(slots.take(user('c'), false)).toBeDefined();
    expect(slots.take(user('c'), false)).toBeUndefined();
  });

  it('are none where the process only answers', () => {
    expect(new Slots({ ...settings, slots: 0 }).take(user('a'), true)).toBeUndefined();
  });
});

describe('a full server', () => {
  const long = (tasks: Tasks, gate: Promise<unknown>, task: object = {}) =>
    tasks.registerTool('long', { task }, async () => {
      await gate;
      return text('long');
    });

  it('still serves quick calls somebody waits for', async () => {
    const { tasks } = fresh({ slots: 2, attendedSlots: 1 });
    const gate = deferred();
    long(tasks, gate.promise);
    tasks.registerTool('quick', {}, () => text('quick'));
    for (let n = 0; n < 5; n += 1) await create(tasks, 'long', LOCAL_PRINCIPAL);
    const quick = await create(tasks, 'quick', LOCAL_PRINCIPAL, true);
    expect((await tasks.engine.wait(quick, LOCAL_PRINCIPAL)).state.status).toBe('completed');
    gate.resolve();
  });

  it("lets one principal's many tasks not keep another's one waiting", async () => {
    const { tasks } = fresh({ slots: 8, maxOpenTasksPerPrincipal: 5_000 });
    const gate = deferred();
    long(tasks, gate.promise);
    const [hog, guest] = [{ subject: 'hog' }, { subject: 'guest' }];
    await Promise.all(Array.from({ length: 2_000 }, () => create(tasks, 'long', hog)));
    await settle();
    tasks.registerTool('quick', {}, () => text('quick'));
    const quick = await create(tasks, 'quick', guest);
    expect((await tasks.engine.wait(quick, guest)).state.status).toBe('completed');
    gate.resolve();
  });

  it('runs a tool no more often at once than its author allows, and all of it in the end', async () => {
    const { tasks } = fresh({ slots: 16 });
    let now = 0;
    let most = 0;
    tasks.registerTool('narrow', { task: { concurrency: 2 } }, async () => {
      now += 1;
      most = Math.max(most, now);
      await settle(2);
      now -= 1;
      return text('done');
    });
    const all = await Promise.all(Array.from({ length: 20 }, () => create(tasks, 'narrow', LOCAL_PRINCIPAL)));
    for (const taskId of all) await tasks.engine.wait(taskId, LOCAL_PRINCIPAL);
    expect(most).toBe(2);
  });

  it('does not touch tasks of tools it does not have', async () => {
    const { tasks, clock } = fresh({ slots: 0 });
    tasks.registerTool('elsewhere', {}, () => text('x'));
    const taskId = await create(tasks, 'elsewhere', LOCAL_PRINCIPAL);
    clock.advance(60_000);
    await settle();
    const task = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect([task.state.status, task.attempt]).toEqual(['working', 0]);
  });
});
