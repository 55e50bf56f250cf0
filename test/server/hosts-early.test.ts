import { describe, expect, it } from 'vitest';
import { openEarly } from '../../src/server/early-stream.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred, settle } from '../support/engine.ts';

const headers = { accept: 'application/json, text/event-stream', 'mcp-method': 'tools/call' };
const stream = { 'content-type': 'text/event-stream' };

function opening(served: Promise<Response>, more: RequestInit = {}) {
  const clock = new ManualClock();
  const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, ...more });
  return { clock, opened: openEarly(clock, request, served) };
}

describe('a response that is opened early', () => {
  it('is the one there is, when that is quick', async () => {
    const answer = Response.json({ ok: true }, { status: 400, headers: { 'x-mine': '1' } });
    const { opened, clock } = opening(Promise.resolve(answer));
    expect(await opened).toBe(answer);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ['that is no POST', { method: 'GET' }],
    ['that takes no stream', { headers: { ...headers, accept: 'application/json' } }],
    ['that may begin a session', { headers: { accept: headers.accept } }],
  ])('is waited for by a request %s', async (_, more) => {
    const served = deferred<Response>();
    const { opened, clock } = opening(served.promise, more);
    clock.advance(5_000);
    const answer = Response.json({ ok: true });
    served.resolve(answer);
    expect(await opened).toBe(answer);
  });

  it.each<[string, Response, string]>([
    ['one message', Response.json({ ok: true }), 'event: message\ndata: {"ok":true}\n\n'],
    ['a stream', new Response('data: 1\n\ndata: 2\n\n', { headers: stream }), 'data: 1\n\ndata: 2\n\n'],
    ['nothing to say', new Response(null, { status: 202 }), ''],
  ])('carries what comes late: %s', async (_, answer, told) => {
    const served = deferred<Response>();
    const { opened, clock } = opening(served.promise);
    clock.advance(1_000);
    const response = await opened;
    expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    served.resolve(answer);
    expect(await response.text()).toBe(`: open\n\n${told}`);
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends when what it waits for fails, and when its client goes', async () => {
    const broken = deferred<Response>();
    const first = opening(broken.promise);
    first.clock.advance(1_000);
    const response = await first.opened;
    broken.reject(new Error('broken'));
    expect(await response.text()).toBe(': open\n\n');
    const client = new AbortController();
    const second = opening(new Promise(() => {}), { signal: client.signal });
    second.clock.advance(1_000);
    const gone = await second.opened;
    client.abort();
    expect(await gone.text()).toBe(': open\n\n');
    await settle(2);
    expect(second.clock.pendingTimers).toBe(0);
  });
});
