import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRemote } from '../../src/client/connect-remote.ts';
import { RemoteUnreachableError } from '../../src/client/remote-errors.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { aTask, fake } from './fake-server.ts';
import { connected, startTask } from './remotes.ts';

describe('a connection', () => {
  it('may be whole, and its other end say that an answer was lost: that is no refusal', async () => {
    const error = { code: -32_603, message: 'restarted', data: { restarted: true } };
    const { remote } = await fake({ methods: { 'tasks/get': () => ({ error }) } });
    await expect(remote.get('t-1')).rejects.toMatchObject({ name: 'RemoteUnreachableError', mayHaveRun: true });
  });

  it.each([
    [404, -32001, 'Session not found'],
    [400, -32000, 'Bad Request: No valid session ID provided'], // As the SDK's examples have it.
    [400, -32000, 'Bad Request: Server not initialized'],
  ])(
    'whose session the server forgot, told by %d, is made anew, and the request sent again [C-088]',
    async (status, code, message) => {
      let session = 1;
      const hello = () =>
        Response.json(
          {
            jsonrpc: '2.0',
            id: 0,
            result: {
              protocolVersion: '2025-11-25',
              capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
              serverInfo: { name: 'fake', version: '1' },
            },
          },
          { headers: { 'mcp-session-id': `s-${session}` } },
        );
      const known = (request: Request) => request.headers.get('mcp-session-id') === `s-${session}`;
      const gone = () => Response.json({ error: { code, message } }, { status });
      const { remote, count } = await fake({
        version: '2025-11-25',
        methods: {
          initialize: hello,
          'tools/call': (_params, request) => (known(request) ? { result: { task: aTask() } } : gone()),
          'tasks/get': (_params, request) => (known(request) ? { result: aTask() } : gone()),
        },
      });
      await startTask(remote, 'slow');
      session = 2;
      expect(await remote.get('t-1')).toMatchObject({ taskId: 't-1' });
      expect(count('initialize')).toBe(2);
      session = 3;
      await startTask(remote, 'slow');
      expect(count('tools/call')).toBe(3);
      expect(count('initialize')).toBe(3);
    },
  );

  it('that cannot be made says where to', async () => {
    const refused = async (): Promise<Response> => {
      throw Object.assign(new TypeError('fetch failed'), {
        cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      });
    };
    const attempt = connectRemote({ url: 'http://user:secret@127.0.0.1:1/mcp?key=1', http: { fetch: refused } });
    const error = await attempt.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RemoteUnreachableError);
    expect(error).toMatchObject({ mayHaveRun: false });
    expect(String(error)).toContain('http://127.0.0.1:1/mcp');
    expect(String(error)).not.toContain('secret');
  });

  it('that breaks off in a call may have run it; one that was refused did not', async () => {
    let cause: unknown;
    const { remote } = await fake({
      methods: {
        'tools/call': () => {
          throw Object.assign(new TypeError('fetch failed'), { cause });
        },
      },
    });
    for (const [code, mayHaveRun] of [
      ['ECONNRESET', true],
      ['ECONNREFUSED', false],
    ]) {
      cause = Object.assign(new Error(), { code });
      const call = remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k' });
      await expect(call).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun });
    }
  });

  it('that ends a stream without an answer may have run the call', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const { remote } = await fake({ methods: { 'tools/call': () => new Response(': nothing\n\n', { headers }) } });
    const call = remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k' });
    await expect(call).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: true });
  });

  it('that was closed on this side is used no more', async () => {
    const { remote } = await fake({ methods: {} });
    await remote[Symbol.asyncDispose]();
    await expect(remote.get('t-1')).rejects.toThrow('closed on this side');
  });

  it('needs one way to its server, and says so', async () => {
    await expect(connectRemote({} as never)).rejects.toThrow(
      'expected one of url, command, transport and client, got none',
    );
    const both = { url: 'http://127.0.0.1', command: 'node' };
    await expect(connectRemote(both)).rejects.toThrow('got url and command');
  });
});

describe('a server over stdio', () => {
  const server = `
    const tasks = { requests: { tools: { call: {} } } };
    const hello = { protocolVersion: '2025-11-25', capabilities: { tools: {}, tasks }, serverInfo: { name: 's', version: '1' } };
    const task = { taskId: 'of ' + process.pid, status: 'working', createdAt: '', lastUpdatedAt: '', ttl: null };
    const tool = { name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } };
    const answers = { initialize: () => hello, 'tools/list': () => ({ tools: [tool] }), 'tools/call': () => ({ task }) };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'tasks/get') process.exit(1);
      const result = answers[method]?.();
      if (result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });`;

  it('that dies is started again by the next request', async () => {
    const remote = await connected({ command: process.execPath, args: ['-e', server], protocol: '2025-11-25' });
    expect(remote.origin).toBe(`${process.execPath} (s)`);
    const first = await startTask(remote, 'slow');
    await expect(remote.get(first.taskId)).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: true });
    const second = await startTask(remote, 'slow');
    expect(second.taskId).not.toBe(first.taskId);
  });

  it('that says nothing is not left running when nobody waits for it any more', async () => {
    const where = scratchFolder();
    onTestFinished(where.remove);
    const socket = join(where.path, 'life');
    const life = createServer().listen(socket);
    onTestFinished(() => void life.close());
    await once(life, 'listening');
    const silent = `require('node:net').connect(${JSON.stringify(socket)}); process.stdin.resume();`;
    const attempt = connectRemote({ command: process.execPath, args: ['-e', silent], requestTimeoutMs: 500 });
    const [connection] = (await once(life, 'connection')) as [Socket];
    const ended = once(connection.resume(), 'close');
    await expect(attempt).rejects.toThrow('not connected within 500 ms');
    await ended;
  });

  it('that is not there is unreachable', async () => {
    const attempt = connectRemote({ command: '/nowhere/server', protocol: '2025-11-25' } satisfies Json as never);
    await expect(attempt).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: false });
  });
});
