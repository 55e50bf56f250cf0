import { plainText } from '../core/index.ts';
import { safe } from './format.ts';

const RESET = '\u001b[0m';
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const COLOURS = /\u001b\[([0-9;:]*)m/g;
/** Characters that no text has, around the number of a sequence that is put back. */
const PLACES = /\ufdd0(\d+)\ufdd1/g;

/** Text as a terminal may see it, with its colours and nothing else: they end where it ends. */
export function coloured(written: string): string {
  const kept: string[] = [];
  const marked = written.replace(/[\ufdd0\ufdd1]/g, '\ufffd').replace(COLOURS, (sequence, codes: string) => {
    if (hides(codes)) return '';
    kept.push(sequence);
    return `\ufdd0${kept.length - 1}\ufdd1`;
  });
  const text = safe(plainText(marked)).replace(PLACES, (_, place) => kept[Number(place)] ?? '');
  return kept.length === 0 ? text : `${text}${RESET}`;
}

/** Whether what follows would not be seen, though it is there. */
function hides(codes: string): boolean {
  const others = codes.replace(/(^|[;:])[34]8[;:](?:5[;:]\d*|2(?:[;:]\d*){3})/g, '');
  return /(?:^|[;:])0*8(?:$|[;:])/.test(others);
}
