import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { answered } from '../hosts/waiting.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer, type Reading } from './legacy-peer.ts';
import { type Listener, listener } from './listener.ts';
import { serve } from './peer.ts';

// Whoever subscribes to the log of a task is told when it has grown, at most once a second.

function logging() {
  const go = deferred();
  let log: (line: string) => void = () => {};
  const served = serve((tasks: Tasks) => {
    tasks.registerTool('writes', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      log = (line) => task.log(line);
      await go.promise;
      task.log('the last line');
      return text('done');
    });
  });
  return { ...served, go, log: (line: string) => log(line) };
}

/** What is logged is written within a tenth of a second. */
async function wrote({ log, clock }: ReturnType<typeof logging>, ...lines: string[]): Promise<void> {
  for (const line of lines) log(line);
  await pass(clock, 100);
  await settle();
}

/** A look that was in vain is not repeated sooner. */
const VAIN_MS = 250;

const granted = async (listening: Listener): Promise<unknown> =>
  ((await listening.next()) as { params: { notifications: unknown } }).params.notifications;

const updated = (uri: string) => (message: Json) =>
  message['method'] === 'notifications/resources/updated' && (message['params'] as Json)['uri'] === uri;

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
