/**
 * Escape sequences of terminals, by the grammar of ECMA-48: control sequences (colours, cursor), strings (titles, links) with
 * what is in them, and the short ones. Of one that is cut short what there is of it, but no text that may follow it.
 */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]?/g;
/** All control characters but tab, line feed and carriage return. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what has to go
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: whether there are any
const ANY = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/**
 * What a command wrote for a terminal, as text: without colours and other sequences, of what was written over itself by carriage
 * returns (a progress bar) the last, and without control characters but tabs and line feeds.
 */
export function plainText(written: string): string {
  if (!ANY.test(written)) return written; // Nearly always.
  return written.replace(ESCAPES, '').replace(CONTROLS, '').split('\n').map(lastWritten).join('\n');
}

function lastWritten(line: string): string {
  let end = line.length;
  while (end > 0) {
    const begin = line.lastIndexOf('\r', end - 1) + 1;
    const piece = line.slice(begin, end);
    if (piece.trim() !== '' || (begin === 0 && end === line.length)) return piece;
    end = begin - 1;
  }
  return '';
}
