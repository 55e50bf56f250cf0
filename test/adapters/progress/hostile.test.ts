import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProgressReader, type ProgressSeen } from '../../../src/adapters/shell/progress/progress-reader.ts';
import { impossible, printed, type RecordedLine, recorded, recordings, seenIn, stepsIn } from './recorded.ts';

const lines = recordings.flatMap(recorded);
const stream = fc.constantFrom('stdout' as const, 'stderr' as const);

/** Real lines, real lines with a piece replaced, and pieces of what formats are made of in any order. */
const pieces = fc.constantFrom(
  ...[
    'TAP version 13',
    '1..',
    'ok ',
    'not ok ',
    '# SKIP',
    ' RUN  v4.1.12 ',
    ' ✓ ',
    ' × ',
    ' > ',
    ' (3 tests | 1 failed)',
  ],
  ...[
    'PASS ',
    'FAIL ',
    'a.test.js',
    '● ',
    'Tests: ',
    'Tests  ',
    'Test Suites: ',
    '2 failed, ',
    '10 passed',
    ' total',
    '(9)',
  ],
  ...[
    '=====',
    ' test session starts ',
    'collected ',
    ' items',
    '..F.s',
    ' [ 42%]',
    '[gw0] ',
    ' in 1.00s',
    'FAILED ',
    '::',
  ],
  ...[
    '--- FAIL: ',
    '=== RUN   ',
    ' (0.00s)',
    'ok  \t',
    '\t0.1s',
    '{"Action":"pass","Package":"a","Test":"b"}',
    'running ',
  ],
  ...[
    ' tests',
    'test ',
    ' ... ',
    'FAILED',
    'test result: ok. ',
    '1 passed; 2 failed; 0 ignored; 0 measured; ',
    '▶ ',
    '✔ ',
    '✖ ',
  ],
  ...[
    '(1.2345ms)',
    'ℹ tests ',
    'ℹ duration_ms 1',
    '[ 99%] Building ',
    '[1/2] ',
    '[2/2] ',
    'Running 4 tests using 1 worker',
    '::',
  ],
  ...[
    '::progress ',
    '::group::',
    '3/10',
    '1/2',
    '99%',
    '999999999999999',
    '9007199254740993',
    '0',
    '7',
    '  ',
    '\t',
    '\r',
    '\n',
  ],
  ...[
    '\u001b[31m',
    '\u001b[',
    '\u001b]8;;',
    '\u001b',
    '\u0007',
    ' passing (1ms)',
    ' failing',
    '1) ',
    '2) ',
    '😀',
    '\ud83d',
  ],
);
const made: fc.Arbitrary<RecordedLine> = fc.record({
  text: fc.oneof(
    fc
      .array(fc.oneof(pieces, pieces, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 8 })
      .map((all) => all.join('')),
    fc.string({ unit: 'binary' }),
    fc
      .tuple(fc.constantFrom(...lines), fc.nat(80), fc.nat(10), pieces)
      .map(([{ text }, at, cut, piece]) => text.slice(0, at) + piece + text.slice(at + cut)),
  ),
  stream,
});
const output = fc.array(fc.oneof(made, fc.constantFrom(...lines)), { maxLength: 60 });

function unfit({ message, failures, passed, failed, skipped }: ProgressSeen): boolean {
  const texts = [message, ...(failures ?? [])].filter((text) => text !== undefined);
  const counts = [passed, failed, skipped].filter((count) => count !== undefined);
  return (
    texts.some((text) => text.length > 300 || text.length === 0 || /\p{Cc}/u.test(text)) ||
    counts.some((count) => !Number.isSafeInteger(count) || count < 0) ||
    (failures?.length ?? 0) > 20
  );
}

/** Most take microseconds, those of 10 MB a few milliseconds; what grows with the square of 4000 takes more at every try. */
function takesNoTime(work: () => unknown): boolean {
  return Array.from({ length: 10 }).some(() => {
    const started = performance.now();
    work();
    return performance.now() - started < 5;
  });
}

