import { describe, expect, it } from 'vitest';
import { impossible, printed, recorded, recordings, seenIn, stepsIn } from './recorded.ts';

describe('what is no progress', () => {
  it.each([
    '3/4 of users',
    '[3/4] of users agree',
    '[1/2] see footnote\nprose between\n[1/2] see footnote',
    '[3/4] one\n[1/4] other',
    '42% done\n43% done',
    '[ 42%] of the budget\n[ 43%] of the budget',
    'ok 1 was fine\nnothing else',
    'ok 7\nok 8',
    'ok\nok\nok',
    'not ok\nok then',
    '1..10\nis a range',
    '1..10\nok 3',
    'running 3 tests\nand then we were done',
    'test the water ... ok',
    'PASS\nFAIL\nok',
    'PASS the salt\nFAIL early',
    'FAIL\tis a word',
    'ok  \tfine\twhatever',
    'Tests: 3 failed, 4 total',
    'Tests  3 failed (4)',
    '✓ 34 modules transformed.\n✓ built in 2.1s',
    '✔ Installed\n✔ Linked\n✔ Done',
    '  ✔ Installed\n  ✔ Linked\n  ✔ Done\n  - left over',
    'Title\n\n  ✔ Installed\n  ✔ Linked',
    '✔ compiled (12ms)\n✖ linked (3ms)',
    '✔ compiled (12.345ms)\nℹ tests follow',
    '===== 3 apples in 2 bags =====',
    '===== FAILURES =====\nFAILED tests/a.py::b - x',
    '3 passed\n1 failed',
    '3 passed by in 1.00s of time',
    'Error at [ 42%]\n. [ 42%]',
    '{"Action":"pass"}\n{"Action":"run","Package":1}\n{"broken',
    '5 passing\n  5 passing thoughts',
    'Running 4 tests using hope',
    '  ✓  1 a.spec.js:2:37 › adds (1ms)',
    'TAP version unknown\n  TAP version 13',
    'Bail out!',
  ])('does not see any in %j', (text) => {
    expect(stepsIn(printed(text))).toEqual([]);
    expect(seenIn(printed(text))).toEqual({});
  });

  it('takes what tests print for no report of another program', () => {
    // In each of these a test prints lines of TAP, and most print a step of a build.
    for (const name of ['vitest', 'vitest-verbose', 'jest', 'jest-verbose', 'node-spec', 'go-verbose']) {
      expect(new Set(stepsIn(recorded(name)).map(({ format }) => format)).size).toBe(1);
    }
  });

  it('listens to others again when a run falls silent for a thousand lines', () => {
    const died = recorded('vitest').slice(0, 8);
    const silence = (lines: number) => printed('nothing\n'.repeat(lines).trimEnd());
    expect(seenIn([...died, ...silence(500), ...recorded('ctest')])).toMatchObject({ format: 'vitest' });
    expect(seenIn([...died, ...silence(1000), ...recorded('ctest')])).toMatchObject({ format: 'ctest' });
  });
});

describe('lines on their way', () => {
  it('reads CRLF line ends and bars that are drawn over', () => {
    for (const name of recordings) {
      const plain = recorded(name);
      const returned = plain.map((line) => ({ ...line, text: `${line.text}\r` }));
      const overdrawn = plain.map((line) => ({ ...line, text: line.text && `  1%\r::progress 1/2\r${line.text}` }));
      expect(seenIn(returned)).toEqual(seenIn(plain));
      expect(seenIn(overdrawn)).toEqual(seenIn(plain));
    }
  });

  it('reads streams that arrive in another order', () => {
    // What is written to stderr and stdout is read from two pipes.
    for (const name of ['vitest', 'vitest-color', 'vitest-1', 'vitest-projects', 'go', 'go-verbose']) {
      const lines = recorded(name);
      const [late, soon] = ['stdout', 'stderr'].map((stream) => lines.filter((line) => line.stream === stream));
      const plain = seenIn(lines);
      for (const order of [[...(late ?? []), ...(soon ?? [])]]) {
        const { failures, ...seen } = seenIn(order);
        const { failures: expected, ...rest } = plain;
        expect(seen).toEqual(rest);
        expect([...(failures ?? [])].sort()).toEqual([...(expected ?? [])].sort());
      }
    }
  });
});

