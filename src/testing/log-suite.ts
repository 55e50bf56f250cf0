import assert from 'node:assert/strict';
import type { LogEntry, TaskStore } from '../store/index.ts';
import { createAndClaim, MALLORY, type OpenStore, onStore } from './on-store.ts';
import type { SuiteCase } from './suite.ts';

const line = (text: string, at = 1): LogEntry => ({ level: 'info', text, at });

/** The whole log, page by page. */
async function readAll(store: TaskStore, taskId: string, limitBytes: number, cursor = 0) {
  const lines = [];
  for (;;) {
    const page = await store.readLog(taskId, cursor, limitBytes);
    assert.ok(page, 'no such task');
    assert.ok(page.atEnd || page.cursor > cursor, 'a page that leads nowhere');
    lines.push(...page.lines);
    cursor = page.cursor;
    if (page.atEnd) return { lines, cursor };
  }
}

const texts = (lines: readonly LogEntry[]): string[] => lines.map(({ text }) => text);

/** What every store promises about logs. */
export const logSuite: readonly SuiteCase<OpenStore>[] = [
  onStore('reads a log in pages of whole lines, whatever their size', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const logged: string[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      const entries = Array.from({ length: 7 }, (_, n) => line(`${batch}.${n} ${'ü'.repeat(n * 30)}`));
      logged.push(...texts(entries));
      assert.equal(await store.appendLog(lease, entries), 'applied');
    }
    for (const limitBytes of [1, 100, 1_000, 1_000_000]) {
      const { lines } = await readAll(store, lease.taskId, limitBytes);
      assert.deepEqual(texts(lines), logged, `pages of ${limitBytes}`);
    }
    const page = await store.readLog(lease.taskId, 0, 1_000);
    assert.ok(Buffer.byteLength(texts(page?.lines ?? []).join('')) <= 1_000);
  }),
  onStore('goes on reading where it stopped, while the log grows', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    assert.deepEqual(await store.readLog(lease.taskId, 0, 100), { lines: [], cursor: 0, atEnd: true });
    await store.appendLog(lease, [line('one'), line('two')]);
    const first = await store.readLog(lease.taskId, 0, 100);
    assert.deepEqual(texts(first?.lines ?? []), ['one', 'two']);
    const cursor = first?.cursor ?? 0;
    assert.deepEqual(await store.readLog(lease.taskId, cursor, 100), { lines: [], cursor, atEnd: true });
    await store.appendLog(lease, [line('three')]);
    assert.deepEqual(texts((await store.readLog(lease.taskId, cursor, 100))?.lines ?? []), ['three']);
  }),
  onStore('counts a negative cursor from the end, and begins with a whole line', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    for (let n = 0; n < 100; n += 1) await store.appendLog(lease, [line(`line ${n}`), line(`and ${n}`)]);
    const { lines } = await readAll(store, lease.taskId, 1_000, -300);
    assert.ok(lines.length > 3 && lines.length < 20, `${lines.length} lines`);
    assert.ok(lines.every(({ dropped }) => dropped === undefined));
    assert.equal(lines.at(-1)?.text, 'and 99');
    const all = await readAll(store, lease.taskId, 1_000, -1_000_000);
    assert.equal(all.lines.length, 200, 'more than there is');
  }),
  onStore('is not put off by any cursor', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    await store.appendLog(lease, [line('one'), line('two')]);
    const end = (await store.readLog(lease.taskId, 0, 1_000))?.cursor ?? 0;
    for (const cursor of [end, end + 1, Number.MAX_SAFE_INTEGER]) {
      assert.deepEqual(await store.readLog(lease.taskId, cursor, 1_000), { lines: [], cursor: end, atEnd: true });
    }
    for (let cursor = 1; cursor < end; cursor += 1) {
      const page = await store.readLog(lease.taskId, cursor, 1_000);
      assert.ok(page?.atEnd && page.lines.length <= 1, `from ${cursor}`);
    }
    assert.equal(await store.readLog('tsk_unknown', 0, 1_000), undefined);
  }),
  onStore('keeps whatever can be in a string', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const odd = [
      '',
      'NUL \u0000 inside',
      'two\nlines\r\n',
      'half a pair \ud83d.',
      '\u{1f600}',
      '\u2028"\\',
      '\u001b[31mred',
    ];
    await store.appendLog(
      lease,
      odd.map((text) => line(text)),
    );
    assert.deepEqual(texts((await readAll(store, lease.taskId, 10)).lines), odd);
  }),
  onStore('keeps where a process wrote a line, and nothing where none did', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const written: LogEntry[] = [
      { ...line('\u001b[32mok\u001b[39m'), stream: 'stdout' },
      { ...line('careful'), stream: 'stderr' },
      line('logged'),
      { level: 'error', text: '', at: 2, stream: 'stdout' },
    ];
    await store.appendLog(lease, written);
    assert.deepEqual((await readAll(store, lease.taskId, 60)).lines, written);
  }),
  onStore('cuts a line that is too long, and says by how much', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const size = 20 * 1024 * 1024;
    await store.appendLog(lease, [line('before'), line('é'.repeat(size / 2)), line('after')]);
    const [before, long, after] = (await readAll(store, lease.taskId, 1_000_000)).lines;
    assert.deepEqual([before?.text, after?.text], ['before', 'after']);
    const [, kept = '', dropped] =
      /^(é+) … \((\d+) more bytes of this line were dropped\)$/.exec(long?.text ?? '') ?? [];
    assert.equal(Buffer.byteLength(kept) + Number(dropped), size);
    assert.ok(Buffer.byteLength(long?.text ?? '') <= 64 * 1024);
  }),
  onStore('keeps head and tail of a log that grows too large, and says what is missing', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const maxBytes = 16 * 1024;
    const entry = (n: number): LogEntry => line(`line ${n} ${'.'.repeat(50)}`, n);
    const total = 4_000;
    let early: number | undefined;
    for (let n = 0; n < total; n += 40) {
      const entries = Array.from({ length: 40 }, (_, i) => entry(n + i));
      assert.equal(await store.appendLog(lease, entries, maxBytes), 'applied');
      early ??= (await store.readLog(lease.taskId, 0, 1_000))?.cursor;
    }
    const { lines, cursor } = await readAll(store, lease.taskId, 4_096);
    const gap = lines.findIndex(({ dropped }) => dropped !== undefined);
    assert.equal(lines.filter(({ dropped }) => dropped !== undefined).length, 1);
    assert.match(lines[gap]?.text ?? '', new RegExp(`${lines[gap]?.dropped} bytes of the log were dropped here`));
    assert.deepEqual(
      lines.slice(0, gap),
      lines.slice(0, gap).map((_, n) => entry(n)),
      'the head is what was logged first',
    );
    const tail = lines.slice(gap + 1);
    assert.deepEqual(
      tail,
      tail.map((_, n) => entry(total - tail.length + n)),
      'the tail is what was logged last',
    );
    const keptBytes = cursor - (lines[gap]?.dropped ?? 0);
    assert.ok(keptBytes > maxBytes * 0.75 && keptBytes < maxBytes * 1.1, `${keptBytes} bytes kept`);
    // Where a reader stood before anything was dropped is still the same place, and so is one in what is gone.
    const again = await readAll(store, lease.taskId, 4_096, early);
    assert.equal(again.lines[0]?.text, lines.find((_, n) => n > 0 && n === lines.length - again.lines.length)?.text);
    const inGap = await store.readLog(lease.taskId, Math.floor(cursor / 2), 100);
    assert.ok((inGap?.lines[0]?.dropped ?? 0) > 0);
  }),
  onStore('has no log for a task that is gone, and no lines of another task', async ({ store, clock }) => {
    const one = await createAndClaim(store, { ttlMs: 10_000 });
    const other = await createAndClaim(store, { principal: MALLORY });
    await store.appendLog(one.lease, [line('mine')]);
    await store.appendLog(other.lease, [line('yours')]);
    assert.deepEqual(texts((await readAll(store, one.lease.taskId, 100)).lines), ['mine']);
    clock.advance(10_000);
    const expired = { status: 'failed', error: { code: -32603, message: 'expired' } } as const;
    await store.sweep(10, expired, 0);
    await store.sweep(10, expired, 0);
    assert.equal(await store.readLog(one.lease.taskId, 0, 100), undefined);
    assert.deepEqual(texts((await readAll(store, other.lease.taskId, 100)).lines), ['yours']);
  }),
];
