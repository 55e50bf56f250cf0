import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };

function register(tasks: Tasks): void {
  const task = { ttlMs: 10_000, keepResultMs: 1 };
  tasks.registerTool('quick', { task }, () => text('done'));
  tasks.registerTool('slow', { task }, () => new Promise<never>(() => {}));
}

/** Every way to ask for a task, and what it comes to: a status, or that there is no such task. */
async function surfaces() {
  const served = serve(register, { tasks: { sweepMs: 3_600_000, leaseMs: 3_600_000 } }); // Nobody sweeps.
  const legacy = await LegacyPeer.connect(served);
  const { peer } = served;
  const companion = async (name: string, taskId: string): Promise<string> => {
    const { result } = await peer.call(name, { taskId, maxWaitSec: 0 }, plain);
    const { text: said } = (result['content'] as { text: string }[])[0]!;
    if (said.startsWith('No task of yours')) return 'gone';
    return /expired before completion/.test(said) ? 'failed' : /done/.test(said) ? 'completed' : said;
  };
  const told = ({ result, error }: { result: Json | undefined; error: { code: number; message: string } }): string => {
    if (error?.code === -32602) return /not found/.test(error.message) ? 'gone' : 'over';
    if (error !== undefined) return /expired/.test(error.message) ? 'failed' : error.message;
    return typeof result?.['status'] === 'string' ? result['status'] : 'completed';
  };
  const listed = async (taskId: string) => {
    const { tasks } = (await legacy.send('tasks/list')).result as { tasks: { taskId: string; status: string }[] };
    return tasks.find((task) => task.taskId === taskId)?.status ?? 'gone';
  };
  const ask: Record<string, (taskId: string) => Promise<string>> = {
    get: async (taskId) => told(await peer.get(taskId)),
    'get of 2025-11-25': async (taskId) => told(await legacy.send('tasks/get', { taskId })),
    result: async (taskId) => told(await legacy.send('tasks/result', { taskId })),
    list: listed,
    task_status: (taskId) => companion('task_status', taskId),
    task_result: (taskId) => companion('task_result', taskId),
    task_wait: (taskId) => companion('task_wait', taskId),
  };
  const change: Record<string, (taskId: string) => Promise<string>> = {
    update: async (taskId) => ((await peer.update(taskId, {})).error === undefined ? 'there' : 'gone'),
    cancel: async (taskId) => ((await peer.cancel(taskId)).error === undefined ? 'there' : 'gone'),
    'cancel of 2025-11-25': async (taskId) =>
      told(await legacy.send('tasks/cancel', { taskId })) === 'gone' ? 'gone' : 'there',
  };
  return { ...served, ask, change };
}

describe('a task whose time is over, though nobody sweeps', () => {
  const ways = ['get', 'get of 2025-11-25', 'result', 'list', 'task_status', 'task_result', 'task_wait'];

  it.each(ways)('is told alike by all, whichever is asked first: %s [C-024]', async (first) => {
    const { ask, change, peer, clock } = await surfaces();
    const order = [first, ...ways.filter((way) => way !== first)];
    const all = async (taskId: string) =>
      Object.fromEntries(await Promise.all(order.map(async (way) => [way, await ask[way]!(taskId)])));
    const every = (status: string) => Object.fromEntries(ways.map((way) => [way, status]));
    const changes = async (taskId: string) => Promise.all(Object.values(change).map((way) => way(taskId)));

    const over = await peer.start('quick');
    const open = await peer.start('slow');
    await settle();
    clock.advance(9_999);
    expect(await all(over.taskId)).toEqual(every('completed'));
    clock.advance(2);
    expect(await all(over.taskId)).toEqual(every('gone'));
    expect(await changes(over.taskId)).toEqual(['gone', 'gone', 'gone']);
    expect(await all(open.taskId)).toEqual(every('failed'));
    expect(await changes(open.taskId)).toEqual(['there', 'there', 'there']);
    clock.advance(60_000);
    expect(await all(open.taskId)).toEqual(every('gone'));
    expect(await changes(open.taskId)).toEqual(['gone', 'gone', 'gone']);
  });
});
