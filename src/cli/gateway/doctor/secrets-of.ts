import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { UpstreamTarget } from '../../../gateway/config/types.ts';
import { startEnvironment } from '../../../gateway/daemon/start-environment.ts';

/** Shorter values (`1`, `true`, `en`) would black out half of what is said. */
const SHORTEST = 8;
const SECRET = /(token|secret|passw|api[-_]?key|credential|bearer|auth)/i;
const PROXY = /_proxy$/i;

/** What must not be repeated of what an upstream says, or of why it cannot be reached. */
export function secretsOf(target: UpstreamTarget): string[] {
  const secrets = 'url' in target ? ofUrl(target) : [...ofEnvironment(target.env), ...ofArguments(target.args)];
  return secrets.filter(({ length }) => length >= SHORTEST);
}

/** Where things are on this machine is no secret; a proxy's address may hold a password. */
function ofEnvironment(env: Readonly<Record<string, string>>): string[] {
  const machine = startEnvironment(env);
  return Object.entries(env)
    .filter(([name, value]) => PROXY.test(name) || (!Object.hasOwn(machine, name) && !isPlace(value)))
    .map(([, value]) => value);
}

function isPlace(value: string): boolean {
  return isAbsolute(value) && existsSync(value);
}

/** `--token=abc`, or what follows `--token`. */
function ofArguments(args: readonly string[]): string[] {
  return args.flatMap((word, at) => {
    const [, option = '', value] = /^(--?[\w-]+)=(.*)$/s.exec(word) ?? [];
    if (value !== undefined) return SECRET.test(option) ? [value] : [];
    const before = args[at - 1] ?? '';
    return /^--?[\w-]+$/.test(before) && SECRET.test(before) ? [word] : [];
  });
}

function ofUrl({ url, headers }: Extract<UpstreamTarget, { url: string }>): string[] {
  const { username, password, search, searchParams } = new URL(url);
  const values = Object.values(headers);
  // `Bearer abc`: the second word alone is secret too.
  const words = values.flatMap((value) => value.split(/\s+/).slice(1));
  return [...values, ...words, username, password, search, ...searchParams.values()].flatMap((text) => [
    text,
    decoded(text),
  ]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
