import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createMcpHandler, McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Link } from '../../src/client/link.ts';
import { subscribeTo } from '../../src/client/link.ts';
import type { Remote } from '../../src/client/remote.ts';
import { connected } from './remotes.ts';

interface Here {
  remote: Remote;
  link: Link;
  /** What happened on the server. */
  seen: { waiting: Promise<void>; stopped: Promise<void> };
  announce: () => void;
}

function flag(): [Promise<void>, () => void] {
  let raise = (): void => {};
  return [new Promise<void>((resolve) => (raise = resolve)), () => raise()];
}

/** A server without tasks, by the SDK's first version, in a session. */
async function session(): Promise<Here> {
  const [waiting, isWaiting] = flag();
  const [stopped, hasStopped] = flag();
  const server = new McpServer({ name: 'plain', version: '1.2.3' }, { instructions: 'Be kind.' });
  server.registerTool('wait', {}, async ({ signal }) => {
    signal.addEventListener('abort', hasStopped);
    isWaiting();
    await stopped;
    return { content: [] };
  });
  server.registerResource('note', 'note://1', {}, async ({ href }) => ({ contents: [{ uri: href, text: 'hello' }] }));
  server.registerPrompt('greet', { argsSchema: { who: z.string() } }, ({ who }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `hello ${who}` } }],
  }));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
  await client.connect(ours as never);
  onTestFinished(() => client.close());
  const remote = await connected({ client });
  const announce = (): void => server.sendToolListChanged();
  return { remote, link: remote.link as Link, seen: { waiting, stopped }, announce };
}

/** The same on 2026-07-28, over HTTP. */
async function modern(): Promise<Here> {
  const [waiting, isWaiting] = flag();
  const [stopped, hasStopped] = flag();
  const handler = createMcpHandler(() => {
    const server = new McpServerV2({ name: 'plain', version: '1.2.3' }, { instructions: 'Be kind.' });
    server.registerTool('wait', {}, async ({ mcpReq: { signal } }) => {
      signal.addEventListener('abort', hasStopped);
      isWaiting();
      await stopped;
      return { content: [] };
    });
    server.registerResource('note', 'note://1', {}, async ({ href }) => ({ contents: [{ uri: href, text: 'hello' }] }));
    server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `hello ${who}` } }],
    }));
    return server;
  });
  onTestFinished(() => handler.close());
  const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init));
  const remote = await connected({ url: 'http://127.0.0.1/mcp', http: { fetch: fetch as never } });
  const announce = (): void => void handler.notify.toolsChanged();
  return { remote, link: remote.link as Link, seen: { waiting, stopped }, announce };
}

const eras = [
  ['legacy', session],
  ['modern', modern],
] as const;

describe.each(eras)('the link to a server, %s', (era, reach) => {
  it('tells what the server says of itself', async () => {
    const { link } = await reach();
    expect(link).toMatchObject({ era, serverInfo: { name: 'plain', version: '1.2.3' }, instructions: 'Be kind.' });
    expect(Object.keys(link.capabilities)).toEqual(expect.arrayContaining(['tools', 'resources', 'prompts']));
  });

  it('passes requests on, and errors back as they are', async () => {
    const { link } = await reach();
    const read = await link.request('resources/read', { uri: 'note://1' });
    expect(read).toMatchObject({ contents: [{ uri: 'note://1', text: 'hello' }] });
    const got = await link.request('prompts/get', { name: 'greet', arguments: { who: 'you' } });
    expect(got).toMatchObject({ messages: [{ content: { text: 'hello you' } }] });
    await expect(link.request('prompts/get', { name: 'none' })).rejects.toMatchObject({ rpcCode: -32602 });
  });

  it('takes a request back that nobody waits for any more', async () => {
    const { link, seen } = await reach();
    const stop = new AbortController();
    const waiting = link.request('tools/call', { name: 'wait', arguments: {} }, { signal: stop.signal });
    await seen.waiting;
    stop.abort(new Error('not needed'));
    await expect(waiting).rejects.toThrow('not needed');
    await seen.stopped;
  });

  it('cancels a call that is no task when it is unwanted, and says that it cannot know more', async () => {
    const { remote, seen } = await reach();
    const unwanted = new AbortController();
    const call = { name: 'wait', arguments: {}, idempotencyKey: 'k', unwanted: unwanted.signal };
    const started = remote.start(call);
    await seen.waiting;
    unwanted.abort(new Error('cancelled'));
    const end = { status: 'cancelled', reason: expect.stringContaining('whether it stopped in time is not known') };
    expect(await started).toEqual({ kind: 'immediate', outcome: end });
    await seen.stopped;
  });

  it('tells of changes', async () => {
    const { link, announce } = await reach();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const told = new Promise<string>((resolve) => link.onNotification(resolve));
    if (era === 'modern') {
      const over = subscribeTo(link, { toolsListChanged: true }, stop.signal);
      over.catch(() => undefined);
      await link.request('ping', {}).catch(() => undefined); // By then the subscription was read.
    }
    announce();
    expect(await told).toBe('notifications/tools/list_changed');
  });
});
