import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indented, logText, MAX_LOG_LINE_BYTES, onOneLine } from '../../src/core/index.ts';

describe('a line of a log', () => {
  it('is kept as it came while it is short enough', () => {
    for (const line of ['', 'plain', 'NUL \0', '\u{1f600}', 'half \ud83d', 'x'.repeat(MAX_LOG_LINE_BYTES)]) {
      expect(logText(line)).toBe(line);
    }
  });

  it('is text, whatever came', () => {
    expect(logText(Buffer.from([0x68, 0x69, 0xff, 0xc3]))).toBe('hi\ufffd\ufffd');
    expect(logText(42)).toBe('42');
    expect(logText(undefined)).toBe('undefined');
    expect(logText(Symbol('s'))).toBe('Symbol(s)');
    expect(logText(Object.create(null))).toBe('[object Object]');
  });

  it('is cut between characters, says how much is missing, and is not cut twice', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 200, maxLength: 400 }),
        fc.integer({ min: 100, max: 300 }),
        (line, max) => {
          const kept = logText(line, max);
          if (Buffer.byteLength(line) <= max) return kept === line;
          const [, head = '', missing] = /^(.*) … \((\d+) more bytes of this line were dropped\)$/su.exec(kept) ?? [];
          expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(max);
          expect(line.startsWith(head)).toBe(true);
          expect(Buffer.byteLength(head) + Number(missing)).toBe(Buffer.byteLength(line));
          return logText(kept, max) === kept;
        },
      ),
    );
  });

  it('costs little to cut, however long it is', () => {
    const line = 'é'.repeat(10 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    expect(Buffer.byteLength(logText(line))).toBeLessThanOrEqual(MAX_LOG_LINE_BYTES);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });
});

describe('text of somebody else', () => {
  const text = 'a\nb\r\nc\rd\u2028e\u2029f';

  it('begins no line of its own among ours', () => {
    expect(indented(text)).toBe('a\n    b\n    c\n    d\n    e\n    f');
    expect(indented('plain')).toBe('plain');
  });

  it('stays on the line it is put on', () => {
    expect(onOneLine(text)).toBe('a b c d e f');
  });
});
