import { describe, expect, it } from 'vitest';
import { pass, settle } from '../support/engine.ts';
import { LegacyPeer, type Reading } from './legacy-peer.ts';
import { logging, updated, wrote } from './logging.ts';

// Sessions before 2026-07-28 subscribe by requests, and are told where they listen.

describe('a session of 2025-11-25 that subscribes', () => {
  const told = ({ seen }: Reading, uri: string): number => seen.filter(updated(uri)).length;

  it('hears of a task and its log where it listens, until it ends that', async () => {
    const served = logging();
    const { clock, go } = served;
    const peer = await LegacyPeer.connect(served);
    expect(peer.hello['capabilities']).toMatchObject({ resources: { subscribe: true } });
    const { taskId } = await peer.start('writes');
    await settle();
    const task = `longcall://tasks/${taskId}`;
    expect((await peer.send('resources/subscribe', { uri: `${task}/log` })).result).toEqual({});
    expect((await peer.send('resources/subscribe', { uri: task })).result).toEqual({});
    await wrote(served, 'before it listens');
    const channel = await peer.channel();
    await channel.first(updated(`${task}/log`));
    await channel.first(updated(task));
    for (let tenth = 0; tenth < 20; tenth += 1) await wrote(served, `line ${tenth}`);
    expect(told(channel, `${task}/log`)).toBeGreaterThanOrEqual(2);
    expect(told(channel, `${task}/log`)).toBeLessThanOrEqual(3);
    expect(told(channel, task)).toBe(1);
    expect((await peer.send('resources/unsubscribe', { uri: `${task}/log` })).result).toEqual({});
    const before = told(channel, `${task}/log`);
    await wrote(served, 'nobody hears');
    await pass(clock, 3_000);
    go.resolve();
    await pass(clock, 1_000);
    expect([told(channel, `${task}/log`), told(channel, task)]).toEqual([before, 2]);
  });

  it('is refused what is not its own, and what nobody can subscribe to', async () => {
    const served = logging();
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('writes');
    for (const rest of ['tsk_unknown', 'tsk_unknown/log', `${taskId}/result`, `${taskId}/log/0`]) {
      const uri = `longcall://tasks/${rest}`;
      const { error } = await peer.send('resources/subscribe', { uri });
      expect(error, rest).toMatchObject({ code: -32602, message: `Resource not found: ${uri}` });
    }
    expect((await peer.send('resources/subscribe', {})).error).toMatchObject({ code: -32602 });
    expect((await peer.send('resources/unsubscribe', { uri: 'longcall://tasks/x' })).result).toEqual({});
  });
});
