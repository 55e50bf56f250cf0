import { describe, expect, it } from 'vitest';
import { ProgressReader } from '../../../src/adapters/shell/progress/progress-reader.ts';
import { impossible, printed, recorded, seenIn, stepsIn } from './recorded.ts';

function told(...lines: string[]) {
  return seenIn(printed(lines.join('\n')));
}

describe('progress markers', () => {
  it.each([
    ['::progress 3/10 copying', { progress: { progress: 3, total: 10 }, message: 'copying' }],
    ['::progress 3/10', { progress: { progress: 3, total: 10 } }],
    ['::progress 3 of them', { progress: { progress: 3 }, message: 'of them' }],
    ['::progress 40% of the way', { progress: { progress: 40, total: 100 }, message: 'of the way' }],
    ['::progress 0/0', { progress: { progress: 0, total: 0 } }],
    ['\u001b[32m::progress 1/2 green\u001b[0m', { progress: { progress: 1, total: 2 }, message: 'green' }],
    ['50%\r::progress 1/2 over a bar\r', { progress: { progress: 1, total: 2 }, message: 'over a bar' }],
  ])('reads %j', (line, seen) => {
    expect(told(line)).toEqual({ ...seen, phase: 1, format: 'marker' });
  });

  it.each([
    '::progress',
    '::progress ',
    '::progress words',
    '::progress -1/10',
    '::progress 1.5/10',
    '::progress 11/10',
    '::progress 101%',
    '::progress 3/ten',
    '::progress 9999999999999999/99999999999999999',
    '::progress 1e3/10',
    '::progress 3/10words',
    ' ::progress 3/10 indented',
    '+ echo ::progress 3/10',
    '"::progress 3/10"',
    ':progress 3/10',
    ':: progress 3/10',
    '::progress::3/10',
    '::endgroup::',
  ])('takes %j for none', (line) => {
    expect(told(line)).toEqual({});
  });

  it('tells whether anything changed', () => {
    const reader = new ProgressReader();
    expect(reader.line('::progress 1/3 one', 'stdout')).toBe(true);
    expect(reader.line('::progress 1/3 one', 'stderr')).toBe(false);
    expect(reader.line('::progress 1/3 uno', 'stdout')).toBe(true);
    expect(reader.line('::progress 4/3', 'stdout')).toBe(false);
    expect(reader.line('nothing', 'stdout')).toBe(false);
  });

  it('does not go back, but takes the words', () => {
    expect(told('::progress 5/10 five', '::progress 3/10 three')).toMatchObject({
      progress: { progress: 5, total: 10 },
      message: 'three',
      phase: 1,
    });
  });

  it.each([
    ['a count that was complete', ['::progress 10/10', '::progress 1/10']],
    ['another total', ['::progress 5/10', '::progress 1/20']],
    ['a heading', ['::progress 5/10', '::group::second half', '::progress 1/10']],
  ])('begins a new phase after %s', (_, lines) => {
    const steps = stepsIn(printed(lines.join('\n')));
    expect(steps.at(-1)).toMatchObject({ progress: { progress: 1 }, phase: 2 });
    expect(impossible(steps)).toEqual([]);
  });

  it('shows the heading that is open, and what happens below it', () => {
    expect(told('::group::Install things')).toEqual({ message: 'Install things', format: 'marker' });
    expect(told('::group::Install', '::endgroup::')).toEqual({});
    expect(seenIn([...printed('::group::Unit tests'), ...recorded('cargo')])).toMatchObject({
      message: 'Unit tests: 5 passed, 1 failed, 1 skipped',
      format: 'cargo',
    });
    expect(told('::group::Install', '::progress 1/2 packages')).toMatchObject({ message: 'packages' });
  });

  it('comes before whatever a test runner says, whose counts and failures are still seen', () => {
    const steps = stepsIn([...recorded('mocha'), ...printed('::progress 1/4 testing'), ...recorded('cargo')]);
    expect(steps.at(-1)).toMatchObject({
      progress: { progress: 1, total: 4 },
      message: 'testing',
      failures: expect.arrayContaining(['text > trims', 'tests::adds_big']),
      format: 'marker',
    });
    expect(impossible(steps)).toEqual([]);
  });

  it('keeps words short, on one line and whole', () => {
    const { message } = told(`::progress 1/2 ${'😀'.repeat(400)}\u0007\u009b31m`);
    expect(message).toHaveLength(299);
    expect(message).toMatch(/^(?:😀)+…$/u);
    expect(told('::progress 1/2 a\tb\u0000c').message).toBe('a b c');
  });
});
