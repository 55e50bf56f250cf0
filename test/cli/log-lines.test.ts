import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isWanted, linePrinter } from '../../src/cli/log-lines.ts';
import { Output } from '../../src/cli/output.ts';

const outputOf = (env: NodeJS.ProcessEnv): Output =>
  new Output(new PassThrough() as never, new PassThrough() as never, env);
const coloured = outputOf({ FORCE_COLOR: '1' });
const plain = outputOf({});

const line = (text: string, stream?: 'stdout' | 'stderr') => ({
  at: 0,
  level: 'info',
  text,
  ...(stream && { stream }),
});

describe('a line of a log, printed', () => {
  it('says when it was written and where, and is text', () => {
    const print = linePrinter({}, plain);
    expect(print(line('\u001b[31mFAIL\u001b[39m\u0007 10%\r\u001b[K20%', 'stderr'))).toBe(
      '1970-01-01T00:00:00.000Z stderr  20%\n',
    );
    expect(print({ ...line('two\r\n1970-01-01T00:00:00.000Z error   lines'), level: 'error' })).toBe(
      '1970-01-01T00:00:00.000Z error   two\n    1970-01-01T00:00:00.000Z error   lines\n',
    );
    expect(print({ ...line('x'), level: 'two\nlines\u001b[2J' })).toBe('1970-01-01T00:00:00.000Z two ⏎ lines x\n');
  });

  it('is its text alone on wish, in colours only where colours are shown', () => {
    const text = '\u001b[1;31mFAIL\u001b[0m \u001b[38;5;8mgrey\u001b[48:2:1:2:8m';
    expect(linePrinter({ raw: true }, plain)(line(text))).toBe('FAIL grey\n');
    expect(linePrinter({ raw: true }, coloured)(line(text))).toBe(`${text}\u001b[0m\n`);
    expect(linePrinter({ raw: true }, coloured)(line('no colours'))).toBe('no colours\n');
  });

  it.each([
    ['\u001b[31mred\u001b[2J\u001b[H\u001b]0;title\u0007\u001b[?25l', '\u001b[31mred\u001b[0m\n'],
    ['\u001b[8mhidden\u001b[0;8mso\u001b[08mtoo', 'hiddensotoo\n'],
    ['\u001b[31m10%\r\u001b[32m20%', '\u001b[32m20%\u001b[0m\n'],
    ['\u001b[31', '\n'],
    ['\u001b[31>m', '\n'],
    ['\u009b31mC1', 'C1\n'],
    ['\ufdd00\ufdd1\u001b[31mforged place', '\ufffd0\ufffd\u001b[31mforged place\u001b[0m\n'],
    ['\u202eright to left', '\ufffdright to left\n'],
    ['\u001b\u001b[31m[2Jnested', '\u001b[31m[2Jnested\u001b[0m\n'],
    ['\u001b[\u001b[31m2Jnested', '\u001b[31m2Jnested\u001b[0m\n'],
  ])('lets nothing but colours through to a terminal: %j', (text, expected) => {
    expect(linePrinter({ raw: true }, coloured)(line(text))).toEqual(expected);
  });

  it('is JSON on wish, as it was written', () => {
    const print = linePrinter({ json: true }, coloured);
    const printed = print(line('\u001b[31mred\u0000', 'stdout'));
    expect(printed).toBe('{"at":0,"level":"info","text":"\\u001b[31mred\\u0000","stream":"stdout"}\n');
  });
});

describe('which lines are printed', () => {
  it('goes by stream and time; that lines are missing is always said', () => {
    const out = line('x', 'stdout');
    expect([isWanted(out, {}), isWanted(out, { stream: 'stdout' }), isWanted(out, { stream: 'stderr' })]).toEqual([
      true,
      true,
      false,
    ]);
    expect(isWanted(line('logged'), { stream: 'stdout' })).toBe(false);
    expect(isWanted({ ...line('… 9 bytes'), dropped: 9 }, { stream: 'stdout' })).toBe(true);
    expect([isWanted(out, { since: 0 }), isWanted(out, { since: 1 })]).toEqual([true, false]);
  });
});
