import { join } from 'node:path';
import type { Bench } from '../figure.ts';
import { Host } from './host.ts';
import { startServer } from './server-process.ts';

export const FOLLOWED = 10_000;
/** What the server asks for between two polls of one task. */
export const INTERVAL_MS = 20_000;

/** A host that follows 10,000 tasks of a server of ours. @param how 'poll': the server pushes nothing */
export async function following<Value>(
  bench: Bench,
  how: 'push' | 'poll',
  look: (host: Host, before: { rss: number; heap: number }) => Promise<Value>,
): Promise<Value> {
  const server = await startServer('tasks-for-days', [bench.folder(), String(INTERVAL_MS)]);
  const host = await Host.start(['ours', server.url, join(bench.folder(), 'host.db'), how], ['--expose-gc']);
  try {
    await host.order({ do: 'follow', count: 200 }); // Its code is compiled, its caches are full.
    const before = await host.order({ do: 'memory' });
    await host.order({ do: 'follow', count: FOLLOWED });
    return await look(host, before);
  } finally {
    await host.stop();
    await server.stop();
  }
}
