// What a mounted handler owes its clients, whichever server it is in.
import { describe, expect, it, vi } from 'vitest';
import { isStatus, LegacyPeer } from '../server/legacy-peer.ts';
import { listener } from '../server/listener.ts';
import { closing } from '../server/peer.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { plain, running, until } from './fixture.ts';
import { runtimes } from './mounts.ts';
import { post, RawClient } from './raw.ts';

describe.each(runtimes)('%s', (runtime) => {
  it('serves a task from its call to its answer and its result', async () => {
    const { far, reaches } = await running(runtime);
    const { taskId } = await far.start('asks');
    await reaches(taskId, 'input_required');
    const asked = await far.get(taskId);
    expect(Object.keys(asked.result['inputRequests'] as Json)).toEqual(['sure']);
    await far.update(taskId, { sure: { action: 'accept', content: { ok: true } } });
    await reaches(taskId, 'completed');
    expect((await far.get(taskId)).result).toMatchObject({ result: { content: [{ text: 'accept' }] } });
  });

  it('opens the stream of a long call at once, whole pieces as they are written', async () => {
    const { http, far, clock, slow, goOn } = await running(runtime);
    const client = new RawClient(http.port);
    client.write(
      post(far.request('tools/call', { name: 'slow', arguments: {} }, plain), { 'accept-encoding': 'gzip' }),
    );
    await slow;
    clock.advance(1_000);
    await client.has(': open\n\n');
    expect(client.text).toMatch(/^content-type: text\/event-stream/im);
    expect(client.text).toMatch(/^cache-control: .*no-transform/im);
    expect(client.text).not.toMatch(/^content-encoding/im);
    clock.advance(15_000);
    await client.has(': keep-alive\n\n');
    goOn();
    await client.has('"text":"done"');
    client.write(post(far.request('tools/list', {}))); // The connection goes on.
    await client.has('"tools":');
  });

  it.each(['before', 'after'])(
    'a call of 2026-07-28 is called off by its connection, cut %s its headers',
    async (when) => {
      const { http, far, clock, slow, all, quiet } = await running(runtime);
      const client = new RawClient(http.port);
      client.write(post(far.request('tools/call', { name: 'slow', arguments: {} }, plain)));
      const { signal } = await slow;
      if (when === 'after') {
        clock.advance(1_000);
        await client.has(': open\n\n');
      }
      client.vanish();
      await until(async () => (await all())[0]?.state.status === 'cancelled');
      await until(() => signal.aborted);
      await quiet();
    },
  );

  it('a call of 2025-11-25 is not, and its result is there', async () => {
    const { far, clock, slow, goOn, all, quiet } = await running(runtime);
    const legacy = await LegacyPeer.connect({ peer: far });
    const cut = new AbortController();
    const called = legacy.stream('tools/call', { name: 'slow', arguments: {} }, { signal: cut.signal });
    called.catch(() => {});
    await slow;
    clock.advance(1_000);
    await called;
    cut.abort();
    await settle(50);
    expect((await all())[0]?.state.status).toBe('working');
    goOn();
    await until(async () => (await all())[0]?.state.status === 'completed');
    await quiet();
  });

  it('tells subscribers and channels what happens, and lets go of them when they leave', async () => {
    const { far, slow, goOn, quiet, reaches } = await running(runtime);
    const legacy = await LegacyPeer.connect({ peer: far });
    const leave = new AbortController();
    const channel = await legacy.channel(leave.signal);
    const { taskId } = await legacy.start('slow');
    await slow;
    const stream = await listener(far, { taskIds: [taskId] });
    await stream.next();
    expect((await stream.next())?.['params']).toMatchObject({ taskId, status: 'working' });
    goOn();
    await channel.first((message) => isStatus(message) && (message['params'] as Json)['status'] === 'completed');
    expect((await stream.rest()).map(({ params, result }) => (params as Json)?.['status'] ?? Boolean(result))).toEqual([
      'completed',
      true,
    ]);
    await reaches(taskId, 'completed');
    leave.abort();
    await quiet();
  });

  it('sends a result of 6 MiB', async () => {
    const { far } = await running(runtime);
    const { result } = await far.call('big', { mib: 6 }, plain);
    expect(String((result['content'] as Json[])[0]?.['text'])).toHaveLength(6 * 1024 * 1024);
  });

  it('is shut down without cancelling what runs, and its streams end', async () => {
    const { http, far, server, clock, slow, tasks } = await running(runtime);
    const client = new RawClient(http.port);
    client.write(post(far.request('tools/call', { name: 'slow', arguments: {} }, plain)));
    const { signal } = await slow;
    clock.advance(1_000);
    await client.has(': open\n\n');
    const cancel = vi.spyOn(tasks.engine, 'cancel');
    const abandon = vi.spyOn(tasks.engine, 'abandon');
    await closing(server, clock);
    await http.close();
    await client.rest();
    expect(signal.aborted).toBe(true); // Handed over, for the next process to go on with.
    expect(cancel).not.toHaveBeenCalled();
    expect(abandon).not.toHaveBeenCalled();
  });
});
