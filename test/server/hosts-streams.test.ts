// Over loopback, since what matters here is when bytes leave.
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_PRINCIPAL, type TaskState } from '../../src/core/index.ts';
import { type TaskContext, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/task-server.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { over, Peer, serve, validated } from './peer.ts';

const plain = { capabilities: {} };

/** A server on a port, with a tool that runs until it is told to end. */
async function listening(options: { server?: TaskServerOptions } = {}) {
  const running = deferred<TaskContext>();
  const goOn = deferred();
  const served = serve((tasks) => {
    tasks.registerTool('quick', {}, () => text('quick'));
    tasks.registerTool('required', { task: { support: 'required' } }, () => text('never'));
    tasks.registerTool('slow', {}, async (_args, task) => {
      running.resolve(task);
      await Promise.race([goOn.promise, new Promise((resolve) => task.signal.addEventListener('abort', resolve))]);
      return text('done');
    });
  }, options);
  const listener = await served.server.listen({ port: 0 });
  onTestFinished(() => listener.close());
  await served.peer.send('tools/list', {});
  const peer = new Peer(over(listener.url), validated());
  await peer.send('tools/list', {});
  const state = async (): Promise<TaskState> =>
    (await served.tasks.engine.get((await running.promise).id, LOCAL_PRINCIPAL)).state;
  return { ...served, peer, running: running.promise, goOn, state };
}

/** What arrives on a stream, a piece at a time. */
function pieces(response: Response): () => Promise<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  return async () => (await reader.read()).value ?? '';
}

/** Network and server take turns until something is so. */
async function until(happened: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await happened())) {
    if (performance.now() > deadline) throw new Error('it does not happen');
    await settle(1);
  }
}

