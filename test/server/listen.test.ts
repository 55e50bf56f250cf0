import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StoreRefusedError } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { ListenError } from '../../src/server/index.ts';
import { listen } from '../../src/server/listen.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { deferred, recordingLogger } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { over, Peer, serve } from './peer.ts';

function quick() {
  return serve((tasks) => {
    tasks.registerTool('quick', {}, () => text('done'));
    tasks.registerTool('slow', {}, () => new Promise(() => {}));
  });
}

/** A listener on a free port, and a client of it. */
async function listening(options: Parameters<ReturnType<typeof quick>['server']['listen']>[0] = {}) {
  const served = quick();
  const { url, port } = await served.server.listen({ port: 0, ...options });
  const post = async (headers: Record<string, string>, to = url) => {
    const message = served.peer.request('tools/list', {});
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      ...headers,
    };
    // `fetch` would not let a test choose its Host.
    return overSocket(new URL(to), all, JSON.stringify(message), served.validator.connection());
  };
  return { ...served, url, port, post };
}

interface Observer {
  observeRequest(message: unknown, revision?: string): void;
  checkOutgoing(message: unknown): void;
}

/** One POST, written by hand. */
async function overSocket(url: URL, headers: Record<string, string>, body: string, observer: Observer) {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect(Number(url.port), host);
  const lines = { host: url.host, connection: 'close', 'content-length': String(Buffer.byteLength(body)), ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  observer.observeRequest(JSON.parse(body), '2026-07-28');
  socket.end(`POST ${url.pathname} HTTP/1.1\r\n${head.join('')}\r\n${body}`);
  let received = '';
  for await (const chunk of socket.setEncoding('utf8')) received += chunk;
  const status = Number(received.split(' ', 2)[1]);
  const payload = received.slice(received.indexOf('\r\n\r\n') + 4);
  const start = payload.indexOf('{');
  const message = start < 0 ? undefined : (JSON.parse(payload.slice(start, payload.lastIndexOf('}') + 1)) as Json);
  if (message !== undefined) observer.checkOutgoing(message);
  return { status, message: message ?? {}, text: payload };
}

describe('a listener', () => {
  it('writes nothing past its logger about a request that it cannot serve', async () => {
    const { error } = console;
    const written: unknown[] = [];
    console.error = (...said) => void written.push(said);
    onTestFinished(() => {
      console.error = error;
    });
    const { logger, lines } = recordingLogger();
    const failing = await listen(() => Promise.reject(new Error('a secret')), { port: 0, logger });
    onTestFinished(() => failing.close());
    const response = await fetch(failing.url, { method: 'POST', body: '{}' });
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32603, message: 'Internal error' } });
    expect(lines).toMatchObject([{ level: 'error', message: 'a request could not be served' }]);
    expect(written).toEqual([]);
  });

  it('tells where it serves, on a free port if asked, until it is closed', async () => {
    const { server, url, port, validator } = await listening();
    expect(url).toBe(`http://127.0.0.1:${port}/mcp`);
    const peer = new Peer(over(url), validator);
    expect((await peer.call('quick', {}, { capabilities: {} })).result).toMatchObject({ content: [{ text: 'done' }] });
    await server.close();
    await expect(fetch(url)).rejects.toThrow();
  });

  it('closes connections that are still open', async () => {
    const { peer, server } = quick();
    const listener = await server.listen({ port: 0 });
    const socket = connect(listener.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('connect', resolve));
    await listener.close();
    await closed;
    await peer.send('tools/list', {});
  });

  it.each([
    ['::1', /^http:\/\/\[::1\]:\d+\/mcp$/],
    ['localhost', /^http:\/\/localhost:\d+\/mcp$/],
    ['127.0.0.2', /^http:\/\/127\.0\.0\.2:\d+\/mcp$/],
  ])('may be on another loopback address: %s', async (host, expected) => {
    const { url, post } = await listening({ host });
    expect(url).toMatch(expected);
    const { status } = await post({ ...(host === '127.0.0.2' && { host: 'localhost' }) });
    expect(status).toBe(200);
  });

  it('serves one path and nothing else', async () => {
    const { url, post } = await listening({ path: '/tools' });
    expect(url).toMatch(/\/tools$/);
    expect((await post({})).status).toBe(200);
    expect((await post({}, url.replace('/tools', '/mcp'))).status).toBe(404);
    expect((await post({}, url.replace('/tools', '/tools/x'))).status).toBe(404);
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.evil.example'])(
    'is not opened to others without saying so: %s',
    async (host) => {
      const { peer, server } = quick();
      await expect(server.listen({ port: 0, host })).rejects.toThrow(TypeError);
      await expect(server.listen({ port: 0, host })).rejects.toThrow(/insecure: true/);
      await peer.send('tools/list', {});
    },
  );

  it('that was opened to others serves them, each knowing only the ids it was given [G3-S-60]', async () => {
    const { validator, port, peer } = await listening({ host: '0.0.0.0', insecure: true });
    const anonymous = new Peer(over(`http://127.0.0.1:${port}/mcp`), validator);
    const { taskId } = await anonymous.start('slow');
    expect((await anonymous.get(taskId)).result['status']).toBe('working');
    // Whoever sits on this machine is somebody else.
    expect((await peer.get(taskId)).error.code).toBe(-32602);
  });

  it.each([['an address that is not ours', '192.0.2.1', /not an address of this machine; bind 127.0.0.1/]])(
    'says so when it cannot have %s',
    async (_, host, message) => {
      const { peer, server } = quick();
      const refused = server.listen({ port: 0, host, insecure: true });
      await expect(refused).rejects.toThrow(ListenError);
      await expect(refused).rejects.toThrow(message);
      await peer.send('tools/list', {});
    },
  );

  it('says so when the port is in use, and can take another', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { peer, server } = quick();
    const refused = server.listen({ port });
    await expect(refused).rejects.toThrow(ListenError);
    await expect(refused).rejects.toThrow(`127.0.0.1:${port} is in use`);
    await expect(refused).rejects.toHaveProperty('cause.code', 'EADDRINUSE');
    await peer.send('tools/list', {});
    expect((await server.listen({ port: 0 })).port).not.toBe(port);
  });

  it('lets a dropped connection call off what was not answered yet [G3-S-88]', async () => {
    const running = deferred();
    const stopped = deferred();
    const { peer, server, validator } = serve((tasks) =>
      tasks.registerTool('slow', {}, (_args, task) => {
        running.resolve();
        task.signal.addEventListener('abort', () => stopped.resolve());
        return new Promise(() => {});
      }),
    );
    const { url } = await server.listen({ port: 0 });
    const request = new AbortController();
    const client = new Peer(over(url), validator);
    const reply = client.call('slow', {}, { capabilities: {}, signal: request.signal });
    reply.catch(() => {});
    await running.promise;
    request.abort();
    await stopped.promise;
    await expect(reply).rejects.toThrow();
    await peer.send('tools/list', {});
  });
});

