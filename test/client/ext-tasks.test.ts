import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { forExtTasks } from '../../src/client/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { type Served, serve } from '../server/peer.ts';
import { deferred, settle } from '../support/engine.ts';

const info = { name: 'a host', version: '1' };
const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };

async function hosting(register: (tasks: Tasks) => void, protocol = '2026-07-28') {
  const served = serve(register);
  const through = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const sent: Request[] = [];
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    sent.push(request.clone());
    return through(request);
  };
  const modern = protocol === '2026-07-28';
  const client = new Client(info, {
    capabilities: modern ? capabilities : { elicitation: { form: {} } },
    ...(!modern && { supportedProtocolVersions: [protocol] }),
    versionNegotiation: { mode: modern ? { pin: protocol } : 'legacy' },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch }));
  onTestFinished(() => client.close());
  const parts = forExtTasks(client, { info, ...(modern && { capabilities }), clock: served.clock });
  return { served, client, parts, sent };
}

/** Its sessions poll by the machine's clock, tasks of ours go by the test's. */
async function moving<Value>(served: Served, promise: Promise<Value>): Promise<Value> {
  const mover = setInterval(() => served.clock.advance(1_000), 5);
  try {
    return await promise;
  } finally {
    clearInterval(mover);
  }
}

describe('the official session API, on a client of the official SDK', () => {
  it('calls tools that become tasks, and answers what they ask', async () => {
    const { served, client, parts } = await hosting((tasks) => {
      tasks.registerTool('greet', { task: { pollIntervalMs: 100 } }, async (_args, task) => {
        const answer = await task.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) });
        return text(answer.action === 'accept' ? `hello ${answer.content.name}` : 'nobody');
      });
    });
    const session = createTaskSessionFromClient(client, {
      endpointId: 'a server',
      ...parts,
      onInputRequest: async () => ({ action: 'accept', content: { name: 'Ann' } }) as never,
    });
    onTestFinished(() => session.close());
    const execution = await session.callTool('greet', {});
    expect(execution.kind).toBe('task');
    expect(JSON.stringify(await moving(served, execution.result()))).toContain('hello Ann');
  });

  it('hears errors of the protocol with code and data', async () => {
    const { parts } = await hosting((tasks) => void tasks.registerTool('x', {}, () => text('x')));
    const { rawDispatch, v2RequestFraming } = parts;
    if (rawDispatch === undefined) throw new Error('no dispatch');
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': v2RequestFraming.protocolVersion,
      'io.modelcontextprotocol/clientInfo': v2RequestFraming.clientInfo,
      'io.modelcontextprotocol/clientCapabilities': v2RequestFraming.clientCapabilities,
    };
    const answer = await rawDispatch({ method: 'tasks/get', params: { taskId: 'tsk_none', _meta } });
    expect(answer).toMatchObject({ kind: 'error', error: { code: -32_602 } });
    await expect(rawDispatch({ params: {} })).rejects.toThrow('request: a JSON-RPC request');
  });

  it('gives a request up when its time is over or its signal fires, and sends its headers', async () => {
    const gate = deferred();
    const { served, parts, sent } = await hosting((tasks) => {
      tasks.registerTool('inline', { task: { support: 'forbidden' } }, async () => {
        await gate.promise;
        return text('late');
      });
    });
    onTestFinished(() => gate.resolve());
    const { rawDispatch, v2RequestFraming } = parts;
    if (rawDispatch === undefined) throw new Error('no dispatch');
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': v2RequestFraming.protocolVersion,
      'io.modelcontextprotocol/clientCapabilities': v2RequestFraming.clientCapabilities,
    };
    const request = { method: 'tools/call', params: { name: 'inline', arguments: {}, _meta } };
    const late = rawDispatch(request, { context: { requestTimeoutMs: 5_000, headers: { 'x-tenant': 'a' } } });
    late.catch(() => {});
    await settle();
    served.clock.advance(5_000);
    await expect(late).rejects.toThrow('no answer to tools/call within 5000 ms');
    expect(sent.at(-1)?.headers.get('x-tenant')).toBe('a');
    const stop = new AbortController();
    const stopped = rawDispatch(request, { signal: stop.signal });
    stopped.catch(() => {});
    await settle();
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
  });

  it('waits anew after every progress, where it is asked to', async () => {
    const go = deferred();
    const { served, parts } = await hosting((tasks) => {
      tasks.registerTool('inline', { task: { support: 'forbidden' } }, async (_args, task) => {
        task.progress(1, 2);
        await go.promise;
        task.progress(2, 2);
        await new Promise(() => {});
        return text('never');
      });
    });
    const { rawDispatch, v2RequestFraming } = parts;
    if (rawDispatch === undefined) throw new Error('no dispatch');
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': v2RequestFraming.protocolVersion,
      'io.modelcontextprotocol/clientCapabilities': v2RequestFraming.clientCapabilities,
      progressToken: 'p-1',
    };
    const request = { method: 'tools/call', params: { name: 'inline', arguments: {}, _meta } };
    const ends: string[] = [];
    for (const resetTimeoutOnProgress of [true, false]) {
      rawDispatch(request, { context: { requestTimeoutMs: 5_000, resetTimeoutOnProgress } }).catch(() =>
        ends.push(resetTimeoutOnProgress ? 'renewed' : 'not renewed'),
      );
    }
    await settle();
    served.clock.advance(4_000);
    go.resolve();
    await settle(40);
    served.clock.advance(2_000);
    await settle();
    expect(ends).toEqual(['not renewed']);
    served.clock.advance(3_000);
    await settle();
    expect(ends).toEqual(['not renewed', 'renewed']);
  });

  it('needs neither before 2026-07-28', async () => {
    const { client, parts } = await hosting((tasks) => void tasks.registerTool('x', {}, () => text('x')), '2025-11-25');
    expect(parts).toEqual({});
    const session = createTaskSessionFromClient(client, { endpointId: 'a server', ...parts });
    onTestFinished(() => session.close());
    expect(session.capabilities.inventory).toBe('server-list'); // Tasks of 2025-11-25, which can be listed.
  });

  it('says so where the client is not connected', () => {
    expect(() => forExtTasks(new Client(info), { info })).toThrow('client: expected one that is connected');
  });
});
