import type { ToolPolicy, UpstreamTarget } from '../../gateway/config/types.ts';
import { lastingEnvironment, type WrapSpec } from '../../gateway/wrapped.ts';
import { CliError } from '../errors.ts';
import { wrapHeaders } from './wrap-headers.ts';

export interface WrapOptions {
  url?: string;
  headerEnv?: string[];
  header?: string[];
  forwardAuthorization?: boolean;
  mode: Mode;
  tool?: string[];
  onLost?: 'fail' | 'rerun';
  slowAfter?: number;
  timeout?: number;
}

export const MODES = ['task', 'direct', 'auto'] as const;
type Mode = (typeof MODES)[number];

/** What the command line says is to be wrapped. @throws {CliError} */
export function wrapSpec(options: WrapOptions, command: readonly string[], env: NodeJS.ProcessEnv): WrapSpec {
  const { mode, onLost, slowAfter, timeout, tool = [] } = options;
  return {
    target: targetOf(options, command, env),
    policy: {
      mode,
      ...(onLost !== undefined && { onLost }),
      ...(slowAfter !== undefined && { slowAfterMs: slowAfter }),
      ...(timeout !== undefined && { timeoutMs: timeout }),
    },
    tools: tool.map(toolRule),
  };
}

function targetOf(
  { url, headerEnv = [], header = [], forwardAuthorization = false }: WrapOptions,
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): UpstreamTarget {
  if (url !== undefined && command !== undefined) throw new CliError('give --url, or a command after --, not both');
  if (command !== undefined) return { command, args, cwd: process.cwd(), env: lastingEnvironment(env) };
  if (url === undefined) throw new CliError('what to wrap? Give a command after --, or --url');
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CliError(`--url: expected an http: or https: address, got ${JSON.stringify(url)}`);
  }
  return { url, headers: wrapHeaders({ header, headerEnv }, env), forwardAuthorization };
}

function toolRule(text: string): { match: string; policy: ToolPolicy } {
  const at = text.lastIndexOf('=');
  const mode = MODES.find((one) => one === text.slice(at + 1));
  if (at < 1 || mode === undefined) {
    throw new CliError(
      `--tool: expected NAME=${MODES.join('|')}, as in --tool 'get_*=direct', got ${JSON.stringify(text)}`,
    );
  }
  return { match: text.slice(0, at), policy: { mode } };
}
