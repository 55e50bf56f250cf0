// Libraries that give tools to agents. They know no tasks: what they get is what a model would read.
import { join } from 'node:path';
import { type Installed, installed } from '../../support/installed.ts';
import type { PeerKind } from '../peer.ts';
import { PlainProgram } from './program.ts';

const cache = join(import.meta.dirname, '../../../.cache');
const program = join(import.meta.dirname, '../../../test/interop/library-process.ts');

export const aiSdk = library('@ai-sdk/mcp', '2.0.99', ['zod@4.6.7']);
export const openAiAgents = library('@openai/agents', '0.20.0', ['zod@4.6.7']);
export const langchain: PeerKind = {
  ...library('@langchain/mcp-adapters', '1.1.4', ['@langchain/core@1.4.0', '@langchain/langgraph@1.7.3']),
  tellsOnlyText: 'of failures',
};

function library(name: string, version: string, beside: readonly string[]): PeerKind {
  const fetched = (): Promise<Installed> => installed(name, version, cache, beside);
  return {
    name: `${name} ${version}`,
    native: false,
    server: { detachAfterMs: 300 },
    prepare: fetched,
    async connect(site) {
      const { node, modules } = await fetched();
      // No reports to whoever made it.
      const env = { OPENAI_AGENTS_DISABLE_TRACING: '1' };
      return PlainProgram.open({ command: node, args: [program, name, modules], env }, site);
    },
  };
}
