// Requests that are cut in the middle, or are no requests at all.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Json } from '../support/messages.ts';
import { running } from './fixture.ts';
import { runtimes } from './mounts.ts';
import { head, headersOf, post, RawClient } from './raw.ts';

const call: Json = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'slow',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    },
  },
};
const body = JSON.stringify(call);
const sized = (bytes: number) => `${head('POST', { ...headersOf(call), 'content-length': String(bytes) })}\r\n`;
const chunked = `${head('POST', { ...headersOf(call), 'transfer-encoding': 'chunked' })}\r\n`;
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const cuts: [what: string, bytes: string][] = [
  ['its first line', 'POST /mc'],
  ['its headers', head('POST', headersOf(call)).slice(0, 80)],
  ['its body', sized(body.length) + body.slice(0, 50)],
  ['its body, just before the end', sized(body.length + 1) + body],
  ['a chunk', `${chunked}${chunk(body.slice(0, 50))}40\r\nabc`],
  ['its chunks, just before the last', chunked + chunk(body)],
];

const broken: [what: string, bytes: string][] = [
  ['a chunk whose size is none', `${chunked}zz\r\n${body}\r\n0\r\n\r\n`],
  ['a body that is longer than it says', sized(20) + body],
  ['two lengths', `${head('POST', { ...headersOf(call), 'content-length': ['5', '6'] })}\r\n${body}`],
  [
    'a length and chunks',
    `${head('POST', { ...headersOf(call), 'content-length': '5', 'transfer-encoding': 'chunked' })}\r\n${chunk(body)}0\r\n\r\n`,
  ],
  ['no host', `POST /mcp HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`],
  ['headers of 20 kB', `${head('POST', { ...headersOf(call), 'x-pad': 'x'.repeat(20_000) })}\r\n`],
  ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a tunnel', 'CONNECT example.test:443 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'],
];

describe.each(runtimes)('a request to %s', (runtime) => {
  it('that is cut anywhere makes no task, and leaves nothing behind', async () => {
    const { http, all, far, quiet } = await running(runtime);
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    for (const [what, bytes] of cuts) {
      const ends = new RawClient(http.port);
      ends.write(bytes);
      ends.socket.end();
      expect(await ends.rest(), what).toMatch(/^HTTP\/1\.1 400 |^$/);
      const vanishes = new RawClient(http.port);
      vanishes.write(bytes);
      await vanishes.flushed();
      await (await far.send('tools/list', {})).body; // It has been read by now.
      vanishes.vanish();
      await vanishes.rest();
    }
    await quiet();
    expect(await all()).toEqual([]);
    expect((await far.call('quick', {}, { capabilities: {} })).result).toMatchObject({ content: [{ text: 'quick' }] });
    expect(printed).not.toHaveBeenCalled();
  });

  it('that is none is refused, and its connection closed', async () => {
    const { http, all, quiet } = await running(runtime);
    for (const [what, bytes] of broken) {
      const client = new RawClient(http.port);
      client.write(bytes);
      expect(await client.rest(), what).toMatch(/^HTTP\/1\.1 (400|431) |^$/);
    }
    await quiet();
    expect(await all()).toEqual([]);
  });

  it('that is too large is refused before it is read', async () => {
    const { http, all } = await running(runtime);
    const client = new RawClient(http.port);
    client.write(sized(5 * 1024 * 1024));
    client.write(body);
    expect((await client.answer()).status).toBe(413);
    const chunks = new RawClient(http.port);
    chunks.write(chunked);
    for (let mib = 0; mib < 5; mib += 1) chunks.write(chunk('x'.repeat(1024 * 1024)));
    expect((await chunks.answer()).status).toBe(413);
    expect(await all()).toEqual([]);
  });

  it('over a connection that carries others is answered in its turn', async () => {
    const { http, far } = await running(runtime);
    const list = (id: number) => post({ ...far.request('tools/list', {}), id });
    const client = new RawClient(http.port);
    client.write(list(1) + list(2) + list(3));
    for (const id of [1, 2, 3]) expect(JSON.parse((await client.answer()).body)).toMatchObject({ id });
  });

  it('after one that was refused goes over the same connection', async () => {
    const { http, far } = await running(runtime);
    const client = new RawClient(http.port);
    const nonsense = '{nope!';
    client.write(`${head('POST', { ...headersOf(call), 'content-length': String(nonsense.length) })}\r\n${nonsense}`);
    const refused = await client.answer();
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      400,
      { jsonrpc: '2.0', error: { code: -32700, message: expect.any(String) } },
    ]);
    client.write(post({ ...far.request('tools/list', {}), id: 2 }));
    expect(JSON.parse((await client.answer()).body)).toMatchObject({ id: 2 });
  });

  it.each(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'GET'])('that is %s is answered 405', async (method) => {
    const { http, all } = await running(runtime);
    const client = new RawClient(http.port);
    client.write(`${head(method, { accept: 'text/event-stream', connection: 'close' })}\r\n`);
    const said = await client.rest();
    expect(said).toMatch(/^HTTP\/1\.1 405 /);
    expect(said).toMatch(/^allow: POST\r$/im);
    if (method === 'HEAD') expect(said.endsWith('\r\n\r\n')).toBe(true);
    expect(await all()).toEqual([]);
  });

  it('of HTTP/1.0 is served, and its connection closed', async () => {
    const { http, far } = await running(runtime);
    const client = new RawClient(http.port);
    client.write(post(far.request('tools/list', {})).replace('HTTP/1.1', 'HTTP/1.0'));
    const said = await client.rest();
    expect(said).toMatch(/^HTTP\/1\.1 200 /);
    expect(said).not.toMatch(/^transfer-encoding/im);
    expect(JSON.parse(said.slice(said.indexOf('\r\n\r\n') + 4))).toMatchObject({
      result: { tools: expect.any(Array) },
    });
  });

  it('that waits to be told to go on is told', async () => {
    const { http, far } = await running(runtime);
    const request = post(far.request('tools/list', {}), { expect: '100-continue' });
    const end = request.indexOf('\r\n\r\n') + 4;
    const client = new RawClient(http.port);
    client.write(request.slice(0, end));
    await client.has('HTTP/1.1 100 Continue');
    client.write(request.slice(end));
    expect((await client.answer()).status).toBe(200);
  });

  it('for another host, or from the page of another, is refused', async () => {
    const { http, far, all } = await running(runtime);
    const elsewhere = [{ host: 'evil.test' }, { origin: 'http://evil.test' }, { host: 'evil.test', origin: 'null' }];
    for (const headers of elsewhere) {
      const client = new RawClient(http.port);
      client.write(post(far.request('tools/call', { name: 'slow', arguments: {} }), headers));
      expect((await client.answer()).status).toBe(403);
    }
    // The second is ignored, or both are held against the list as one.
    const twice = new RawClient(http.port);
    twice.write(post(far.request('tools/list', {})).replace('host: 127.0.0.1', 'host: evil.test\r\nhost: 127.0.0.1'));
    expect((await twice.answer()).status).toBe(403);
    expect(await all()).toEqual([]);
  });
});
