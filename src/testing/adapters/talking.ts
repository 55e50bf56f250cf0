import assert from 'node:assert/strict';
import type { JobSnapshot, JsonValue } from '../../core/index.ts';
import { type AdapterCase, bare, hasLogs, lever, liveLogs, takesInput } from './adapter-case.ts';
import { asRecorded, type BareAdapter, isEnd } from './bench.ts';
import { FORM, LINES, YES } from './forms.ts';

/** One page after the other from a cursor, until nothing follows or there are enough. */
async function read(
  on: BareAdapter,
  ref: JsonValue,
  from: string | undefined,
  until: (lines: readonly string[], eof: boolean) => boolean,
): Promise<{ lines: string[]; cursor: string | undefined }> {
  const lines: string[] = [];
  let cursor = from;
  const page = async (): Promise<boolean> => {
    const read = await on.call('a', 'logs', async (adapter, context) => adapter.logs?.(on.known(ref), cursor, context));
    assert.ok(
      read !== undefined && typeof read.cursor === 'string',
      'a page has lines, a cursor that is a string, and eof',
    );
    lines.push(...read.lines.map(({ text }) => text));
    cursor = asRecorded(read.cursor);
    return until(lines, read.eof);
  };
  await on.bench.time.until('the log can be read', page, () => lines);
  return { lines, cursor };
}

/** Of the job's own making: an adapter may add lines of its own. */
const own = (lines: readonly string[], written: readonly string[]): string[] =>
  lines.filter((line) => written.includes(line));

const has = (written: readonly string[]) => (lines: readonly string[]) => own(lines, written).length >= written.length;

const openOf = (snapshot: JobSnapshot): readonly string[] =>
  snapshot.state === 'input' && snapshot.questions !== undefined ? Object.keys(snapshot.questions) : [];

/** The key under which the one open question is asked. */
function asks(on: BareAdapter, ref: JsonValue): Promise<{ key: string; message: string | undefined }> {
  return on.bench.time.until('a asks', async () => {
    const snapshot = await on.poll('a', ref);
    if (isEnd(snapshot)) assert.fail(`it waits for an answer, but is told as ${JSON.stringify(snapshot)}`);
    const [key, ...more] = openOf(snapshot);
    if (key === undefined) return undefined;
    assert.deepEqual(more, [], 'it asks one question');
    const question = snapshot.state === 'input' ? snapshot.questions?.[key] : undefined;
    return { key, message: question?.kind === 'form' ? question.message : undefined };
  });
}

