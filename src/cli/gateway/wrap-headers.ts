import { expanded } from '../calls/host-config.ts';
import { headerOf } from '../calls/servers.ts';
import { CliError } from '../errors.ts';
import { parseWrapHeader } from './setup/own-command.ts';

/**
 * The headers that `longcall wrap --url` sends. In both kinds `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}` are replaced: hosts
 * that do not replace what stands in the environment of a process leave it to the process.
 * @param header `'Name: value'` each
 * @param headerEnv `NAME=VARIABLE` each: the value is that of the variable, so that it stands on no command line
 * @throws {CliError} naming the option that makes no sense, or the variable that is not set; never a value.
 */
export function wrapHeaders(
  { header = [], headerEnv = [] }: { header?: readonly string[]; headerEnv?: readonly string[] },
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const headers = new Map<string, [string, string]>();
  const add = (name: string, value: string, option: string): void => {
    if (headers.has(name.toLowerCase())) throw new CliError(`${option}: the header "${name}" is given twice`);
    if (/[\r\n\0]/.test(value)) throw new CliError(`${option}: the value of "${name}" has more than one line`);
    headers.set(name.toLowerCase(), [name, value]);
  };
  for (const text of header) {
    const [name, value] = headerOf(text);
    add(name, expanded(value, `--header "${name}"`, env), '--header');
  }
  for (const text of headerEnv) {
    const parsed = parseWrapHeader(text);
    if (parsed === undefined) throw new CliError(`--header-env: expected NAME=VARIABLE, got ${JSON.stringify(text)}`);
    const { name, variable } = parsed;
    const value = env[variable];
    if (value === undefined)
      throw new CliError(`--header-env ${name}: the environment variable ${variable} is not set`);
    add(name, expanded(value, `--header-env ${name}`, env), '--header-env');
  }
  return Object.fromEntries(headers.values());
}
