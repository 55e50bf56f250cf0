import { describe, expect, it } from 'vitest';
import type { ProgressSeen } from '../../../src/adapters/shell/progress/progress-reader.ts';
import { impossible, recorded, recordings, seenIn, stepsIn } from './recorded.ts';

// All recordings are real output; `recordings/README.md` says whose.

const vitest: ProgressSeen = {
  progress: { progress: 17, total: 17 },
  message: '10 passed, 3 failed, 4 skipped',
  passed: 10,
  failed: 3, // With the file that could not be loaded.
  skipped: 4,
  format: 'vitest',
};
const vitestFailures = [
  'test/broken.test.js',
  'test/calc.test.js > calculator > adds > big numbers',
  'test/text.test.js > text > trims',
];
const jest: ProgressSeen = {
  progress: { progress: 4, total: 4 }, // Files.
  message: '10 passed, 3 failed, 2 skipped',
  failures: ['__tests__/broken.test.js', 'calculator › adds › big numbers', 'text › trims'],
  passed: 10,
  failed: 3,
  skipped: 2,
  format: 'jest',
};
const mocha: ProgressSeen = {
  progress: { progress: 10, total: 10 },
  message: '5 passed, 3 failed, 2 skipped',
  failures: ['calculator > adds > big numbers', 'text > hooks > "before all" hook for "never"', 'text > trims'],
  passed: 5,
  failed: 3,
  skipped: 2,
  format: 'mocha',
};
const nodeSpec: ProgressSeen = {
  progress: { progress: 13, total: 13 },
  message: '6 passed, 4 failed, 3 skipped',
  failures: ['calculator > adds > big numbers', 'parent # with hash > child two', 'trims'],
  passed: 6,
  failed: 4, // Counts the test whose part failed.
  skipped: 3,
  format: 'node-test',
};
const playwright: ProgressSeen = {
  progress: { progress: 4, total: 4 },
  message: '2 passed, 1 failed, 1 skipped',
  failures: ['tests/calc.spec.js:2:61 › calculator › big numbers'],
  passed: 2,
  failed: 1,
  skipped: 1,
  format: 'playwright',
};
const pytest: ProgressSeen = {
  progress: { progress: 40, total: 40 },
  message: '35 passed, 3 failed, 2 skipped',
  failures: [
    'tests/test_calc.py::TestAdds::test_big',
    'tests/test_text.py::test_errors',
    'tests/test_text.py::test_trims[a b]',
  ],
  passed: 35, // With the one that was expected to fail.
  failed: 3, // With the one whose fixture failed.
  skipped: 2,
  format: 'pytest',
};
const goTests: ProgressSeen = {
  progress: { progress: 6 },
  message: '3 passed, 2 failed, 1 skipped',
  failures: ['TestAdds/big_numbers', 'example.com/calc/broken [build failed]'],
  passed: 3,
  failed: 2,
  skipped: 1,
  format: 'go-test',
};
const cargo: ProgressSeen = {
  progress: { progress: 7, total: 7 },
  message: '5 passed, 1 failed, 1 skipped',
  failures: ['tests::adds_big'],
  passed: 5,
  failed: 1,
  skipped: 1,
  format: 'cargo',
};