/** What jobs write and ask. */
export const talkingCases: readonly AdapterCase[] = [
  bare(
    'reads a log on where another process stopped: every line once, in order',
    [liveLogs, lever('log')],
    async (on) => {
      const { system } = on.bench;
      const ref = await on.begin('a');
      await system.log?.('a', LINES.slice(0, 4));
      const first = await read(on, ref, undefined, has(LINES.slice(0, 4)));
      await on.restart();
      await system.log?.('a', LINES.slice(4));
      const second = await read(on, ref, first.cursor, has(LINES.slice(4)));
      await on.restart();
      await system.finish('a', 'a is done');
      await on.ends('a', ref);
      const rest = await read(on, ref, second.cursor, (_lines, eof) => eof);
      assert.deepEqual(own([...first.lines, ...second.lines, ...rest.lines], LINES), LINES);
    },
  ),
  bare('reads the same from the same cursor, also when there is more by now', [liveLogs, lever('log')], async (on) => {
    const { system } = on.bench;
    const ref = await on.begin('a');
    await system.log?.('a', ['one', 'two']);
    const first = await read(on, ref, undefined, has(['one', 'two']));
    await system.log?.('a', ['three']);
    const then = await read(on, ref, first.cursor, has(['three']));
    await on.restart();
    const again = await read(on, ref, first.cursor, has(['three']));
    assert.deepEqual(own(again.lines, ['one', 'two', 'three']), own(then.lines, ['one', 'two', 'three']));
    const all = await read(on, ref, undefined, has(['one', 'two', 'three']));
    assert.deepEqual(own(all.lines, ['one', 'two', 'three']), ['one', 'two', 'three'], 'from the beginning');
  }),
  bare(
    'says of a log that nothing follows once its job is over and all of it was read',
    [hasLogs, lever('log')],
    async (on) => {
      const { system } = on.bench;
      const ref = await on.begin('a');
      if (on.adapter.caps.logs === 'live') {
        const page = await on.call('a', 'logs', async (adapter, context) =>
          adapter.logs?.(on.known(ref), undefined, context),
        );
        assert.equal(page?.eof, false, 'the job works, so lines may follow');
      }
      await system.log?.('a', LINES);
      await system.finish('a', 'a is done');
      await on.ends('a', ref);
      await on.restart();
      const whole = await read(on, ref, undefined, (_lines, eof) => eof);
      assert.deepEqual(own(whole.lines, LINES), LINES);
      const after = await read(on, ref, whole.cursor, (_lines, eof) => eof);
      assert.deepEqual(after.lines, [], 'behind the end');
    },
  ),
  bare('shows what a job asks, under one key to all', [takesInput, lever('ask')], async (on) => {
    const ref = await on.begin('a');
    await on.bench.system.ask?.('a', FORM);
    const first = await asks(on, ref);
    assert.ok(first.message?.includes(FORM.message), `it asks ${first.message}`);
    await on.restart();
    assert.deepEqual(await asks(on, ref), first);
  }),
  bare('hands an answer over once, however often that is tried', [takesInput, lever('ask', 'answers')], async (on) => {
    const { system, time } = on.bench;
    const ref = await on.begin('a');
    await system.ask?.('a', FORM);
    const { key } = await asks(on, ref);
    const answer = () =>
      on.call('a', 'answer', async (adapter, context) => adapter.answer?.(on.known(ref), key, YES, context));
    await on.restart();
    await answer();
    await answer();
    await time.until('a has its answer', async () => ((await system.answers?.('a')) ?? []).length > 0);
    await on.restart();
    await answer();
    await on.stands('a', ref, 'asks no more', (snapshot) => {
      if (isEnd(snapshot)) assert.fail(`it works, but is told as ${JSON.stringify(snapshot)}`);
      return !openOf(snapshot).includes(key) && snapshot;
    });
    await answer(); // Who tried before and died does not know.
    assert.deepEqual(await system.answers?.('a'), [YES]);
    await system.finish('a', 'a is done');
    await on.ends('a', ref);
    await answer().catch(notForGood);
  }),
  bare(
    'needs nothing of the process before, at any step',
    [liveLogs, takesInput, lever('log', 'ask', 'answers')],
    async (on) => {
      const { system, time } = on.bench;
      const ref = await on.begin('a');
      await on.restart();
      await system.log?.('a', ['one']);
      const first = await read(on, ref, undefined, has(['one']));
      await on.restart();
      await system.ask?.('a', FORM);
      const { key } = await asks(on, ref);
      await on.restart();
      await on.call('a', 'answer', async (adapter, context) => adapter.answer?.(on.known(ref), key, YES, context));
      await on.restart();
      await time.until('a has its answer', async () => ((await system.answers?.('a')) ?? []).length > 0);
      await system.log?.('a', ['two']);
      await on.restart();
      const second = await read(on, ref, first.cursor, has(['two']));
      assert.deepEqual(own(second.lines, ['one', 'two']), ['two']);
      await on.restart();
      await system.finish('a', 'a is done');
      await on.ends('a', ref);
      await on.restart();
      await on.call('a', 'cancel', async (adapter, context) => adapter.cancel?.(on.known(ref), context));
      await on.restart();
      await on.call('a', 'release', async (adapter, context) => adapter.release?.(on.known(ref), context));
      assert.equal(await system.started('a'), 1);
    },
  ),
];

/** Nobody waits for it any more: it may be refused, but not so that it is tried for ever. */
function notForGood(error: unknown): void {
  assert.equal(
    (error as Error).name,
    'NonRetryableError',
    `answers to a job that is over are tried for ever: ${error}`,
  );
}
