import { COMPANIONS } from '../../wire/companions.ts';
import { isAllowed } from '../policy.ts';
import type { Sheet } from './sheet.ts';
import type { UpstreamConfig } from './types.ts';

/** A tool of the gateway's own, and where its name stands in the file. */
export interface Named {
  name: string;
  pointer: string;
}

/** Tools of the gateway's own stand beside all others: no two are to have one name, nor can it be that they have. */
export function reportNames(own: readonly Named[], upstreams: readonly UpstreamConfig[], sheet: Sheet): void {
  const companions: readonly string[] = Object.values(COMPANIONS);
  const seen = new Map<string, string>();
  for (const { name, pointer } of own) {
    const before = seen.get(name);
    if (before !== undefined) sheet.report(pointer, `there is a tool of this name already: ${before}`, 'key');
    seen.set(name, pointer.slice(1).replaceAll('/', '.'));
    if (companions.includes(name)) {
      sheet.report(pointer, 'is a tool by which clients without tasks follow theirs; choose another name', 'key');
    }
    const upstream = upstreams.find((one) => couldHave(one, name));
    if (upstream !== undefined) sheet.report(pointer, clash(upstream, name), 'key');
  }
}

/** Which tools an upstream has is only known once it is reached. */
function couldHave(upstream: UpstreamConfig, name: string): boolean {
  const { prefix } = upstream;
  return name.startsWith(prefix) && name.length > prefix.length && isAllowed(upstream, name.slice(prefix.length));
}

function clash({ name: upstream, prefix }: UpstreamConfig, name: string): string {
  const shown = prefix === '' ? 'no prefix' : `the prefix ${prefix}`;
  const denied = name.slice(prefix.length);
  return `the upstream ${upstream} has ${shown}, and could have a tool of this name: give this another, or deny ${denied} there`;
}
