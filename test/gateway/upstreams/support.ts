import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { isAlive, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import { connectRemote, type Remote } from '../../../src/client/index.ts';
import type { JsonObject } from '../../../src/core/index.ts';
import {
  type StdioStatus,
  type SupervisedStdio,
  type SupervisedStdioOptions,
  supervisedStdio,
} from '../../../src/gateway/upstreams/supervised-stdio.ts';

export const FIXTURE = join(import.meta.dirname, '..', 'fixtures', 'upstream.mjs');

export interface Watched {
  upstream: SupervisedStdio;
  /** All processes that were started, in turn. */
  processes: ProcessIdentity[];
  /** Resolves when the status is as it should be; looked at whenever it changes. */
  reaches(wanted: (status: StdioStatus) => boolean): Promise<StdioStatus>;
  connect(options?: { requestTimeoutMs?: number }): Promise<Remote>;
}

/** The fixture under supervision; ended after the test. */
export function supervised(flags: readonly string[] = [], options: Partial<SupervisedStdioOptions> = {}): Watched {
  const processes: ProcessIdentity[] = [];
  const waiting = new Set<() => void>();
  const upstream = supervisedStdio({
    command: process.execPath,
    args: [FIXTURE, ...flags.map((flag) => `--${flag}`)],
    stdinGraceMs: 300,
    termGraceMs: 300,
    ...options,
    onProcess: (identity) => {
      processes.push(identity);
      return options.onProcess?.(identity) ?? (() => {});
    },
    onChange: () => {
      options.onChange?.();
      for (const look of waiting) look();
    },
  });
  onTestFinished(() => upstream.close());
  return {
    upstream,
    processes,
    reaches: (wanted) =>
      new Promise((resolve) => {
        const look = (): void => {
          const status = upstream.status();
          if (!wanted(status)) return;
          waiting.delete(look);
          resolve(status);
        };
        waiting.add(look);
        look();
      }),
    async connect(more = {}) {
      const remote = await connectRemote({ ...upstream, ...more, ...(options.clock && { clock: options.clock }) });
      onTestFinished(async () => remote[Symbol.asyncDispose]());
      return remote;
    },
  };
}

let keys = 0;

/** What a tool of the fixture answers. */
export async function call(remote: Remote, name: string, args: JsonObject = {}): Promise<string> {
  keys += 1;
  const started = await remote.start({ name, arguments: args, idempotencyKey: `key ${keys}` });
  if (started.kind !== 'immediate') throw new Error('a task');
  const { outcome } = started;
  if (outcome.status === 'failed') throw new Error(outcome.error.message);
  if (outcome.status !== 'completed') throw new Error(outcome.status);
  const [content] = outcome.result['content'] as { text: string }[];
  return content?.text ?? '';
}

export function alive(processes: readonly ProcessIdentity[]): number[] {
  return processes.filter(isAlive).map(({ pid }) => pid);
}
