import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { mortal } from '../../src/testing/mortal.ts';
import { pass, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };

describe('a result', () => {
  it('is the same for every reader on every surface, also when its first reply was lost [C-101]', async () => {
    const served = serve((tasks) => tasks.registerTool('quick', {}, () => text('once')));
    const { peer, reaches } = served;
    const readers = [await LegacyPeer.connect(served), await LegacyPeer.connect(served)];
    const { taskId } = await peer.start('quick');
    await reaches(taskId, 'completed');
    const lost = new AbortController();
    const first = peer.get(taskId, { signal: lost.signal });
    lost.abort();
    await first;
    const twice = async (read: () => Promise<unknown>) => {
      const [one, two] = [await read(), await read()];
      expect(JSON.stringify(two)).toBe(JSON.stringify(one));
      expect(JSON.stringify(one)).toContain('once');
    };
    await twice(async () => (await peer.get(taskId)).result['result']);
    for (const reader of readers) await twice(async () => (await reader.send('tasks/result', { taskId })).result);
    for (const name of ['task_result', 'task_wait', 'task_wait']) {
      await twice(async () => (await peer.call(name, { taskId }, plain)).result['content']);
    }
    const uri = `longcall://tasks/${taskId}/result`;
    await twice(async () => (await peer.send('resources/read', { uri }, { headers: { 'mcp-name': uri } })).result);
  });
});

describe('a call of a client with the extension', () => {
  const register = (tasks: Tasks): void => {
    tasks.registerTool('quick', {}, () => text('at once'));
    tasks.registerTool('slow', { inputSchema: z.object({}) }, () => new Promise<never>(() => {}));
  };

  it('is answered with the result where that is there in time, and with a handle where not [G3-S-73]', async () => {
    const { peer, clock } = serve(register, { server: { inlineWithinMs: 200 } });
    const quick = await peer.call('quick');
    expect(quick.result).toMatchObject({ resultType: 'complete', content: [{ text: 'at once' }] });
    const slow = peer.call('slow');
    await settle();
    clock.advance(200);
    expect((await slow).result).toMatchObject({ resultType: 'task', status: 'working' });
  });

  it('that goes away while it waits so has called its task off [G3-S-88]', async () => {
    const { peer, clock, tasks } = serve(register, { server: { inlineWithinMs: 60_000 } });
    const request = new AbortController();
    const call = peer.call('slow', {}, { signal: request.signal });
    await settle();
    request.abort();
    await call;
    await pass(clock, 1_000);
    await peer.send('tools/list', {});
    expect((await tasks.inspect.counts()).byStatus).toMatchObject({ cancelled: 1, working: 0 });
  });
});

describe('a task whose server died', () => {
  it('shows since when there is no news of it, and is looked after by the next sweep [C-032]', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const path = join(folder.path, 'tasks.db');
    const register = (tasks: Tasks) => tasks.registerTool('work', {}, () => new Promise<never>(() => {}));
    const backend = mortal(sqliteStore(path));
    const { tasks: dead, clock } = someTasks({ store: backend });
    register(dead);
    const { taskId, updatedAt } = await start(dead, 'work');
    await settle();
    backend.kill();
    const unswept = serve(register, { tasks: { store: sqliteStore(path), slots: 0, sweepMs: 3_600_000, clock } });
    clock.advance(600_000);
    const lastUpdatedAt = new Date(updatedAt).toISOString();
    expect((await unswept.peer.get(taskId)).result).toMatchObject({ status: 'working', lastUpdatedAt });
    const { result } = await unswept.peer.call('task_status', { taskId }, plain);
    expect((result['content'] as { text: string }[])[0]?.text).toContain('without news for 10 min');
    await unswept.tasks.engine.sweep();
    const { state } = await unswept.tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({ status: 'failed', error: { message: expect.stringMatching(/^interrupted/) } });
  });
});