/** What is seen in the end; the failures sorted, as tests run side by side. */
const ends: Record<string, ProgressSeen> = {
  vitest: { ...vitest, failures: vitestFailures },
  'vitest-color': { ...vitest, failures: vitestFailures },
  'vitest-1': { ...vitest, failures: vitestFailures },
  'vitest-dot': { ...vitest, failures: vitestFailures },
  'vitest-dot-color': { ...vitest, failures: vitestFailures },
  'vitest-verbose': { ...vitest, failures: vitestFailures },
  'vitest-verbose-color': { ...vitest, failures: vitestFailures },
  'vitest-projects': {
    ...vitest,
    progress: { progress: 14, total: 14 },
    message: '10 passed, 2 failed, 2 skipped',
    failures: ['|slow| test/text.test.js > text > trims', '|unit| test/calc.test.js > calculator > adds > big numbers'],
    failed: 2,
    skipped: 2,
  },
  'vitest-projects-color': {
    ...vitest,
    progress: { progress: 14, total: 14 },
    message: '10 passed, 2 failed, 2 skipped',
    failures: ['slow test/text.test.js > text > trims', 'unit test/calc.test.js > calculator > adds > big numbers'],
    failed: 2,
    skipped: 2,
  },
  'vitest-tap': { ...vitest, failures: vitestFailures, format: 'tap' },
  jest,
  'jest-color': jest,
  'jest-verbose': jest,
  'jest-verbose-color': jest,
  mocha,
  'mocha-color': mocha,
  'mocha-dot': mocha,
  'mocha-tap': {
    ...mocha,
    failures: ['calculator adds big numbers', 'text hooks "before all" hook for "never"', 'text trims'],
    format: 'tap',
  },
  'node-spec': nodeSpec,
  'node-spec-color': nodeSpec,
  'node-spec-24': nodeSpec,
  // Only what is at the margin: two suites, a test with parts, five tests.
  'node-tap': {
    ...nodeSpec,
    progress: { progress: 8, total: 8 },
    message: '3 passed, 3 failed, 2 skipped',
    passed: 3,
    failed: 3,
    skipped: 2,
    format: 'tap',
  },
  'perl-tap': {
    progress: { progress: 4, total: 4 },
    message: '1 passed, 2 failed, 1 skipped',
    failures: ['inner > child', 'trims'],
    passed: 1,
    failed: 2,
    skipped: 1,
    format: 'tap',
  },
  'playwright-list': playwright,
  'playwright-line': playwright,
  'playwright-dot': playwright,
  pytest,
  'pytest-color': pytest,
  'pytest-verbose': pytest,
  'pytest-verbose-color': pytest,
  'pytest-xdist': pytest,
  'pytest-xdist-verbose': pytest,
  'pytest-xdist-verbose-color': pytest,
  'pytest-count': pytest,
  'pytest-quiet': { ...pytest, progress: { progress: 100, total: 100 } }, // It never says how many there are.
  'pytest-selected': {
    progress: { progress: 31, total: 31 },
    message: '31 passed',
    passed: 31,
    failed: 0,
    skipped: 0,
    format: 'pytest',
  },
  // Packages.
  go: {
    progress: { progress: 3 },
    message: '1 package passed, 2 failed',
    failures: goTests.failures ?? [],
    passed: 1,
    failed: 2,
    format: 'go-test',
  },
  'go-verbose': goTests,
  'go-json': goTests,
  'go-verbose-cached': { progress: { progress: 2 }, message: '2 passed', passed: 2, format: 'go-test' },
  cargo,
  'cargo-color': cargo,
  'cargo-quiet': cargo,
  cmake: { progress: { progress: 100, total: 100 }, message: 'Built target run', format: 'cmake' },
  ninja: { progress: { progress: 5, total: 5 }, message: 'Linking C executable run', format: 'ninja' },
  ctest: {
    progress: { progress: 3, total: 3 },
    message: '1 passed, 1 failed, 1 skipped',
    failures: ['fails'],
    passed: 1,
    failed: 1,
    skipped: 1,
    format: 'ctest',
  },
};

describe('progress in real output', () => {
  it('has an expectation for every recording', () => {
    expect(Object.keys(ends).sort()).toEqual(recordings);
  });

  it.each(recordings)('sees how %s went', (name) => {
    const { failures, phase, ...seen } = seenIn(recorded(name));
    expect({ ...seen, ...(failures && { failures: [...failures].sort() }) }).toEqual(ends[name]);
    expect(phase).toBe(1);
  });

  it.each(recordings)('sees %s rise, never above its total and never back', (name) => {
    const steps = stepsIn(recorded(name));
    expect(impossible(steps)).toEqual([]);
    expect(steps.length).toBeGreaterThan(2);
  });

  it.each([
    'vitest',
    'vitest-1',
    'mocha',
    'node-spec',
    'pytest-verbose',
    'pytest-xdist-verbose',
    'jest',
    'cargo',
    'node-tap',
  ])('knows a failure of %s by name before half of its output is there', (name) => {
    const lines = recorded(name);
    expect(seenIn(lines.slice(0, lines.length / 2)).failures?.join()).toMatch(/big/);
  });

  it('counts on where several programs report one after the other', () => {
    const steps = stepsIn([...recorded('pytest'), ...recorded('cmake'), ...recorded('vitest'), ...recorded('vitest')]);
    expect(impossible(steps)).toEqual([]);
    expect(steps.at(-1)).toMatchObject({
      progress: { progress: 17, total: 17 },
      phase: 4,
      message: 'pytest: 35 passed, 3 failed, 2 skipped; vitest: 20 passed, 6 failed, 8 skipped',
      passed: 55,
      failed: 9,
      skipped: 10,
      format: 'vitest',
    });
  });

  it('finds each recording again behind every other', () => {
    for (const first of recordings) {
      for (const second of recordings) {
        const { format, progress } = seenIn([...recorded(first), ...recorded(second)]);
        const unfinished = first === second && format === 'go-test'; // `go test` has no end: it goes on counting.
        if (!unfinished) expect({ first, second, format, progress }).toMatchObject({ format: ends[second]?.format });
      }
    }
  });
});
