import type { FallbackOptions } from '../../engine/index.ts';
import type { ToolPolicy } from './types.ts';
import { milliseconds } from './units.ts';

/** The rules of an upstream or a tool as they stand in the file, checked: what is wrong is not in it. */
export interface WrittenPolicy {
  mode?: 'task' | 'direct' | 'auto';
  slowAfter?: string;
  ttl?: string;
  keepResult?: string;
  timeout?: string;
  concurrency?: number;
  onLost?: 'fail' | 'rerun';
  attempts?: number;
  requireTasks?: boolean;
  fallback?: { mode?: 'detach' | 'block' | 'refuse'; detachAfter?: string; maxBlock?: string };
}

export function policyOf(written: WrittenPolicy): ToolPolicy {
  const { mode, slowAfter, ttl, keepResult, timeout, concurrency, onLost, attempts, requireTasks, fallback } = written;
  return {
    ...(mode !== undefined && { mode }),
    ...(slowAfter !== undefined && { slowAfterMs: milliseconds(slowAfter) }),
    ...(ttl !== undefined && { ttlMs: ttl === 'forever' ? null : milliseconds(ttl) }),
    ...(keepResult !== undefined && { keepResultMs: milliseconds(keepResult) }),
    ...(timeout !== undefined && { timeoutMs: milliseconds(timeout) }),
    ...(concurrency !== undefined && { concurrency }),
    ...(onLost !== undefined && { onLost }),
    ...(attempts !== undefined && { maxAttempts: attempts }),
    ...(requireTasks !== undefined && { support: requireTasks ? ('required' as const) : ('optional' as const) }),
    ...(fallback !== undefined && { fallback: fallbackOf(fallback) }),
  };
}

function fallbackOf({ mode, detachAfter, maxBlock }: NonNullable<WrittenPolicy['fallback']>): FallbackOptions {
  return {
    ...(mode !== undefined && { mode }),
    ...(detachAfter !== undefined && { detachAfterMs: milliseconds(detachAfter) }),
    ...(maxBlock !== undefined && { maxBlockMs: milliseconds(maxBlock) }),
  };
}
