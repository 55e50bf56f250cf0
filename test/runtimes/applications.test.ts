// Handlers inside applications that do more than serve MCP: they parse bodies, compress, and end.
import express from 'express';
// @ts-expect-error As in mounts.ts.
import express4 from 'express4';
import { compress } from 'hono/compress';
import { describe, expect, it } from 'vitest';
import { closing } from '../server/peer.ts';
import { plain, running } from './fixture.ts';
import { frameworks } from './mounts.ts';
import { head, post, RawClient } from './raw.ts';

describe.each([
  ['express 5', express.json({ limit: '4mb' })],
  ['express 4', express4.json({ limit: '4mb' })],
] as const)('%s, which has parsed the body before', (runtime, json) => {
  it('is served what was parsed', async () => {
    const { far, reaches } = await running(runtime, { before: { express: [json] } });
    const { taskId } = await far.start('asks');
    await reaches(taskId, 'input_required');
    expect((await far.cancel(taskId)).error).toBeUndefined();
    expect((await far.call('big', { mib: 1 }, plain)).status).toBe(200);
    expect((await far.call('quick', { pad: 'x'.repeat(1024 * 1024) }, plain)).status).toBe(200);
  });

  it('is no harm to what has no body, or another one', async () => {
    const { http } = await running(runtime, { before: { express: [json] } });
    const answer = async (request: string) => {
      const client = new RawClient(http.port);
      client.write(request);
      return (await client.answer()).status;
    };
    expect(await answer(`${head('GET', { accept: 'text/event-stream' })}\r\n`)).toBe(405);
    expect(await answer(`${head('POST', { 'content-type': 'text/plain', 'content-length': '2' })}\r\nhi`)).toBe(415);
    expect(await answer(`${head('POST', { 'content-type': 'application/json', 'content-length': '2' })}\r\n{}`)).toBe(
      400,
    );
    expect(await answer(`${head('POST', { 'content-type': 'application/json', 'content-length': '2' })}\r\n{x`)).toBe(
      400,
    );
  });
});

describe('hono with compression', () => {
  it('compresses no stream', async () => {
    const { http, far, clock, slow } = await running('hono', { before: { hono: [compress()] } });
    const client = new RawClient(http.port);
    client.write(
      post(far.request('tools/call', { name: 'slow', arguments: {} }, plain), { 'accept-encoding': 'gzip' }),
    );
    await slow;
    clock.advance(1_000);
    await client.has(': open\n\n');
    expect(client.text).not.toMatch(/^content-encoding/im);
  });
});

describe.each(frameworks)('%s after its task server was closed', (runtime) => {
  it('refuses requests with 503, and answers others', async () => {
    const { http, far, server, clock, log } = await running(runtime);
    await closing(server, clock);
    const client = new RawClient(http.port);
    client.write(post(far.request('tools/list', {})));
    const { status, body } = await client.answer();
    expect(status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', error: { message: expect.stringContaining('clos') } });
    client.write(`${head('GET', {}, '/other')}\r\n`);
    expect((await client.answer()).status).toBe(404);
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
