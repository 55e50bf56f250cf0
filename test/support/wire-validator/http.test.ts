import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { errorResponse, type Json, notification, request, response, withTasks } from '../messages.ts';
import { createWireValidator } from '../wire-validator.ts';

const taskId = '4mUe0m0kS2u8p7cQ1n9dVg';

describe('over HTTP', () => {
  const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28' };
  const complete = { resultType: 'complete', content: [] };
  const post = (fetch: typeof globalThis.fetch, message: unknown) =>
    fetch('http://test/mcp', { method: 'POST', headers, body: JSON.stringify(message) });
  const json =
    (message: unknown, status = 200) =>
    async () =>
      Response.json(message, { status });
  const events = (chunks: string[]) => async () => {
    const body = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  const calling = request(1, 'tools/call', { name: 't' }, withTasks, { progressToken: 'p' });
  const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;

  it('hands good JSON on', async () => {
    const validator = createWireValidator();
    const answer = await post(validator.wrapFetch(json(response(1, complete))), calling);
    expect(await answer.json()).toEqual(response(1, complete));
    validator.assertClean();
    expect(validator.checked).toBe(1);
  });

  it('rejects at bad JSON and remembers it', async () => {
    const validator = createWireValidator();
    const fetch = validator.wrapFetch(json(response(1, { content: [] })));
    await expect(post(fetch, calling)).rejects.toThrow("tools/call /result: must have required property 'resultType'");
    expect(() => validator.assertClean()).toThrow('resultType');
  });

  it('reads a Request that goes straight to a handler', async () => {
    const validator = createWireValidator();
    const handle = validator.wrapFetch(async (request: Request) => {
      const { id } = (await request.json()) as { id: number };
      return Response.json(response(id, complete));
    });
    const request = new Request('http://test/mcp', { method: 'POST', headers, body: JSON.stringify(calling) });
    expect((await handle(request)).status).toBe(200);
    validator.assertClean();
  });

  it('hands a good event stream on, byte for byte, however it is cut', async () => {
    const progress = notification('notifications/progress', { progressToken: 'p', progress: 0.5, message: 'hälfte' });
    const text = `: hello\nid: 1\ndata:\n\n${event(progress)}${event(response(1, complete)).replaceAll('\n', '\r\n')}`;
    const bytes = new TextEncoder().encode(text);
    const validator = createWireValidator();
    const fetch = validator.wrapFetch(async () => {
      const body = ReadableStream.from([...bytes].map((byte) => Uint8Array.of(byte)));
      return new Response(body as ReadableStream<Uint8Array>, { headers: { 'content-type': 'text/event-stream' } });
    });
    expect(await (await post(fetch, calling)).text()).toBe(text);
    validator.assertClean();
    expect(validator.checked).toBe(2);
  });

  it('hands an event on as soon as it is whole', async () => {
    const validator = createWireValidator();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event(response(1, complete)))),
    });
    const fetch = validator.wrapFetch(
      async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    );
    const reader = (await post(fetch, calling)).body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe(event(response(1, complete)));
    await reader.cancel();
  });

  it('breaks an event stream at a bad event', async () => {
    const validator = createWireValidator();
    const bad = event(response(2, complete));
    const answer = await post(
      validator.wrapFetch(events([event(notification('notifications/message', {})), bad])),
      calling,
    );
    await expect(answer.text()).rejects.toThrow('must have required property');
    expect(() => validator.assertClean()).toThrow();
  });

  it('lets go of the server when the caller does', async () => {
    const validator = createWireValidator();
    let cancelled: unknown;
    const body = new ReadableStream({
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const fetch = validator.wrapFetch(
      async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    );
    const answer = await post(fetch, calling);
    await answer.body?.cancel('enough');
    expect(cancelled).toBe('enough');
  });

  it.each<[code: number, status: number, data: Json | undefined]>([
    [-32020, 400, undefined],
    [-32021, 400, { requiredCapabilities: {} }],
    [-32022, 400, { supported: [], requested: '' }],
    [-32601, 404, undefined],
  ])('wants error %i with status %i', async (code, status, data) => {
    const answer = errorResponse(1, { code, message: 'no', ...(data && { data }) });
    const validator = createWireValidator();
    await post(validator.wrapFetch(json(answer, status)), calling);
    validator.assertClean();
    await expect(post(validator.wrapFetch(json(answer)), calling)).rejects.toThrow(
      `must go with HTTP ${status}, not 200`,
    );
  });

  it('wants status 400 where the request lacks its envelope, but not for an unknown id', async () => {
    const answer = errorResponse(1, { code: -32602, message: 'no' });
    const validator = createWireValidator();
    await post(validator.wrapFetch(json(answer)), request(1, 'tasks/get', { taskId }));
    const bare = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId } };
    await expect(post(validator.wrapFetch(json(answer)), bare)).rejects.toThrow('must go with HTTP 400');
  });

  it('wants the id of a request it could read', async () => {
    const { id: _, ...anonymous } = errorResponse(1, { code: -32602, message: 'no' });
    const validator = createWireValidator();
    await post(validator.wrapFetch(json(anonymous, 400)), { ...calling, id: null });
    await post(validator.wrapFetch(json(anonymous, 413)), calling);
    validator.assertClean();
    await expect(post(validator.wrapFetch(json(anonymous)), calling)).rejects.toThrow(
      '/id: must be the id of the request',
    );
  });

  it('wants an answer to a request, but none to a notification or from behind a guard', async () => {
    const validator = createWireValidator();
    const accepted = async () => new Response(null, { status: 202 });
    await post(validator.wrapFetch(accepted), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    });
    await post(validator.wrapFetch(json({ error: 'invalid_token' }, 401)), calling);
    await post(
      validator.wrapFetch(async () => new Response('no', { status: 403 })),
      calling,
    );
    validator.assertClean();
    await expect(post(validator.wrapFetch(accepted), calling)).rejects.toThrow('must be answered, got only 202');
  });

  it('keeps the ids of sessions apart', async () => {
    const validator = createWireValidator();
    const fetch = validator.wrapFetch(async (_: string, init: RequestInit) => {
      const { id } = JSON.parse(String(init.body)) as { id: number };
      return Response.json(response(id, complete));
    });
    const send = (session: string) =>
      fetch('http://test/mcp', { headers: { ...headers, 'mcp-session-id': session }, body: JSON.stringify(calling) });
    await Promise.all([send('a'), send('b'), send('a')]);
    validator.assertClean();
  });

  it("makes the SDK client's request fail", async () => {
    const validator = createWireValidator();
    const discovered = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const fetch = validator.wrapFetch(async (_: string | URL, init?: RequestInit) => {
      const { id, method } = JSON.parse(String(init?.body ?? '{}')) as { id: number; method: string };
      if (method === 'server/discover') {
        return Response.json(response(id, { ...discovered, ttlMs: 0, cacheScope: 'private' }));
      }
      return Response.json(
        response(id, { resultType: 'complete', tools: [{ name: 't' }], ttlMs: 0, cacheScope: 'private' }),
      );
    });
    const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL('http://test/mcp'), { fetch }));
    await expect(client.listTools()).rejects.toThrow("must have required property 'inputSchema'");
    await client.close();
    expect(validator.violations).toHaveLength(1);
  });
});
