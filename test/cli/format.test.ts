import { describe, expect, it } from 'vitest';
import { bytes, cut, duration, oneLine, relative, safe, safeJson, table } from '../../src/cli/format.ts';

describe('text from tasks on a terminal', () => {
  it.each([
    ['plain, with ünicode \u{1f600} and\ttabs\n', 'plain, with ünicode \u{1f600} and\ttabs\n'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;a title\u0007rest', 'rest'],
    ['\u001b]8;;http://example.org\u001b\\link', 'link'],
    ['\u001b[2J\u001b[H\u001bcgone', '\ufffdcgone'],
    ['over\rwritten', 'over\ufffdwritten'],
    ['back\b\b', 'back\ufffd\ufffd'],
    ['\u009b31m C1', '\ufffd31m C1'],
    ['\u202eright to left', '\ufffdright to left'],
    ['NUL\0', 'NUL\ufffd'],
  ])('is harmless: %j', (text, expected) => {
    expect(safe(text)).toBe(expected);
  });

  it('is harmless as JSON too, and the same to a program', () => {
    const text = 'a\u001b[2J\u009b31m\u202eb\u007f\u2066 ünicode';
    const json = safeJson({ [text]: [text] });
    expect(json).toBe(
      '{"a\\u001b[2J\\u009b31m\\u202eb\\u007f\\u2066 ünicode":["a\\u001b[2J\\u009b31m\\u202eb\\u007f\\u2066 ünicode"]}',
    );
    expect(JSON.parse(json)).toEqual({ [text]: [text] });
  });

  it('fits on one line where it has to', () => {
    expect(oneLine('a\r\n  b\n\nc\td')).toBe('a ⏎ b ⏎ c d');
  });
});

describe('figures for people', () => {
  it.each([
    [0, '0s'],
    [449, '0.4s'],
    [9_960, '10s'],
    [59_000, '59s'],
    [90_000, '1m 30s'],
    [3_600_000, '1h'],
    [2 * 86_400_000 + 3_600_000 * 5, '2d 5h'],
  ])('%d ms are %s', (ms, expected) => {
    expect(duration(ms)).toBe(expected);
  });

  it('say which way', () => {
    expect(relative(1_000, 61_000)).toBe('1m ago');
    expect(relative(61_000, 1_000)).toBe('in 1m');
    expect([bytes(5), bytes(2_048), bytes(50 * 1024 * 1024)]).toEqual(['5 B', '2.0 kB', '50.0 MB']);
  });

  it('stand in columns, cut to the window and never elsewhere', () => {
    const rows = [
      ['ID', 'NOTE'],
      ['longer', 'some words'],
      ['x', ''],
    ];
    expect(table(rows, Number.POSITIVE_INFINITY)).toEqual(['ID      NOTE', 'longer  some words', 'x']);
    expect(table(rows, 12)).toEqual(['ID      NOTE', 'longer  som…', 'x']);
    expect(table([], 10)).toEqual([]);
    expect(cut('abc', 3)).toBe('abc');
  });
});
