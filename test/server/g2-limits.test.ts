import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULTS } from '../../src/core/index.ts';
import { type Tasks, type TasksOptions, text } from '../../src/engine/index.ts';
import { settle } from '../support/engine.ts';
import { isSdkV1 } from './binding.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

// What a requestor of 2025-11-25 can make a server do, and what it is told when that is too much, or when all is not well.

function register(tasks: Tasks): void {
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  tasks.registerTool('quick', {}, () => text('done'));
}

const served = (tasks: Partial<TasksOptions> = {}) => serve(register, { tasks });

describe('a requestor of 2025-11-25', () => {
  it('that polls too fast is answered in its turn, and refused when too many wait [G2-S-62]', async () => {
    const { clock, ...server } = served({ maxPollsPerSecond: 2, maxWaitingPolls: 2 });
    const peer = await LegacyPeer.connect(server);
    const { taskId } = await peer.start('forever');
    const poll = () => peer.send('tasks/get', { taskId });
    for (let n = 0; n < 4; n += 1) expect((await poll()).status).toBe(200);
    const waiting = [poll(), poll()];
    await settle();
    const refused = await poll();
    expect(refused.error).toMatchObject({ code: -32603, data: { retryAfterMs: expect.any(Number) } });
    if (!isSdkV1()) {
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    }
    expect((await peer.send('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
    for (const { result } of await Promise.all(waiting)) expect(result).toMatchObject({ status: 'cancelled' });
    clock.advance(10_000);
    expect((await peer.send('tasks/get', { taskId })).status).toBe(200);
  });

  it('has so many open tasks, and no more until one is over [G2-S-63] [G2-S-52]', async () => {
    const peer = await LegacyPeer.connect(served({ maxOpenTasksPerPrincipal: 3 }));
    const { taskId } = await peer.start('forever');
    for (let n = 0; n < 2; n += 1) await peer.start('forever');
    const { error } = await peer.call('forever', {}, { task: {} });
    expect(error).toEqual({ code: -32603, message: expect.stringContaining('3') });
    expect((await peer.send('tasks/list')).result['tasks']).toHaveLength(3);
    await peer.send('tasks/cancel', { taskId });
    await peer.start('forever');
  });

  it('can read what the limits are [G2-S-66]', () => {
    const text = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8');
    const row = (name: string) => text.split('\n').find((line) => line.includes(`\`${name}\``)) ?? '';
    expect(row('maxOpenTasksPerPrincipal')).toContain(DEFAULTS.maxOpenTasksPerPrincipal.toLocaleString('en'));
    expect(row('maxTtlMs')).toContain(`at most ${DEFAULTS.maxTtlMs / 86_400_000}`);
  });

  it.each<[string, 'poll' | 'wait' | 'list' | 'cancel']>([
    ['tasks/get', 'poll'],
    ['tasks/result', 'wait'],
    ['tasks/list', 'list'],
    ['tasks/cancel', 'cancel'],
  ])('is told of a fault in %s, but not what it is [G2-S-51]', async (method, inner) => {
    const server = served();
    const peer = await LegacyPeer.connect(server);
    const { taskId } = await peer.start('quick');
    Object.assign(server.tasks.engine, {
      [inner]: () => Promise.reject(new Error('SELECT secret FROM /var/lib/tasks.db')),
    });
    const { status, error } = await peer.send(method, { taskId });
    expect({ status, error }).toEqual({ status: 200, error: { code: -32603, message: 'Internal error' } });
    expect(server.log.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});