describe('a page that another site serves', () => {
  it.each([
    ['a name of its own that leads here', { host: 'evil.example' }],
    ['a name that looks like ours', { host: 'localhost.evil.example' }],
    ['an address of this machine that is not loopback', { host: '192.0.2.1:7717' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['an origin that looks like ours', { origin: 'http://localhost.evil.example' }],
    ['no origin to speak of', { origin: 'null' }],
  ])('reaches no tool by %s', async (_, headers) => {
    const { post, peer } = await listening();
    const { status, message } = await post(headers as Record<string, string>);
    expect(status).toBe(403);
    expect(message).toEqual({ jsonrpc: '2.0', error: { code: expect.any(Number), message: expect.any(String) } });
    await peer.send('tools/list', {});
  });

  it('reaches no path at all', async () => {
    const { post, url } = await listening();
    expect((await post({ origin: 'https://evil.example' }, url.replace('/mcp', '/'))).status).toBe(403);
    expect((await post({})).status).toBe(200);
  });

  it('reaches the server where it was invited', async () => {
    const { post } = await listening({ allowedHosts: ['mcp.example'], allowedOrigins: ['app.example'] });
    expect((await post({ host: 'mcp.example:7717', origin: 'https://app.example' })).status).toBe(200);
    expect((await post({ host: 'localhost', origin: 'https://app.example' })).status).toBe(403);
    expect((await post({ host: 'mcp.example', origin: 'http://localhost:3000' })).status).toBe(403);
  });

  it.each(['http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:8080'])(
    'of this machine may: %s',
    async (origin) => {
      const { post } = await listening();
      expect((await post({ origin })).status).toBe(200);
    },
  );
});

describe('a store that must not be touched', () => {
  const refusals: [string, (path: string) => void, RegExp][] = [
    ['is no database', (path) => writeFileSync(path, 'my shopping list\n'.repeat(300)), /is not a SQLite database/],
    [
      'is damaged',
      (path) => writeFileSync(path, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4_096, 7)])),
      /damaged|not a SQLite database|cannot be opened/,
    ],
    [
      'is of another program',
      (path) => {
        const db = new Database(path);
        db.exec('create table notes (text)');
        db.close();
      },
      /of another program/,
    ],
    ['is a folder', (path) => mkdirSync(path), /is a folder/],
  ];

  it.each(refusals)(
    'since it %s, is refused before the port is opened, and left as it was',
    async (_, make, message) => {
      const folder = scratchFolder();
      onTestFinished(folder.remove);
      const path = `${folder.path}/tasks.db`;
      make(path);
      const before = contentOf(path);
      const { server, peer } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')), {
        tasks: { store: sqliteStore(path) },
      });
      const refused = server.listen({ port: 0 });
      await expect(refused).rejects.toThrow(StoreRefusedError);
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.toThrow(path);
      expect(contentOf(path)).toEqual(before);
      // Served in some other way, clients learn that there is trouble, and not where.
      const reply = await peer.call('quick');
      expect(reply.error).toEqual({ code: -32603, message: 'The server cannot reach its task store; try again later' });
      expect(reply.body).not.toContain(folder.path);
    },
  );

  it('since a newer release wrote it, is refused, naming the remedy', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const path = `${folder.path}/tasks.db`;
    const first = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')), {
      tasks: { store: sqliteStore(path) },
    });
    await first.peer.start('quick');
    await first.server.close();
    const db = new Database(path);
    db.exec("update meta set value = '999' where key in ('schema', 'min_writer')");
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
    const before = contentOf(path);
    const { server, peer } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')), {
      tasks: { store: sqliteStore(path) },
    });
    await expect(server.listen({ port: 0 })).rejects.toThrow(
      /written by a newer release of longcall .*update longcall/,
    );
    expect(contentOf(path)).toEqual(before);
    await peer.send('tools/list', {});
  });

  it.skipIf(process.getuid?.() === 0)('since it may only be read, is refused, naming the remedy', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    chmodSync(folder.path, 0o500);
    const { server, peer } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')), {
      tasks: { store: sqliteStore(`${folder.path}/tasks.db`) },
    });
    await expect(server.listen({ port: 0 })).rejects.toThrow(/cannot be written; check the permissions/);
    chmodSync(folder.path, 0o700);
    await peer.send('tools/list', {});
  });
});

/** What is in a file, or that it is a folder. */
function contentOf(path: string): string {
  return statSync(path).isDirectory() ? 'a folder' : readFileSync(path).toString('hex');
}
