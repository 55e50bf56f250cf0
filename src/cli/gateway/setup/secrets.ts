import { serversIn } from './dialects.ts';
import { edited, type MapTree, type Syntax, type Tree } from './forms/tree.ts';

/** Members whose values are most often secrets. */
const MAPS = ['env', 'envs', 'environment', 'headers', 'http_headers'];
/** Nothing but a reference to the environment, perhaps after a scheme. */
const REFERENCE = /^([A-Za-z]+ )?(\$\{[^}]*\}|\{(env|file):[^}]*\}|\$[A-Za-z_]\w*)$/;
const SECRET = /(token|secret|passw|api[-_]?key|credential|bearer|auth)/i;

/** The text as it may be shown, and whether it holds what looks like a secret: those have their values taken out. */
export function masked(text: string, syntax: Syntax): { shown: string; secret: boolean } {
  const spans = (serversIn(syntax.parse(text), syntax.name) ?? []).flatMap(({ map }) => secretsIn(map));
  return {
    shown: edited(
      text,
      spans.map(({ start, end }) => ({ start, end, text: '"***"' })),
    ),
    secret: spans.length > 0,
  };
}

function secretsIn(map: MapTree): Tree[] {
  return map.members.flatMap(({ key, value }) => {
    if (MAPS.includes(key)) return value.kind === 'map' ? value.members.flatMap((one) => literal(one.value)) : [];
    if (value.kind === 'list') return value.items.filter((item, n) => isSecretWord(item, value.items[n - 1]));
    const isAddress = value.kind === 'scalar' && /^https?:/.test(String(value.value));
    return isAddress && isSecretAddress(String(value.value)) ? [value] : [];
  });
}

function literal(value: Tree): Tree[] {
  return value.kind === 'scalar' && value.value !== '' && !REFERENCE.test(String(value.value)) ? [value] : [];
}

/** `--token=abc`, or what follows `--token`. */
function isSecretWord(item: Tree, before: Tree | undefined): boolean {
  const word = item.kind === 'scalar' ? String(item.value) : '';
  if (/^https?:/.test(word)) return isSecretAddress(word);
  if (/^-.*=/.test(word)) return SECRET.test(word);
  const option = before?.kind === 'scalar' ? String(before.value) : '';
  return /^--?[\w-]+$/.test(option) && SECRET.test(option) && !word.startsWith('-');
}

/** An address with a password, or with a parameter that is called like a secret. */
export function isSecretAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search } = new URL(text);
  return username !== '' || password !== '' || SECRET.test(search);
}
