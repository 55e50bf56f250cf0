import { describe, expect, it } from 'vitest';
import { text } from '../../src/engine/index.ts';
import { answered } from '../hosts/waiting.ts';
import { pass, settle } from '../support/engine.ts';
import { type Listener, listener } from './listener.ts';
import { logging, updated, wrote } from './logging.ts';
import { serve } from './peer.ts';

// Whoever subscribes to the log of a task is told when it has grown, at most once a second.

/** A look that was in vain is not repeated sooner. */
const VAIN_MS = 250;

const granted = async (listening: Listener): Promise<unknown> =>
  ((await listening.next()) as { params: { notifications: unknown } }).params.notifications;

describe('a listen of 2026-07-28 to the log of a task', () => {
  it('is told that it has grown, at most once a second, and ends with the task', async () => {
    const served = logging();
    const { peer, clock, go } = served;
    const { taskId } = await peer.start('writes');
    await settle();
    const uri = `longcall://tasks/${taskId}/log`;
    const listening = await listener(peer, { resourceSubscriptions: [uri, `longcall://tasks/${taskId}/result`] });
    expect(await granted(listening)).toEqual({ resourceSubscriptions: [uri] });
    await wrote(served, 'one');
    await pass(clock, VAIN_MS);
    expect(await listening.next()).toMatchObject({ method: 'notifications/resources/updated', params: { uri } });
    const reading = listening.rest();
    for (let tenth = 0; tenth < 25; tenth += 1) await wrote(served, `line ${tenth}`);
    await pass(clock, 1_000);
    go.resolve();
    const { answer: rest } = await answered(clock, reading);
    const told = rest.filter(updated(uri)).length;
    // Two and a half seconds of lines, the second after them, and the end.
    expect(told).toBeGreaterThanOrEqual(3);
    expect(told).toBeLessThanOrEqual(5);
    expect(rest.at(-1)).toHaveProperty('result');
  });

  it('is told at once of what is there already, and nothing where nothing is logged', async () => {
    const served = logging();
    const { peer, clock, go } = served;
    const { taskId } = await peer.start('writes');
    await settle();
    const uri = `longcall://tasks/${taskId}/log`;
    const early = await listener(peer, { resourceSubscriptions: [uri] });
    await granted(early);
    const first = answered(clock, early.next());
    await pass(clock, 5_000);
    await wrote(served, 'one');
    expect((await first).answer).toMatchObject({ params: { uri } });
    const late = await listener(peer, { resourceSubscriptions: [uri] });
    await granted(late);
    expect((await answered(clock, late.next())).answer).toMatchObject({ params: { uri } });
    go.resolve();
    for (const listening of [early, late]) {
      const { answer: rest } = await answered(clock, listening.rest());
      expect(rest).toMatchObject([{ params: { uri } }, { result: {} }]);
    }
  });

  it('is not accepted by anybody but the owner, nor for what is no log', async () => {
    const principal = { current: 'alice' };
    const { peer, reaches } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')), {
      server: { principal: () => ({ subject: principal.current }) },
    });
    const { taskId } = await peer.start('quick');
    await reaches(taskId, 'completed');
    const grants = async (...rest: string[]) => {
      const uris = rest.map((one) => `longcall://tasks/${one}`);
      const listening = await listener(peer, { resourceSubscriptions: uris });
      return granted(listening);
    };
    expect(await grants(`${taskId}/log/0`, `${taskId}/log/`, 'tsk_unknown/log', '/log')).toEqual({});
    principal.current = 'mallory';
    expect(await grants(`${taskId}/log`)).toEqual({});
  });
});
