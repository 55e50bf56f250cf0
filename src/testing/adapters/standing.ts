import assert from 'node:assert/strict';
import { isJsonObject, type JobEnd, type JsonValue } from '../../core/index.ts';
import { type AdapterCase, bare, canCancel, lever, method } from './adapter-case.ts';
import { asRecorded, type BareAdapter, says } from './bench.ts';

/** Looked at again by others, and by those who would stop it, it is the same. */
async function staysSo(on: BareAdapter, ref: JsonValue, end: JobEnd): Promise<void> {
  asRecorded(end as unknown as JsonValue);
  const look = async (when: string) => assert.deepEqual(await on.ends('a', ref), end, `another end ${when}`);
  await look('at the next look');
  await on.restart();
  await look('for another process');
  if (on.adapter.cancel === undefined) return;
  await on.call('a', 'cancel', async (adapter, context) => adapter.cancel?.(ref, context));
  await look('after it was told to stop, though it was over');
  await on.restart();
  await look('for another process, after it was told to stop');
}

/** How jobs stand and end. */
export const standingCases: readonly AdapterCase[] = [
  bare('tells how a job ended well, and never otherwise afterwards', [], async (on) => {
    const ref = await on.begin('a');
    await on.bench.system.finish('a', 'a is done');
    const end = await on.ends('a', ref);
    assert.ok(end.state === 'done' && end.outcome === 'ok' && says(end, 'a is done'), JSON.stringify(end));
    await staysSo(on, ref, end);
  }),
  bare('tells a job that failed from one that did not', [lever('fail')], async (on) => {
    const ref = await on.begin('a');
    await on.bench.system.fail?.('a', 'no disk');
    const end = await on.ends('a', ref);
    assert.ok(end.state === 'done' && end.outcome === 'error' && says(end, 'no disk'), JSON.stringify(end));
    await staysSo(on, ref, end);
  }),
  bare('tells of a job that somebody cancelled where it ran', [lever('cancel')], async (on) => {
    const ref = await on.begin('a');
    await on.bench.system.cancel?.('a');
    const end = await on.ends('a', ref);
    assert.equal(end.state, 'cancelled', JSON.stringify(end));
    await staysSo(on, ref, end);
  }),
  bare('tells a job that is gone as lost, and does not throw', [lever('vanish')], async (on) => {
    const ref = await on.begin('a');
    await on.bench.system.vanish?.('a');
    const end = await on.ends('a', ref);
    assert.ok(end.state === 'lost' && end.message !== '', JSON.stringify(end));
    assert.doesNotMatch(end.message, /\.\s*$/, 'message: words without a full stop');
    await staysSo(on, ref, end);
  }),
  bare('tells a ref that nobody knows as lost, and does not throw', [], async (on) => {
    const end = await on.ends('a', asRecorded(on.bench.system.unknownRef));
    assert.equal(end.state, 'lost', JSON.stringify(end));
  }),
  bare('stops a job, however often it is told to and by whom', [canCancel, lever('stopped')], async (on) => {
    const { system, time } = on.bench;
    const ref = await on.begin('a');
    const cancel = () => on.call('a', 'cancel', async (adapter, context) => adapter.cancel?.(ref, context));
    await on.restart();
    await cancel();
    await cancel();
    await on.restart();
    await cancel();
    await time.until('a was told to stop', async () => (await system.stopped?.('a')) === true);
    if (on.adapter.caps.cancel !== 'force') return;
    const end = await on.ends('a', ref);
    assert.ok(end.state !== 'done' || end.outcome !== 'ok', `it ended well, though it was made to stop`);
    await cancel();
    assert.deepEqual(await on.ends('a', ref), end);
  }),
  bare('stops no job but the one it is told to', [canCancel, lever('stopped')], async (on) => {
    const { system, time } = on.bench;
    const [ref, other] = [await on.begin('a'), await on.begin('b')];
    await on.call('a', 'cancel', async (adapter, context) => adapter.cancel?.(ref, context));
    await time.until('a was told to stop', async () => (await system.stopped?.('a')) === true);
    await on.works('b', other);
    assert.equal(await system.stopped?.('b'), false);
    await system.finish('b', 'b is done');
    assert.ok(says(await on.ends('b', other), 'b is done'));
  }),
  bare('may be told to stop what is gone, over and released, or never was', [canCancel], async (on) => {
    const { system } = on.bench;
    const ref = await on.begin('a');
    const cancel = (which: JsonValue) =>
      on.call('a', 'cancel', async (adapter, context) => adapter.cancel?.(which, context));
    const release = () => on.call('a', 'release', async (adapter, context) => adapter.release?.(ref, context));
    await cancel(asRecorded(system.unknownRef));
    await system.finish('a', 'a is done');
    await on.ends('a', ref);
    await cancel(ref);
    await release();
    await cancel(ref);
    await on.restart();
    await release();
    await cancel(ref);
    if (system.vanish === undefined) return;
    const gone = await on.begin('b');
    await system.vanish('b');
    await cancel(gone);
  }),
  bare(
    'takes a webhook for a hint, and believes neither it nor a forger',
    [method('webhook'), lever('webhook')],
    async (on) => {
      const { system, time } = on.bench;
      const ref = await on.begin('a');
      const { idempotencyKey } = await on.context('a');
      const hints = async (from: 'system' | 'forger') => {
        const request = (await system.webhook?.('a', from)) as Request;
        return time.during('webhook', async () => (await on.adapter.webhook?.(request)) ?? []);
      };
      const authentic = await hints('system');
      const named = authentic.some((hint) => hint.idempotencyKey === idempotencyKey || same(hint.ref, ref));
      assert.ok(named, `it names the job by ref or idempotencyKey: ${JSON.stringify(authentic)}`);
      assert.deepEqual(await hints('forger'), []);
      await on.works('a', ref); // Whatever the requests said.
    },
  ),
];

/** Of a ref that is an object, a hint has the members that are known. */
function same(hint: unknown, ref: JsonValue): boolean {
  if (hint === undefined) return false;
  if (!isJsonObject(hint) || !isJsonObject(ref)) return JSON.stringify(hint) === JSON.stringify(ref);
  const known = Object.entries(hint);
  return known.length > 0 && known.every(([name, value]) => JSON.stringify(value) === JSON.stringify(ref[name]));
}
