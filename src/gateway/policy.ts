import { DEFAULTS, type ToolHints } from '../core/index.ts';
import type { FallbackOptions } from '../engine/index.ts';
import type { ToolPolicy, UpstreamConfig } from './config/types.ts';

/** How one tool is served, once everything that was said about it is put together. What is absent is the engine's to decide. */
export interface EffectivePolicy extends ToolPolicy {
  mode: 'task' | 'direct' | 'auto';
  slowAfterMs: number;
  onLost: 'fail' | 'rerun';
  maxAttempts: number;
  support: 'optional' | 'required';
}

/** A call that took this long is slow, unless something else is said. */
const SLOW_AFTER_MS = 10_000;

/**
 * The rules of one tool: what is said under its name counts most, then under the pattern with the most letters (the first of
 * several), down to what is said of the upstream and the defaults. Each says only what it says: the rest comes from below.
 * @param toolName as the upstream has it, without the prefix
 * @param annotations as the upstream has them
 */
export function matchPolicy(upstream: UpstreamConfig, toolName: string, annotations: ToolHints = {}): EffectivePolicy {
  const layers = [upstream.policy, ...said(upstream, toolName)];
  const fallback = Object.assign({}, ...layers.map((layer) => layer.fallback)) as FallbackOptions;
  const harmless = annotations.readOnlyHint === true && annotations.idempotentHint === true;
  return Object.assign(
    {
      mode: 'task',
      slowAfterMs: SLOW_AFTER_MS,
      onLost: harmless ? 'rerun' : 'fail',
      maxAttempts: DEFAULTS.maxAttempts,
      support: 'optional',
    } as const,
    ...layers,
    Object.keys(fallback).length > 0 && { fallback },
  ) as EffectivePolicy;
}

/** Whether callers may see and call a tool. What is denied is denied, whatever allows it. */
export function isAllowed({ allow, deny }: UpstreamConfig, toolName: string): boolean {
  const named = (globs: readonly string[]): boolean => globs.some((glob) => matches(glob, toolName));
  return (allow === undefined || named(allow)) && !(deny !== undefined && named(deny));
}

/** What is said of a tool, what counts most last. */
function said({ tools }: UpstreamConfig, toolName: string): ToolPolicy[] {
  return tools
    .filter(({ match }) => matches(match, toolName))
    .map(({ match, policy }, at) => ({ policy, at, weight: match.includes('*') ? lettersOf(match) : Infinity }))
    .sort((a, b) => a.weight - b.weight || b.at - a.at)
    .map(({ policy }) => policy);
}

function lettersOf(glob: string): number {
  return glob.replaceAll('*', '').length;
}

/** `*` stands for any letters, also none. In time that grows with both lengths and no faster: servers choose the names. */
function matches(glob: string, name: string): boolean {
  const [head = '', ...rest] = glob.split('*');
  const tail = rest.pop();
  if (tail === undefined) return name === glob;
  if (!name.startsWith(head)) return false;
  let from = head.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return name.length - tail.length >= from && name.endsWith(tail);
}
