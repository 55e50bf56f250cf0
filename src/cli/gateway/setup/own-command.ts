import { version } from '../../../gateway/version.ts';
import { CliError } from '../../errors.ts';

/** How `longcall` is run by a host. */
export interface Launcher {
  command: string;
  args: readonly string[];
}

/** By `npx` at exactly this version, or as the program that is installed. @throws {CliError} */
export function launcherFor(bin: string | undefined): Launcher {
  if (bin === undefined) return { command: 'npx', args: ['-y', `longcall@${version()}`] };
  if (!isOwnProgram(bin))
    throw new CliError(`--bin: expected longcall, or a path that ends so, got ${JSON.stringify(bin)}`);
  return { command: bin, args: [] };
}

/** By its name: `--undo` has nothing else to know it by. */
function isOwnProgram(file: string): boolean {
  return /(^|[\\/])longcall(\.cmd|\.exe)?$/.test(file);
}

/** What a server that is wrapped was before. Numbers are places among the words of its command line. */
export type Wrapped = { kind: 'command'; from: number; was: readonly string[] } | WrappedUrl;

export interface WrappedUrl {
  kind: 'url';
  url: number;
  /** Headers whose value is that of a variable. */
  headers: readonly { at: number; name: string; variable: string }[];
  /** Headers that are given as they are, with references. */
  literal: readonly number[];
  was: readonly string[];
}

/** What stands behind the gateway, as the command line says; undefined: it is not one of ours. */
export function readWrapped(words: readonly string[]): Wrapped | undefined {
  const start = afterWrap(words);
  if (start === undefined) return undefined;
  const end = words.indexOf('--', start);
  const options = words.slice(start, end < 0 ? words.length : end);
  const valuesOf = (option: string): number[] =>
    options.flatMap((word, n) => (word === option && n + 1 < options.length ? [start + n + 1] : []));
  const was = valuesOf('--was').flatMap((n) => (words[n] ?? '').split(','));
  if (end >= 0) return end + 1 < words.length ? { kind: 'command', from: end + 1, was } : undefined;
  const [url] = valuesOf('--url');
  if (url === undefined) return undefined;
  const headers = valuesOf('--header-env').map((n) => {
    const { name, variable } = parseWrapHeader(words[n] ?? '') ?? { name: '', variable: '' };
    return { at: n, name, variable };
  });
  return { kind: 'url', url, headers, literal: valuesOf('--header'), was };
}

function afterWrap(words: readonly string[]): number | undefined {
  const [program = ''] = words;
  if (isOwnProgram(program)) return words[1] === 'wrap' ? 2 : undefined;
  const npx = program === 'cmd' && words[1] === '/c' ? 2 : 0;
  const fits =
    /(^|[\\/])npx(\.cmd)?$/.test(words[npx] ?? '') &&
    /^(-y|--yes)$/.test(words[npx + 1] ?? '') &&
    /^longcall(@.+)?$/.test(words[npx + 2] ?? '') &&
    words[npx + 3] === 'wrap';
  return fits ? npx + 4 : undefined;
}

/**
 * The value of `--header-env NAME=VARIABLE`: the header whose value is in that variable of the environment. So no secret stands
 * on a command line, which every process of the machine can read; and nothing in it looks like a reference, which hosts would
 * replace out of an environment of their own.
 */
export function parseWrapHeader(text: string): { name: string; variable: string } | undefined {
  const [, name, variable] = /^([!#$%&'*+.^_`|~\w-]+)=([A-Za-z_]\w*)$/.exec(text) ?? [];
  return name === undefined || variable === undefined ? undefined : { name, variable };
}
