// Readers that do not read, and peers that are gone without a word. Sockets are real, and so are their buffers.
import { connect, createServer, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isStatus, LegacyPeer } from '../server/legacy-peer.ts';
import { listener } from '../server/listener.ts';
import { over, Peer, validated } from '../server/peer.ts';
import { settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { plain, type Running, running, until } from './fixture.ts';
import { runtimes as all } from './mounts.ts';
import { head, post, RawClient } from './raw.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Below, both releases of Express are the same. */
const runtimes = all.filter((runtime) => runtime !== 'express 4');

/** More than the operating system keeps for a connection. */
const MORE_THAN_BUFFERS = { mib: 6 };

/** How each kind of stream is opened, and what becomes of its task when the stream is given up. */
const kinds: [kind: string, open: (served: Running) => Promise<string>, left: string][] = [
  [
    'a subscription',
    async ({ far, peer }) => {
      const { taskId } = await peer.start('slow');
      return post(far.request('subscriptions/listen', { notifications: { taskIds: [taskId] } }));
    },
    'working',
  ],
  [
    'the channel of a session',
    async ({ far }) => {
      const legacy = await LegacyPeer.connect({ peer: far });
      await legacy.start('slow', {}, {}, { _meta: { progressToken: 'p' } });
      const session = { 'mcp-session-id': String(legacy.sessionId), 'mcp-protocol-version': '2025-11-25' };
      return `${head('GET', { accept: 'text/event-stream', ...session })}\r\n`;
    },
    'working',
  ],
  [
    'a call that reports progress',
    async ({ far }) => {
      const call = { name: 'slow', arguments: {} };
      return post(far.request('tools/call', call, { ...plain, meta: { progressToken: 'p' } }));
    },
    'cancelled',
  ],
];

/** Something to tell all the time: first until more is under way than a server writes ahead, then for two minutes more. */
async function report({ slow, clock }: Running): Promise<void> {
  const task = await slow;
  for (let n = 1; n <= 130; n += 1) {
    task.progress(n, 1_000_000, 'x'.repeat(1_000));
    clock.advance(2_500);
    await settle(2);
  }
}

describe.each(runtimes)('%s and a client that does not read', (runtime) => {
  it.each(kinds)('%s: it costs little, delays nobody, and is let go of in time', async (_, open, left) => {
    const served = await running(runtime, { server: { fallback: { mode: 'block', maxBlockMs: 600_000 } } });
    const { http, far, clock, quiet, all } = served;
    const opening = await open(served);
    const client = new RawClient(http.port, { reading: false });
    // Its connection is full already: the stream comes behind a result of which it has read nothing.
    client.write(post(far.request('tools/call', { name: 'big', arguments: MORE_THAN_BUFFERS }, plain)) + opening);
    await served.slow;
    await until(async () => (await all()).some(({ name, state }) => name === 'big' && state.status === 'completed'));
    clock.advance(1_000);
    await settle();
    collect();
    const before = process.memoryUsage();
    const reported = report(served);
    expect((await far.call('quick', {}, plain)).status).toBe(200); // Over another connection.
    await reported;
    await quiet();
    collect();
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(1024 * 1024);
    const task = (await all()).find(({ name }) => name === 'slow');
    expect(task?.state.status).toBe(left);
  });
});

/** A way to the server on which, from some moment on, nothing comes through and nothing is said about it. */
async function tunnel(port: number) {
  const ends: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    ends.push(near, far);
    near.pipe(far);
    far.pipe(near);
    for (const end of [near, far]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const end of ends) end.destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    /** The cable is pulled. */
    cut() {
      for (const end of ends) end.unpipe().pause();
    },
    /** The operating system has given up on what was never acknowledged, as it does after a quarter of an hour. */
    giveUp() {
      for (const end of ends) end.resetAndDestroy();
    },
  };
}

describe.each(runtimes)('%s and a peer that is gone', (runtime) => {
  it('frees what its streams held once there is too much it has not taken', async () => {
    const served = await running(runtime);
    const { http, far, clock, quiet, slow, reaches, goOn } = served;
    const way = await tunnel(http.port);
    const lost = new Peer(over(`http://127.0.0.1:${way.port}/mcp`), validated());
    const long = await far.start('slow', MORE_THAN_BUFFERS);
    const { taskId } = await far.start('asks');
    await slow;
    await reaches(taskId, 'input_required');
    const stream = await listener(lost, { taskIds: [taskId, long.taskId] });
    for (const _acknowledgedAndOneForEach of [1, 2, 3]) await stream.next();
    way.cut();
    goOn();
    await reaches(long.taskId, 'completed');
    for (let quarter = 0; quarter <= 9; quarter += 1) {
      await settle(10);
      clock.advance(15_000);
    }
    await quiet();
    // Who comes again finds its task as it was.
    const again = await listener(far, { taskIds: [taskId] });
    await again.next();
    expect((await again.next())?.['params']).toMatchObject({ taskId, status: 'input_required' });
    await far.cancel(taskId);
    expect((await again.rest()).at(-1)).toHaveProperty('result');
  });

  it('frees what its streams held once the connection is given up', async () => {
    const { http, quiet, slow, all, goOn } = await running(runtime);
    const way = await tunnel(http.port);
    const validator = validated();
    const near = { peer: new Peer(over(http.url), validator) };
    const lost = await LegacyPeer.connect({ peer: new Peer(over(`http://127.0.0.1:${way.port}/mcp`), validator) });
    const channel = await lost.channel();
    const { taskId } = await lost.start('slow');
    await slow;
    const stream = await listener(near.peer, { taskIds: [taskId] });
    await stream.next();
    way.cut();
    way.giveUp();
    await channel.ended;
    await stream.leave();
    await quiet();
    expect((await all())[0]?.state.status).toBe('working');
    const next = await lost.on(near).channel();
    goOn();
    await next.first((message) => isStatus(message) && (message['params'] as Json)['status'] === 'completed');
  });

  it('keeps no connection on which a request never comes whole', async () => {
    const { http, all } = await running(runtime);
    const way = await tunnel(http.port);
    const client = new RawClient(way.port);
    client.write(`${head('POST', { 'content-type': 'application/json', 'content-length': '1000' })}\r\n{`);
    await client.flushed();
    await until(async () => Number.isNaN(await http.connections()) || (await http.connections()) > 0);
    way.cut();
    way.giveUp();
    await until(async () => Number.isNaN(await http.connections()) || (await http.connections()) <= 1);
    expect(await all()).toEqual([]);
  });
});
