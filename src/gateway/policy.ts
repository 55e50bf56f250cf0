import type { ToolHints } from '../core/index.ts';
import type { ToolPolicy, UpstreamConfig } from './config/types.ts';

export function isAllowed({ allow, deny = [] }: UpstreamConfig, tool: string): boolean {
  return (allow === undefined || allow.some((glob) => fits(glob, tool))) && !deny.some((glob) => fits(glob, tool));
}

export function matchPolicy(upstream: UpstreamConfig, tool: string, hints: ToolHints): ToolPolicy & { mode: string } {
  const fitting = upstream.tools.filter(({ match }) => match === tool || fits(match, tool));
  const [best] = fitting.sort((one, other) => rank(other.match, tool) - rank(one.match, tool));
  const said = { ...upstream.policy, ...best?.policy };
  const safe = hints.readOnlyHint === true && hints.idempotentHint === true;
  return { mode: 'task', slowAfterMs: 10_000, maxAttempts: 3, onLost: safe ? 'rerun' : 'fail', ...said };
}

function rank(match: string, tool: string): number {
  return match === tool ? Number.POSITIVE_INFINITY : match.length;
}

function fits(glob: string, name: string): boolean {
  const pattern = glob.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${pattern.join('.*')}$`, 's').test(name);
}
