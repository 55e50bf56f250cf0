import assert from 'node:assert/strict';
import type { AdapterCase } from './adapter-case.ts';
import { bare, hasPush, idempotentStart, lever, method, startsOnce } from './adapter-case.ts';
import { asRecorded, type BareAdapter, says } from './bench.ts';

/** What comes of a job's end is that job's, and only one was started for it. */
async function finishes(on: BareAdapter, job: string, ref: Awaited<ReturnType<BareAdapter['start']>>): Promise<void> {
  const { system } = on.bench;
  await system.finish(job, `${job} is done`);
  const end = await on.ends(job, ref);
  assert.ok(end.state === 'done' && end.outcome === 'ok', `it ended well, told as ${JSON.stringify(end)}`);
  assert.ok(says(end, `${job} is done`), `its result is another: ${JSON.stringify(end)}`);
  assert.equal(await system.started(job), 1, 'it was started more than once');
}

type Known = Awaited<ReturnType<BareAdapter['start']>> | undefined;

/** A ref may tell more than which job it is: when it was started, for example. */
function sameJob(on: BareAdapter, one: Known, other: Known, when?: string): void {
  const { system } = on.bench;
  if (system.sameJob === undefined || one === undefined || other === undefined) assert.deepEqual(one, other, when);
  else assert.ok(system.sameJob(one, other), `one job is known as two: ${JSON.stringify([one, other])} ${when ?? ''}`);
}

