import { createRequire } from 'node:module';
import type { ToolPolicy, UpstreamConfig } from '../../src/gateway/config/types.ts';

/** A program of the official servers' that does nothing until it is asked to: nine tools over stdin and stdout. */
const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-memory/dist/index.js');

export const stdioServer = { command: process.execPath, args: [program] };

/** So many of them behind a gateway, each by its own name. */
export function stdioUpstreams(count: number): UpstreamConfig[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `memory-${index}`,
    target: { ...stdioServer, env: { MEMORY_FILE_PATH: `/dev/null` } },
    prefix: `memory${index}_`,
    policy: { mode: 'direct' as const },
    tools: [],
    idleAfterMs: 3_600_000,
  }));
}

export function httpUpstream(url: string, policy: ToolPolicy): UpstreamConfig {
  return { name: 'plain', target: { url, headers: {}, forwardAuthorization: false }, prefix: '', policy, tools: [] };
}
