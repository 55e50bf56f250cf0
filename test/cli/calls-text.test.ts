import { describe, expect, it } from 'vitest';
import { noteOf, questionLines, resultText, shortCallId } from '../../src/cli/calls/describe.ts';
import { ProgressLine } from '../../src/cli/calls/progress-line.ts';

const ESC = String.fromCharCode(27);
const hostile = `ok${ESC}[2J${ESC}]0;owned${String.fromCharCode(7)}\r!`;
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may come through
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

describe('what servers say, on a terminal', () => {
  it('has no control characters', () => {
    const texts = [
      resultText({ content: [{ type: 'text', text: hostile }] }),
      resultText({ content: [{ type: hostile, uri: hostile }] }),
      resultText({ structuredContent: { [hostile]: hostile } }),
      ...questionLines(
        { kind: 'form', message: hostile, schema: { properties: { [hostile]: { title: hostile } } } },
        hostile,
      ),
      ...questionLines({ kind: 'url', message: hostile, url: hostile }, hostile),
      new ProgressLine().text({ progress: 1, message: hostile }, 200),
    ];
    for (const text of texts) expect(text).not.toMatch(RAW);
    expect(texts[0]).toContain('ok');
  });

  it('shows the host of a page that is to be visited', () => {
    expect(questionLines({ kind: 'url', message: 'Log in', url: 'https://evil.example/bank.example' }, 'ci')).toEqual([
      'ci asks: Log in (https://evil.example/bank.example)',
      'the page is on evil.example; it is not opened for you',
    ]);
  });

  it.each([
    [{ progress: 45, total: 100, message: 'a.mp4' }, '45/100 a.mp4', '45/100 a.mp4'],
    [{ progress: 45, message: '44 passed, 1 failed' }, '44 passed, 1 failed', '45 44 passed, 1 failed'],
    [{ progress: 45, total: 100 }, 'resizing', '45/100 resizing'],
  ])('says how far a task is once: %j, told as %s', (progress, statusMessage, note) => {
    const call = { id: 'call_1', server: 'ci', tool: 'test', createdAt: 0, cancelRequested: false, followed: true };
    expect(noteOf({ ...call, phase: 'following', status: 'working', statusMessage, progress })).toBe(note);
  });

  it('never gives a short id that looks like an option', () => {
    expect(shortCallId('call_abcdefghijkl')).toBe('abcdefgh');
    expect(shortCallId('call_-bcdefghijkl')).toBe('call_-bcdefgh');
  });
});

describe('a line of progress', () => {
  it('tells rate and time left from what was seen lately', () => {
    const line = new ProgressLine();
    line.take({ progress: 0 }, 0);
    line.take({ progress: 20 }, 10_000);
    expect(line.text({ progress: 20, total: 100, message: 'frames' }, 200)).toBe(
      '[####................] 20%  20/100  2.0/s  40s left  frames',
    );
    line.take({ progress: 0 }, 11_000); // It began anew: nothing is known.
    expect(line.text({ progress: 0, total: 100 }, 200)).toBe('[....................] 0%  0/100');
  });
});
