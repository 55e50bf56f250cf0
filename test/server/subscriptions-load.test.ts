import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { countWatches, listener } from './listener.ts';
import { type Peer, type Served, serve } from './peer.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** More than one open stream may cost, in bytes: its subscription, its web streams, its timer. */
const BYTES_PER_STREAM = 40_000;

/** A tool that reports as often as it is told to, each time with a message of a thousand characters. */
function tools(tasks: Tasks, report: { current: (n: number) => void }, go: Promise<unknown>): void {
  tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    report.current = (n) => task.progress(n, 100_000, 'x'.repeat(1_000));
    await go;
    return text('done');
  });
  tasks.registerTool('big', { inputSchema: z.object({ bytes: z.number() }) }, ({ bytes }) => text('y'.repeat(bytes)));
}

function someWork(): Served & { report: { current: (n: number) => void }; go: ReturnType<typeof deferred<void>> } {
  const report = { current: (_n: number) => {} };
  const go = deferred();
  return { ...serve((tasks) => tools(tasks, report, go.promise)), report, go };
}

/** The bare request of a listen, for a server's own `fetch`. */
function listenRequest(peer: Peer, taskIds: string[], signal?: AbortSignal): Request {
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(peer.request('subscriptions/listen', { notifications: { taskIds } })),
    ...(signal && { signal }),
  });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads, with as little of its own as can be, until `wanted` has come. */
async function readUntil(reader: Reader, wanted: string): Promise<void> {
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended without ${wanted}`);
    if (decoder.decode(value).includes(wanted)) return;
  }
}

describe('a subscriber that does not read', () => {
  it('is told how things stand when it reads again, not what happened meanwhile [C-076]', async () => {
    const { peer, clock, report, go, when, reaches } = someWork();
    const { taskId } = await peer.start('work');
    const stream = await listener(peer, { taskIds: [taskId] });
    await stream.next();
    for (let n = 1; n <= 200; n += 1) {
      report.current(n);
      clock.advance(100);
      await settle(3);
    }
    await when(taskId, ({ statusMessage }) => String(statusMessage).startsWith('200/'));
    const seen: unknown[] = [];
    go.resolve();
    await reaches(taskId, 'completed');
    for (const { params, result } of await stream.rest()) {
      seen.push(result === undefined ? String((params as Json)['statusMessage']).split(' ')[0] : 'result');
    }
    // What the streams in between had taken already, and then the end.
    expect(seen.length).toBeLessThan(10);
    expect(seen.slice(-2)).toEqual(['undefined', 'result']);
  });

  it('costs no memory, however much there is to tell', async () => {
    const { peer, server, clock, report, go } = someWork();
    const { taskId } = await peer.start('work');
    const gone = new AbortController();
    const response = await server.fetch(listenRequest(peer, [taskId], gone.signal));
    await settle();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 1; n <= 1_000; n += 1) {
      report.current(n);
      clock.advance(100);
      await settle(2);
    }
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(500_000); // Told one by one it were 1.2 MB at least.
    gone.abort();
    await response.body?.cancel();
    go.resolve();
  });

  it('is let go of when its request is aborted', async () => {
    const { peer, server, tasks, clock, go } = someWork();
    const { taskId } = await peer.start('work');
    const watches = countWatches(tasks);
    const timers = clock.pendingTimers;
    const gone = new AbortController();
    const request = listenRequest(peer, [taskId], gone.signal);
    await server.fetch(request);
    expect(watches.open).toBe(1);
    gone.abort();
    await settle();
    expect(watches.open).toBe(0);
    expect(clock.pendingTimers).toBe(timers);
    expect(getEventListeners(request.signal, 'abort')).toEqual([]);
    go.resolve();
  });

  it('gets results of any size, as long as it reads', async () => {
    const { peer, reaches } = someWork();
    const big = await Promise.all([1, 2].map(() => peer.start('big', { bytes: 9_000_000 })));
    for (const { taskId } of big) await reaches(taskId, 'completed');
    const stream = await listener(peer, { taskIds: big.map(({ taskId }) => taskId) });
    const all = await stream.rest();
    expect(all.map((message) => JSON.stringify(message).length > 9_000_000)).toEqual([false, true, true, false]);
  });
});

describe('a thousand subscribers', () => {
  it('cost bounded memory each, and leave nothing behind', async () => {
    const { peer, server, tasks, clock, go, reaches } = someWork();
    const { taskId } = await peer.start('work');
    const watches = countWatches(tasks);
    const open = async () => {
      const { body } = await server.fetch(listenRequest(peer, [taskId]));
      const reader = body!.getReader();
      await readUntil(reader, 'notifications/tasks');
      return reader;
    };
    await (await open()).cancel(); // What is made once is there by now.
    await settle();
    const timers = clock.pendingTimers;
    collect();
    const before = process.memoryUsage().heapUsed;
    const streams = [];
    for (let n = 1; n <= 1_000; n += 1) streams.push(await open());
    await settle();
    collect();
    const bytes = (process.memoryUsage().heapUsed - before) / streams.length;
    console.log(`an open subscription costs ${Math.round(bytes)} bytes of heap`);
    expect(bytes).toBeLessThan(BYTES_PER_STREAM);
    expect(watches.open).toBe(1_000);
    expect(clock.pendingTimers).toBe(timers + 1_000); // Each keeps its connection alive.

    for (const reader of streams.slice(0, 500)) await reader.cancel(); // What a connection that broke looks like.
    await settle();
    expect(watches.open).toBe(500);
    expect(clock.pendingTimers).toBe(timers + 500);
    go.resolve();
    await reaches(taskId, 'completed');
    for (const reader of streams.slice(500)) {
      await readUntil(reader, '"status":"completed"');
      await readUntil(reader, '"resultType":"complete"');
      expect((await reader.read()).done).toBe(true);
    }
    await settle();
    expect(watches.open).toBe(0);
    expect(clock.pendingTimers).toBeLessThanOrEqual(timers);
    streams.length = 0;
    collect();
    await settle();
    collect();
    expect((process.memoryUsage().heapUsed - before) / 1_000).toBeLessThan(BYTES_PER_STREAM / 10);
  });
});