/** What an adapter says of itself, and how jobs begin. */
export const startingCases: readonly AdapterCase[] = [
  bare('has the methods for what its caps say', [], async ({ adapter }) => {
    const { kind, caps } = adapter;
    assert.match(kind, /^\S+$/, 'kind: a word');
    assert.ok(['none', 'request', 'force'].includes(caps.cancel), 'caps.cancel');
    assert.ok(['none', 'final', 'live'].includes(caps.logs), 'caps.logs');
    const needed = [
      ['cancel', caps.cancel !== 'none'],
      ['logs', caps.logs !== 'none'],
      ['answer', caps.input],
      ['changed', caps.push],
    ] as const;
    for (const [name, is] of needed) if (is) assert.equal(typeof adapter[name], 'function', `caps need ${name}`);
  }),
  bare('starts a job that goes on without the process that started it', [], async (on) => {
    const ref = await on.begin('a');
    await on.restart();
    await finishes(on, 'a', ref);
  }),
  bare('shows any process where a job stands', [], async (on) => {
    const ref = await on.begin('a');
    for (let process = 0; process < 3; process += 1) {
      await on.works('a', ref);
      await on.restart();
    }
    await finishes(on, 'a', ref);
  }),
  bare('tells jobs apart', [], async (on) => {
    const refs = [await on.begin('a'), await on.begin('b')] as const;
    assert.notDeepEqual(refs[0], refs[1]);
    await finishes(on, 'b', refs[1]);
    await on.restart();
    await on.works('a', refs[0]);
    await finishes(on, 'a', refs[0]);
  }),
  bare('starts a job again for the same call under another key', [idempotentStart], async (on) => {
    await on.begin('a');
    const { system, time } = on.bench;
    const again = await on.context('a', 2);
    await time.during('start', () => on.adapter.start(system.args('a'), again));
    await time.until('a second one was started', async () => (await system.started('a')) === 2);
  }),
  bare('gives one job to all starts with one key, whichever process they come from', [idempotentStart], async (on) => {
    const refs = [await on.start('a'), await on.start('a')];
    await on.restart();
    refs.push(await on.start('a'));
    for (const ref of refs) sameJob(on, ref, refs[0]);
    await finishes(on, 'a', refs[0] ?? null);
    sameJob(on, await on.start('a'), refs[0], 'also when it is over');
    assert.equal(await on.bench.system.started('a'), 1, 'it was started again when it was over');
  }),
  bare('gives one job to two processes that start it at the same time', [idempotentStart], async (on) => {
    const { system, time } = on.bench;
    const other = await on.beside();
    const context = await on.context('a');
    const both = () => Promise.all([on.adapter, other].map((one) => one.start(system.args('a'), context)));
    const [first, second] = (await time.during('start', both)).map(({ ref }) => asRecorded(ref));
    sameJob(on, second, first);
    await finishes(on, 'a', first ?? null);
  }),
  bare('says beforehand what a job will be known by', [method('refOf')], async (on) => {
    const context = await on.context('a');
    const before = on.adapter.refOf?.(context);
    await on.restart();
    assert.deepEqual(await on.start('a'), before);
    await on.restart();
    assert.deepEqual(on.adapter.refOf?.(context), before, 'in another process');
    assert.notDeepEqual(on.adapter.refOf?.(await on.context('b')), before, 'for another key');
    assert.notDeepEqual(on.adapter.refOf?.(await on.context('a', 2)), before, 'for another start');
  }),
  bare('finds a job that a process started and could not record', [method('find')], async (on) => {
    const find = () =>
      on.call('a', 'find', async (adapter, context) => adapter.find?.(on.bench.system.args('a'), context));
    assert.equal(await find(), undefined, 'before it is started');
    const ref = await on.start('a');
    await on.begin('b');
    await on.restart();
    sameJob(on, await find(), ref);
    assert.equal(await on.bench.system.started('a'), 1, 'looking for it started another');
    await finishes(on, 'a', ref);
    sameJob(on, await find(), ref, 'also when it is over');
  }),
  bare('finds nothing that was started under another key', [method('find')], async (on) => {
    await on.begin('a');
    const { system, time } = on.bench;
    const another = await on.context('a', 2);
    const found = await time.during('find', async () => on.adapter.find?.(system.args('a'), another));
    assert.equal(found, undefined);
  }),
  bare(
    'finds or repeats a start whose answer was lost: there is one job',
    [lever('dropStartAnswer'), startsOnce],
    async (on) => {
      const { system, time } = on.bench;
      await system.dropStartAnswer?.();
      const lost = await on.start('a').then(
        () => undefined,
        (error: unknown) => error as { mayHaveStarted?: boolean },
      );
      assert.notEqual(lost?.mayHaveStarted, false, 'it was started, and its error says for certain that it was not');
      await time.until('a was started', async () => (await system.started('a')) > 0);
      await on.restart();
      const find = async () => {
        const args = system.args('a');
        return on.call('a', 'find', async (adapter, context) => adapter.find?.(args, context));
      };
      const found = on.adapter.find === undefined ? undefined : await find();
      await finishes(on, 'a', found === undefined ? await on.start('a') : asRecorded(found));
    },
  ),
  bare('tells of a start that did not arrive, which then can be made again', [lever('refuseStart')], async (on) => {
    const { system } = on.bench;
    await system.refuseStart?.();
    const refused = await on.start('a').then(
      () => undefined,
      (error: unknown) => error,
    );
    // One that tries again by itself, or writes down what it will do, has nothing to tell.
    if (refused !== undefined) {
      assert.equal(await system.started('a'), 0, 'it arrived');
      if (startsOnce({ system, adapter: on.adapter }) !== undefined) {
        const { mayHaveStarted } = refused as { mayHaveStarted?: boolean };
        assert.equal(mayHaveStarted, false, 'mayHaveStarted: nobody else can tell that nothing was started');
      }
    }
    await on.restart();
    await finishes(on, 'a', await on.start('a'));
  }),
  bare('rings when there is news', [hasPush], async (on) => {
    const ref = await on.begin('a');
    await on.restart();
    const { time, system } = on.bench;
    const context = await on.context('a');
    const rung = on.adapter.changed?.(on.known(ref), context);
    await system.finish('a', 'a is done');
    await time.during('a ring', () => rung);
    await on.ends('a', ref);
  }),
];
