import type { HttpToolOptions, ShellLimits } from '../../adapters/index.ts';
import type { CommandRecipe } from '../../adapters/shell/input/recipe.ts';
import type { JsonObject } from '../../core/index.ts';
import type { FallbackOptions, ToolAnnotations } from '../../engine/index.ts';

/** What a gateway reaches. */
export type UpstreamTarget =
  | { command: string; args: readonly string[]; cwd?: string; env: Readonly<Record<string, string>> }
  | { url: string; headers: Readonly<Record<string, string>>; forwardAuthorization: boolean };

/** How the tools of an upstream are served; durations in milliseconds. */
export interface ToolPolicy {
  /**
   * `task`: durable; `direct`: passed through; `auto`: passed through until a call took `slowAfterMs`, from then on a task.
   * @default 'task'
   */
  mode?: 'task' | 'direct' | 'auto';
  /** @default 10_000 */
  slowAfterMs?: number;
  ttlMs?: number | null;
  keepResultMs?: number;
  timeoutMs?: number;
  concurrency?: number;
  /**
   * An upstream call that was lost: 'fail' tells so, 'rerun' calls again. @default 'rerun' for tools annotated read-only and
   * idempotent, else 'fail'
   */
  onLost?: 'fail' | 'rerun';
  /** Of reruns. @default 3 */
  maxAttempts?: number;
  support?: 'optional' | 'required';
  fallback?: FallbackOptions;
}

export interface UpstreamConfig {
  /** `^[a-z0-9][a-z0-9_-]{0,31}$` */
  name: string;
  target: UpstreamTarget;
  /** Put before tool and prompt names; '' = none. */
  prefix: string;
  /** Globs (`*`) on upstream tool names; absent: all. */
  allow?: readonly string[];
  deny?: readonly string[];
  /** For all its tools. */
  policy: ToolPolicy;
  /** By name or glob; an exact name beats a glob, a longer glob a shorter. */
  tools: readonly { match: string; policy: ToolPolicy }[];
  /** Ask it for tasks by the first draft (SEP-1686), where it has none by a later text. @default false */
  firstDraft?: boolean;
  /** A stdio upstream without callers and open calls is ended after this. @default 300_000 */
  idleAfterMs?: number;
}

/** A tool of the gateway's own, whatever does its work: always a task where its caller can take one. */
export interface OwnToolConfig {
  /** As it is listed and called: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`. No other tool of its own has it, whatever does its work. */
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema (2020-12) of an object, as it is listed. */
  input: JsonObject;
  annotations?: ToolAnnotations;
  policy: Omit<ToolPolicy, 'mode' | 'slowAfterMs'>;
  /** Of what it is given, the values that nobody may read: cut out of output, results and records. */
  secrets: readonly string[];
}

/** A command of this machine as a tool. */
export interface ShellToolConfig extends OwnToolConfig {
  recipe: CommandRecipe;
  limits: ShellLimits;
  /** Exit codes that are no error. @default [0] */
  okCodes?: readonly number[];
  /** @default 'text' */
  output?: 'text' | 'json';
  /** Read progress out of its output. @default true */
  progress?: boolean;
}

/** An operation of an API as a tool. */
export interface HttpToolConfig extends OwnToolConfig {
  options: HttpToolOptions;
}

export interface GatewayConfig {
  upstreams: readonly UpstreamConfig[];
  shell?: readonly ShellToolConfig[];
  http?: readonly HttpToolConfig[];
  listen?: { host: string; port: number };
  stateFolder?: string;
  /**
   * A task that is over by then is answered with its result, also to clients of 2026-07-28 that know tasks, in milliseconds. It
   * saves them polls for quick tools; some clients take such an answer for a fault, though, where they wanted a task.
   * @default 0
   */
  inlineWithinMs?: number;
  /** Speak the first draft of tasks (SEP-1686) too, to clients in sessions before 2025-11-25. @default false */
  firstDraft?: boolean;
  tokens?: readonly { name: string; token: string }[];
  tokenFile?: string;
  limits?: { slots?: number; openTasksPerPrincipal?: number; maxRequestBytes?: number; maxResultBytes?: number };
}
