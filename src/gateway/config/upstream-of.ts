import { policyOf, type WrittenPolicy } from './policy-of.ts';
import { inside, type Sheet } from './sheet.ts';
import type { Targets, WrittenTarget } from './target-of.ts';
import type { UpstreamConfig } from './types.ts';
import { milliseconds } from './units.ts';

/** An upstream as it stands in the file, checked: what is wrong is not in it. */
export interface WrittenUpstream extends WrittenTarget, WrittenPolicy {
  prefix?: string;
  allow?: string[];
  deny?: string[];
  idleAfter?: string;
  firstDraft?: boolean;
  tools?: Record<string, WrittenPolicy>;
}

/** No clock counts further. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER;

/** The upstreams of a file, without those that have a problem. @param options.alone there are no tools but theirs */
export function upstreamsOf(
  written: Readonly<Record<string, WrittenUpstream>>,
  targets: Targets,
  sheet: Sheet,
  { alone }: { alone: boolean },
): UpstreamConfig[] {
  const names = Object.keys(written);
  const upstreams = names.flatMap((name): UpstreamConfig[] => {
    const upstream = written[name] as WrittenUpstream;
    const target = targets.of(inside('/upstreams', name), upstream);
    if (target === undefined) return [];
    const {
      prefix = names.length > 1 || !alone ? `${name}_` : '',
      allow,
      deny,
      idleAfter,
      firstDraft,
      tools = {},
    } = upstream;
    return [
      {
        name,
        target,
        prefix,
        ...(allow !== undefined && { allow: whole(allow) }),
        ...(deny !== undefined && { deny: whole(deny) }),
        policy: policyOf(upstream),
        tools: Object.keys(tools).map((match) => ({ match, policy: policyOf(tools[match] as WrittenPolicy) })),
        ...(firstDraft !== undefined && { firstDraft }),
        ...(idleAfter !== undefined && { idleAfterMs: idleAfter === 'forever' ? FOREVER_MS : milliseconds(idleAfter) }),
      },
    ];
  });
  for (const [at, upstream] of upstreams.entries()) {
    const other = upstreams.slice(0, at).find((before) => collide(before, upstream));
    if (other !== undefined) reportCollision(other, upstream, sheet);
  }
  return upstreams;
}

/** Without what was taken out. */
function whole(names: readonly (string | undefined)[]): string[] {
  return names.filter((name) => name !== undefined);
}

/** With one prefix two upstreams may have tools of one name, unless both say which they have. */
function collide(a: UpstreamConfig, b: UpstreamConfig): boolean {
  if (a.prefix !== b.prefix) return false;
  if (a.allow === undefined || b.allow === undefined) return true;
  const names = new Set(a.allow);
  return [...a.allow, ...b.allow].some((name) => name.includes('*')) || b.allow.some((name) => names.has(name));
}

function reportCollision(a: UpstreamConfig, b: UpstreamConfig, sheet: Sheet): void {
  const at = inside('/upstreams', b.name, 'prefix');
  const shown = b.prefix === '' ? 'no prefix' : `the prefix ${b.prefix}`;
  const how = 'their tools could have the same names; give each its own, or allow in both only names that differ';
  if (sheet.members.has(at)) sheet.report(at, `expected another prefix than that of ${a.name}, got ${shown}: ${how}`);
  else sheet.report(inside('/upstreams', b.name), `${a.name} has ${shown} too: ${how}`, 'key');
}
