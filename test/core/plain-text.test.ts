import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainText } from '../../src/core/index.ts';

describe('what was written for a terminal, as text', () => {
  it.each([
    [
      'plain, with ünicode \u{1f600}, \u2028 and\ttabs\nand lines',
      'plain, with ünicode \u{1f600}, \u2028 and\ttabs\nand lines',
    ],
    ['\u001b[31mFAIL\u001b[39m \u001b[38;2;1;2;3mone\u001b[4:3m\u001b[0m', 'FAIL one'],
    ['\u001b[?25lhidden\u001b[2J\u001b[H', 'hidden'],
    ['\u009b31mC1', 'C1'],
    ['\u001b]0;a title\u0007rest', 'rest'],
    ['\u001b]8;;http://example.org\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u001bP1$r payload\u001b\\after\u001b_apc\u001b\\', 'after'],
    ['\u001b(B\u001b7saved\u001b8\u001bc\u001b#8', 'saved'],
    ['\u001b[1;2', ''],
    ['\u001b]0;no end', '0;no end'],
    ['at the end \u001b', 'at the end '],
    ['10%\r20%\r30%', '30%'],
    ['10%\r100% done\r\n', '100% done\n'],
    ['10%\r\u001b[Kdone\r          \r', 'done'],
    ['\r\r', ''],
    [' \r ', ''],
    ['   ', '   '],
    ['one\r\ntwo\r\n', 'one\ntwo\n'],
    ['bell\u0007, back\b, NUL\u0000, DEL\u007f, NEL\u0085', 'bell, back, NUL, DEL, NEL'],
    ['h\u0000e\u0000l\u0000l\u0000o\u0000\r\u0000', 'hello'],
    ['no UTF-8: \ufffd\ufffd, half a pair \ud83d', 'no UTF-8: \ufffd\ufffd, half a pair \ud83d'],
  ])('of %j', (written, text) => {
    expect(plainText(written)).toBe(text);
  });

  it('never has a control character but tabs and line feeds, and stays as it is', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b', '\u001b[', '\u001b]', '\u009b', '\r', '\n', '\u0007', '\u001b\\', '31m', ';', 'P'),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = plainText(pieces.join(''));
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        expect(plainText(text)).toBe(text);
      }),
    );
  });

  it('takes no longer than the text is, whatever is in it', () => {
    const hostile = ['\u001b]', '\u001bP\u001b', '\u001b[0;', '\r', '\u001b ', '\u001b]x\u001b'];
    const startedAt = performance.now();
    for (const piece of hostile) plainText(piece.repeat(64 * 1024));
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});