describe('output that is nobody’s friend', () => {
  it('never throws, goes back, exceeds its total, or shows what is long or unprintable', () => {
    fc.assert(
      fc.property(output, (all) => {
        const steps = stepsIn(all);
        expect(impossible(steps)).toEqual([]);
        expect(steps.filter(unfit)).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });

  it('says of no line that it changed nothing when it did', () => {
    fc.assert(
      fc.property(output, (all) => {
        const reader = new ProgressReader();
        let before = reader.seen;
        for (const line of all) {
          const changed = reader.line(line.text, line.stream);
          const after = reader.seen;
          if (!changed) expect(after).toEqual(before);
          before = after;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('sees the same whether or not lines of no meaning come between', () => {
    fc.assert(
      fc.property(fc.constantFrom(...recordings), fc.array(fc.nat(200), { maxLength: 20 }), (name, places) => {
        const plain = recorded(name);
        if (name.startsWith('vitest-dot')) return; // Their lines are cut by what tests print.
        const mixed = plain.flatMap((line, at) =>
          places.includes(at) ? [line, { text: 'Compiling a thing of no meaning', stream: line.stream }] : [line],
        );
        const { failures: _, ...seen } = seenIn(mixed);
        const { failures: __, ...rest } = seenIn(plain);
        expect(seen).toEqual(rest);
      }),
      { numRuns: 200 },
    );
  });

  it('drops numbers that nobody counts to', () => {
    const huge = '999999999999999'; // The most that is taken for a number.
    const text = [
      '1..99999999999999999999',
      ' RUN  v4.1.12 /x',
      ...Array.from({ length: 20 }, () => ` ✓ a.test.ts (${huge} tests) 1ms`),
      `      Tests  ${huge} passed (${huge})`,
      'running 99999999999999999999 tests',
      ...Array.from({ length: 20 }, () =>
        [`running ${huge} tests`, `test result: ok. ${huge} passed; ${huge} failed; 0 ignored; 0 measured; 0`].join(
          '\n',
        ),
      ),
    ].join('\n');
    const steps = stepsIn(printed(text));
    expect(steps.length).toBeGreaterThan(10);
    expect(impossible(steps)).toEqual([]);
    expect(steps.filter(unfit)).toEqual([]);
  });

  it('keeps 20 names of 1000 failures, and counts them all', () => {
    const failing = Array.from({ length: 1000 }, (_, at) => `not ok ${at + 1} - ${'long '.repeat(200)}${at}`);
    const seen = seenIn(printed(['TAP version 13', '1..1000', ...failing].join('\n')));
    expect(seen).toMatchObject({ progress: { progress: 1000, total: 1000 }, failed: 1000 });
    expect(seen.failures?.length).toBe(1); // They are the same within the length that is kept.
    const short = Array.from({ length: 1000 }, (_, at) => `not ok ${at + 1} - number ${at}`);
    expect(seenIn(printed(['1..1000', ...short].join('\n'))).failures).toHaveLength(20);
  });

  it('takes no longer for lines that were made to take long', () => {
    const fill = (text: string, begin = '', end = '') => begin + text.repeat(Math.floor(4000 / text.length)) + end;
    const evil = [
      ...[
        '[',
        '(',
        ' (',
        ' > ',
        ' ',
        '\t',
        '=',
        '= ',
        '.',
        'F',
        '1',
        '1 passed, ',
        ' #',
        '\\#',
        ' - ',
        ' ... ',
        ' ✓ ',
      ].flatMap((text) => [
        fill(text),
        fill(text, 'ok 1 '),
        fill(text, ' ✓ a', '!'),
        fill(text, 'test '),
        fill(text, 'FAILED '),
      ]),
      ...[
        '(1.1ms)',
        ' (1ms',
        '[ 1%',
        ' [1/',
        '(1 tests | ',
        ' | 1 failed',
        '"Action":"',
        ' PASSED (',
        ' passed; ',
      ].flatMap((text) => [
        fill(text),
        fill(text, '✔ '),
        fill(text, ' ✓ '),
        fill(text, '{"'),
        fill(text, 'tests/a.py ', ' [ 42%]'),
      ]),
      ...['\u001b', '\u001b[', '\u001b]', '\u001b]8;;\u001b', '\u001b[;', '\r', ' \r'].flatMap((text) => [
        fill(text),
        fill(text, '1..9'),
        fill(text, '', ' RUN  v4.1.12'),
      ]),
      `ok 1 ${'x'.repeat(10_000_000)}`,
      `${'\u001b[31m'.repeat(2_000_000)}ok`,
      `${'50%\r'.repeat(2_000_000)}ok`,
    ];
    let slow: string | undefined; // One is enough: a second may take minutes.
    for (const name of recordings) {
      const reader = new ProgressReader();
      seenIn(recorded(name).slice(0, 12), reader);
      for (const text of evil) {
        slow ??= takesNoTime(() => reader.line(text, 'stdout')) ? undefined : `${name}: ${text.slice(0, 20)}`;
      }
    }
    expect(slow).toBeUndefined();
  });
});
