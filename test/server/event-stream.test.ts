import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { openEarly } from '../../src/server/early-stream.ts';
import { eventStream } from '../../src/server/event-stream.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { settle } from '../support/engine.ts';

const MIB = 1024 * 1024;
const message = (bytes: number): string => `data: ${'x'.repeat(bytes)}\n\n`;

function opened() {
  const clock = new ManualClock();
  const gone = new AbortController();
  const request = new Request('http://127.0.0.1/mcp', { signal: gone.signal });
  const stream = eventStream(clock, request);
  let closed = false;
  void stream.closed.then(() => {
    closed = true;
  });
  return {
    ...stream,
    clock,
    gone,
    request,
    reader: stream.response.body!.getReader(),
    isClosed: async () => {
      await settle(1);
      return closed;
    },
  };
}

type Opened = ReturnType<typeof opened>;

async function readText(reader: Opened['reader']): Promise<string> {
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += new TextDecoder().decode(value);
  }
}

describe('an event stream that nobody reads', () => {
  it('is given up after 8 MiB, and holds none of it any more', async () => {
    const { write, reader, clock, isClosed } = opened();
    for (let mib = 0; mib < 8; mib += 1) write(message(MIB));
    expect(await isClosed()).toBe(false);
    write(message(1));
    expect(await isClosed()).toBe(true);
    await expect(reader.read()).rejects.toThrow('given up');
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ['that stays open', () => {}],
    ['that was ended', ({ end }: Opened) => end()],
  ])('is given up after two minutes: one %s', async (_, then) => {
    const stream = opened();
    stream.write(message(10));
    then(stream);
    for (let quarter = 0; quarter < 7; quarter += 1) stream.clock.advance(15_000);
    expect(stream.clock.pendingTimers).toBe(1);
    stream.clock.advance(15_000);
    expect(await stream.isClosed()).toBe(true);
    await expect(stream.reader.read()).rejects.toThrow('given up');
    expect(stream.clock.pendingTimers).toBe(0);
    expect(getEventListeners(stream.request.signal, 'abort')).toEqual([]);
  });

  it('is given up as soon when there is always more to tell', async () => {
    const { write, reader, clock, isClosed } = opened();
    for (let seconds = 0; seconds <= 120 && !(await isClosed()); seconds += 10) {
      write(message(10));
      clock.advance(10_000);
    }
    expect(await isClosed()).toBe(true);
    await expect(reader.read()).rejects.toThrow('given up');
  });

  it('is told no comments meanwhile', async () => {
    const { reader, clock, end } = opened();
    for (let quarter = 0; quarter < 5; quarter += 1) clock.advance(15_000);
    end();
    expect(await readText(reader)).toBe(': open\n\n');
  });

  it('keeps nobody waiting for room once it is given up', async () => {
    const { room, clock } = opened();
    const waited = room();
    for (let quarter = 0; quarter < 8; quarter += 1) clock.advance(15_000);
    await waited;
  });
});

describe('an event stream that is read slowly', () => {
  it('stays, as long as a piece is taken now and then', async () => {
    const { write, reader, clock, end } = opened();
    write(message(7 * MIB));
    end();
    let bytes = 0;
    for (;;) {
      for (let quarter = 0; quarter < 7; quarter += 1) clock.advance(15_000);
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.byteLength;
    }
    expect(bytes).toBe(': open\n\n'.length + message(7 * MIB).length);
    expect(clock.pendingTimers).toBe(0);
  });

  it('may be quiet for as long as it likes, if all was read', async () => {
    const { reader, clock } = opened();
    await reader.read();
    for (let quarter = 0; quarter < 40; quarter += 1) {
      const next = reader.read();
      clock.advance(15_000);
      expect(new TextDecoder().decode((await next).value)).toBe(': keep-alive\n\n');
    }
  });

  it('is over at once when its connection is', async () => {
    const { write, reader, clock, gone, isClosed, request } = opened();
    write(message(10));
    gone.abort();
    expect(await isClosed()).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(getEventListeners(request.signal, 'abort')).toEqual([]);
    expect(await readText(reader)).toContain('x'.repeat(10));
  });
});

describe('the stream of the SDK that is copied', () => {
  const headers = { accept: 'text/event-stream', 'mcp-method': 'tools/call' };

  /** A stream that is written to without regard for who reads, as the SDK writes it. */
  async function copied() {
    const clock = new ManualClock();
    let writer!: ReadableStreamDefaultController<Uint8Array>;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        writer = controller;
      },
      cancel() {
        cancelled = true;
      },
    });
    const served = new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-mine': '1' } });
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers });
    const response = await openEarly(clock, request, Promise.resolve(served));
    const write = (text: string) => writer.enqueue(new TextEncoder().encode(text));
    return { clock, response, write, writer, isCancelled: () => cancelled };
  }

  it('keeps its status and its headers', async () => {
    const { response, write, writer } = await copied();
    expect(response.headers.get('x-mine')).toBe('1');
    write('data: 1\n\n');
    writer.close();
    expect(await response.text()).toBe(': open\n\ndata: 1\n\n');
  });

  it('has the same bounds: it is cancelled when nobody reads', async () => {
    const { clock, response, write, isCancelled } = await copied();
    for (let second = 0; second < 120; second += 10) {
      write(message(10));
      await settle(1);
      clock.advance(10_000);
    }
    write(message(10));
    await settle(2);
    expect(isCancelled()).toBe(true);
    await expect(response.text()).rejects.toThrow('given up');
  });
});
