import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { createTasks, type TaskContext, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { deferred } from '../support/engine.ts';
import { scratchFolder, silent } from '../support/stores.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { closing, over, Peer, serve, validated } from './peer.ts';

const plain = { capabilities: {} };

/** A server on a file, with a tool that resumes. */
function onFile() {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const path = join(folder.path, 'tasks.db');
  const running = deferred<TaskContext>();
  const served = serve(
    (tasks) =>
      tasks.registerTool('slow', { task: { onWorkerLost: 'resume' } }, async (_args, task) => {
        running.resolve(task);
        await new Promise((resolve) => task.signal.addEventListener('abort', resolve));
        return text('never');
      }),
    { tasks: { store: sqliteStore(path) } },
  );
  /** What another process finds. */
  const left = async () => {
    const { clock } = served;
    const tasks = createTasks({ store: sqliteStore(path), slots: 0, logger: silent, clock, drainMs: 0 });
    const { state } = await tasks.engine.get((await running.promise).id, LOCAL_PRINCIPAL);
    await closing(tasks, clock);
    return state.status;
  };
  return { ...served, running: running.promise, left };
}

describe('a server that is shut down', () => {
  it.each(['2026-07-28', '2025-11-25'])('has cancelled no call of a client without tasks: %s', async (version) => {
    const { peer, server, clock, running, left } = onFile();
    await peer.send('tools/list', {});
    const legacy = version === '2025-11-25' ? await LegacyPeer.connect({ peer }) : undefined;
    const call = legacy?.call('slow') ?? peer.call('slow', {}, plain);
    call.catch(() => {});
    await running;
    await closing(server, clock);
    expect(await left()).toBe('working');
  });

  it.each(['2026-07-28', '2025-11-25'])('with open connections neither: %s', async (version) => {
    const { peer, server, clock, running, left } = onFile();
    await peer.send('tools/list', {});
    const listener = await server.listen({ port: 0 });
    const far = new Peer(over(listener.url), validated());
    await far.send('tools/list', {});
    const legacy = version === '2025-11-25' ? await LegacyPeer.connect({ peer: far }) : undefined;
    const arriving =
      legacy?.stream('tools/call', { name: 'slow', arguments: {} }) ??
      far.stream('tools/call', { name: 'slow', arguments: {} }, plain);
    arriving.catch(() => {});
    await running;
    clock.advance(1_000);
    await arriving;
    await closing(server, clock);
    expect(await left()).toBe('working');
  });
});
