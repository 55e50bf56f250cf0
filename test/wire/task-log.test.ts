import { describe, expect, it } from 'vitest';
import { decodeLogPage, encodeLogPage, logPageUri, logUri } from '../../src/wire/task-log.ts';

const answer = (text: string) => ({ contents: [{ uri: 'longcall://tasks/a/log/0', text }] });

describe('a page of a log on the wire', () => {
  it('comes back as it went, with streams and without', () => {
    const page = {
      lines: [
        { at: 1, level: 'info', text: '\u001b[31mFAIL\u0000', stream: 'stderr' },
        { at: 2, level: 'info', text: 'out', stream: 'stdout' },
        { at: 3, level: 'warning', text: 'logged' },
        { at: 3, level: 'warning', text: '… 7 bytes', dropped: 7 },
      ],
      cursor: 99,
      atEnd: false,
    } as const;
    expect(decodeLogPage(answer(encodeLogPage({ ...page, lines: [...page.lines] })))).toEqual(page);
  });

  it('says nothing of what there is not', () => {
    expect(encodeLogPage({ lines: [{ at: 1, level: 'info', text: 'x' }], cursor: 7 })).toBe(
      '{"lines":[{"at":1,"level":"info","text":"x"}],"cursor":7}',
    );
  });

  it('is read from servers that say less or more, and what makes no sense is left out', () => {
    const lines = [
      { at: 1, level: 'info', text: 'x', stream: 'stdin', dropped: 'many', more: true },
      { at: '1', level: 'info', text: 'y' },
      7,
    ];
    expect(decodeLogPage(answer(JSON.stringify({ lines, cursor: 7, atEnd: 'yes' })))).toEqual({
      lines: [{ at: 1, level: 'info', text: 'x' }],
      cursor: 7,
    });
    for (const odd of ['', '{}', '[]', '{"lines":[],"cursor":"7"}', '{"cursor":7}']) {
      expect(decodeLogPage(answer(odd)), odd).toBeUndefined();
    }
    expect(decodeLogPage({})).toBeUndefined();
  });

  it('has an address', () => {
    expect(logUri('tsk_1/2')).toBe('longcall://tasks/tsk_1%2F2/log');
    expect(logPageUri('tsk_1', -5)).toBe('longcall://tasks/tsk_1/log/-5');
  });
});