describe('5. open the event stream at once', () => {
  it.each(['2026-07-28', '2025-11-25'])('on %s: headers and a comment long before the result', async (version) => {
    const { peer, running, goOn, clock } = await listening();
    const call = { name: 'slow', arguments: {} };
    const legacy = version === '2025-11-25' ? await LegacyPeer.connect({ peer }) : undefined;
    const arriving = legacy?.stream('tools/call', call) ?? peer.stream('tools/call', call, plain);
    await running;
    clock.advance(1_000);
    const response = await arriving;
    const { status, headers } = response;
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/event-stream' });
    const next = pieces(response);
    expect(await next()).toBe(': open\n\n');
    goOn.resolve();
    const [message] = (await next()).matchAll(/^data: (.+)$/gm);
    expect(JSON.parse(message![1]!)).toMatchObject({ result: { content: [{ text: 'done' }] } });
    expect(await next()).toBe('');
  });

  it('of a client without a session too', async () => {
    const { peer, running, goOn } = await listening();
    const legacy = await LegacyPeer.connect({ peer }, { bare: true });
    const response = legacy.stream('tools/call', { name: 'slow', arguments: {} });
    await running;
    const next = pieces(await response);
    expect(await next()).toBe(': open\n\n');
    goOn.resolve();
    expect(await next()).toContain('"text":"done"');
  });

  it('and a comment every 15 s, so that a proxy that cuts what is silent has nothing to cut [C-092]', async () => {
    const { peer, running, clock } = await listening({ server: { fallback: { mode: 'block' } } });
    const arriving = peer.stream('tools/call', { name: 'slow', arguments: {} }, plain);
    await running;
    clock.advance(1_000);
    const next = pieces(await arriving);
    expect(await next()).toBe(': open\n\n');
    for (let time = 0; time < 4; time += 1) {
      clock.advance(15_000);
      expect(await next()).toBe(': keep-alive\n\n');
    }
  });

  it('and leave quick answers as they are, with their status', async () => {
    const { peer } = await listening();
    const told = await peer.call('quick', {}, plain);
    expect({ status: told.status, type: told.headers.get('content-type') }).toMatchObject({
      status: 200,
      type: expect.stringMatching(/^application\/json/),
    });
    const refused = await peer.call('required', {}, plain);
    expect({ status: refused.status, type: refused.headers.get('content-type') }).toMatchObject({
      status: 400,
      type: expect.stringMatching(/^application\/json/),
    });
    expect(refused.error).toMatchObject({ code: -32021 });
  });

  it('but not before the header that begins a session is known', async () => {
    const { peer, clock } = await listening();
    const connecting = LegacyPeer.connect({ peer });
    clock.advance(5_000); // As if the store took long to open.
    expect((await connecting).sessionId).toEqual(expect.any(String));
  });

  it('for a client that takes no stream there is none: it gets a short answer', async () => {
    const { peer, running, clock } = await listening();
    const arriving = peer.stream(
      'tools/call',
      { name: 'slow', arguments: {} },
      { ...plain, headers: { accept: 'application/json' } },
    );
    arriving.catch(() => {});
    const answer = await Promise.race([arriving, running.then(async () => pass(clock, 25_000)).then(() => arriving)]);
    expect([200, 406]).toContain(answer.status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  });
});

describe('7. "cancelled" is not one signal', () => {
  it('2026-07-28: closing the stream has called off what nobody else waits for', async () => {
    const { peer, running, clock, state } = await listening();
    const request = new AbortController();
    const arriving = peer.stream('tools/call', { name: 'slow', arguments: {} }, { ...plain, signal: request.signal });
    await running;
    clock.advance(1_000);
    await arriving;
    request.abort();
    await until(async () => (await state()).status === 'cancelled');
    expect((await running).signal.aborted).toBe(true);
  });

  it('2026-07-28: closing the connection before there is a stream has, too', async () => {
    const { peer, running, state } = await listening();
    const request = new AbortController();
    const arriving = peer.stream('tools/call', { name: 'slow', arguments: {} }, { ...plain, signal: request.signal });
    arriving.catch(() => {});
    await running;
    request.abort();
    await until(async () => (await state()).status === 'cancelled');
  });

  it.each(['before', 'after'])('2025-11-25: a call survives its stream, cut %s its headers', async (when) => {
    const { peer, running, goOn, clock, state, log } = await listening();
    const legacy = await LegacyPeer.connect({ peer });
    const request = new AbortController();
    const arriving = legacy.stream('tools/call', { name: 'slow', arguments: {} }, { signal: request.signal });
    arriving.catch(() => {});
    await running;
    if (when === 'after') {
      clock.advance(1_000);
      await arriving;
    }
    request.abort();
    await settle(50);
    expect((await state()).status).toBe('working');
    goOn.resolve();
    await until(async () => (await state()).status === 'completed');
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it.each([
    ['MCP request cancelled by caller', 'cancelled'],
    ['McpError: MCP error -32001: Request timed out', 'working'],
  ])('2025-11-25: a stream that is closed before it is said why: "%s"', async (reason, status) => {
    const { peer, running, state, clock } = await listening();
    const legacy = await LegacyPeer.connect({ peer });
    const request = new AbortController();
    const arriving = legacy.stream('tools/call', { name: 'slow', arguments: {} }, { id: 77, signal: request.signal });
    arriving.catch(() => {});
    await running;
    request.abort();
    await settle(50);
    expect((await state()).status).toBe('working');
    await legacy.notify('notifications/cancelled', { requestId: 77, reason });
    await settle(50);
    expect((await state()).status).toBe(status);
    clock.advance(10);
  });

  it('2025-11-25: notifications/cancelled has called it off', async () => {
    const { peer, running, state } = await listening();
    const legacy = await LegacyPeer.connect({ peer });
    const id = 77;
    const arriving = legacy.stream('tools/call', { name: 'slow', arguments: {} }, { id });
    arriving.catch(() => {});
    await running;
    await legacy.notify('notifications/cancelled', { requestId: id, reason: 'MCP request cancelled by caller' });
    await until(async () => (await state()).status === 'cancelled');
  });
});