describe('the Test Anything Protocol', () => {
  it.each([
    ['a plan first', '1..3\nok 1 - a\nnot ok 2 - b\nok 3', { progress: 3, total: 3 }],
    ['a plan last', 'TAP version 14\nok\nnot ok b\nok\n1..3', { progress: 3, total: 3 }],
    ['no plan', 'ok 1 - a\nnot ok 2 - b\nok 3', { progress: 3 }],
  ])('reads %s', (_, text, progress) => {
    expect(seenIn(printed(text))).toMatchObject({ progress, passed: 2, failed: 1, failures: ['b'], format: 'tap' });
  });

  it('reads directives, escapes and tests without a name', () => {
    const text = [
      'TAP version 13',
      '1..7',
      'ok 1 - a # SKIP no network',
      'not ok 2 - b # todo later',
      'ok 3 - c # TODO',
      'not ok 4 - d \\# todo \\\\ e',
      'not ok 5',
      'ok 6 - f #skipped',
      'not ok 7 - g # time=3ms',
    ].join('\n');
    expect(seenIn(printed(text))).toEqual({
      progress: { progress: 7, total: 7 },
      phase: 1,
      message: '3 failed, 4 skipped',
      failures: ['d # todo \\ e', 'test 5', 'g'],
      failed: 3,
      skipped: 4,
      format: 'tap',
    });
  });

  it('says where it was bailed out, and drops a plan that was not kept', () => {
    expect(seenIn(printed('TAP version 13\n1..3\nok 1\nBail out! no disk'))).toMatchObject({
      progress: { progress: 1, total: 3 },
      message: 'bailed out: no disk, 1 passed',
    });
    expect(seenIn(printed('1..1\nok 1\nok 2\nok 3')).progress).toEqual({ progress: 3 });
  });

  it('leaves what is told about a test alone', () => {
    const text = 'TAP version 14\n1..2\nnot ok 1 - a\n  ---\n  not ok 9 - quoted\n  ...\nok 2 - b';
    expect(seenIn(printed(text))).toMatchObject({ passed: 1, failed: 1, failures: ['a'] });
  });

  it('knows a failing part before the whole has ended, and takes it back where it was excused', () => {
    const begin = 'TAP version 14\n# Subtest: a\n    not ok 1 - b';
    expect(seenIn(printed(begin)).failures).toEqual(['b']);
    expect(seenIn(printed(`${begin}\n    1..1\nnot ok 1 - a`)).failures).toEqual(['a > b']);
    expect(seenIn(printed(`${begin}\n    1..1\nnot ok 1 - a # TODO`)).failures).toBeUndefined();
  });

  it('begins again with a second program', () => {
    const steps = stepsIn(printed('1..2\nok 1\nok 2\n1..3\nok 1\nok 2\nok 3'));
    expect(steps.at(-1)).toMatchObject({ progress: { progress: 3, total: 3 }, phase: 2, passed: 5 });
    expect(impossible(steps)).toEqual([]);
  });
});

describe('reports in pieces', () => {
  it('sees a run of node --test that has one test, and a second run', () => {
    const one = '✔ adds (0.503216ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ duration_ms 4.2';
    expect(seenIn(printed(one))).toMatchObject({ progress: { progress: 1, total: 1 }, passed: 1, format: 'node-test' });
    expect(seenIn(printed(`${one}\n${one}`))).toMatchObject({
      progress: { progress: 1, total: 1 },
      passed: 2,
      phase: 2,
    });
  });

  it('reads what go test adds about coverage, caches and packages without tests', () => {
    const text = [
      '\texample.com/a\t\tcoverage: 0.0% of statements',
      'ok  \texample.com/b\t0.003s\tcoverage: 50.0% of statements',
      'ok  \texample.com/c\t(cached)\tcoverage: 50.0% of statements [no tests to run]',
      '?   \texample.com/d\t[no test files]',
      'panic: of a test',
      'FAIL\texample.com/e\t12.345s',
      'FAIL\texample.com/f [setup failed]',
      'FAIL',
    ].join('\n');
    expect(seenIn(printed(text))).toEqual({
      progress: { progress: 4 },
      phase: 1,
      message: '2 packages passed, 2 failed',
      failures: ['example.com/e', 'example.com/f [setup failed]'],
      passed: 2,
      failed: 2,
      format: 'go-test',
    });
  });

  it('counts all failures of jest once, though many are told twice', () => {
    const failing = (file: string) => [`FAIL ${file}`, '  ● sums › adds', '', '    expect(1).toBe(2)', ''];
    const text = [
      ...failing('a.test.js'),
      ...['PASS b.test.js (5.1 s)', 'PASS c.test.js (8 s, 150 MB heap size)'],
      ...['Summary of all failing tests', ...failing('a.test.js')],
      ...['Test Suites: 1 skipped, 1 failed, 2 passed, 3 of 4 total', 'Tests:       1 failed, 9 passed, 10 total'],
    ];
    expect(seenIn(printed(text.slice(0, -2).join('\n')))).toMatchObject({
      progress: { progress: 3 },
      message: '3 files, 1 failed',
      failures: ['sums › adds'],
    });
    expect(seenIn(printed(text.join('\n')))).toMatchObject({
      progress: { progress: 4, total: 4 },
      message: '9 passed, 1 failed',
    });
  });

  it('follows a build that learns how much there is to do, and one that is made twice', () => {
    const ninja = stepsIn(printed('[1/9] CXX a\n[2/9] CXX b\n[3/8] CXX c\n[8/8] LINK d\n[1/2] CXX e\n[2/2] LINK f'));
    expect(ninja.map(({ progress, phase }) => [phase, progress?.progress, progress?.total])).toEqual([
      [1, 2, 9],
      [1, 3, 8],
      [1, 8, 8],
      [2, 1, 2],
      [2, 2, 2],
    ]);
    const make = '[ 50%] Building C object a.o\n[ 40%] Building C object b.o\n[100%] Built target a\n';
    expect(impossible(stepsIn(printed(make + make)))).toEqual([]);
    expect(seenIn(printed(make + make))).toMatchObject({ progress: { progress: 100, total: 100 }, phase: 2 });
  });

  it('counts what pytest without a headline prints in percent, and stops where it stopped', () => {
    const dots = '.'.repeat(72);
    expect(seenIn(printed(`${dots} [  4%]\n${dots.slice(1)}F\n1 failed, 143 passed in 0.29s`))).toMatchObject({
      progress: { progress: 4, total: 100 },
      message: '143 passed, 1 failed',
    });
    expect(seenIn(printed('no tests ran in 0.01s'))).toMatchObject({ passed: 0, failed: 0, format: 'pytest' });
  });
});
