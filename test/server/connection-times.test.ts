// Real sockets and the clock of the operating system, as Node keeps time for its connections by itself.
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CONNECTION_TIMES, type ConnectionTimes } from '../../src/server/connection-times.ts';
import { listen } from '../../src/server/listen.ts';
import { deferred } from '../support/engine.ts';
import { silent } from '../support/stores.ts';

const soon = 60;
const never = 600_000;
const patient: ConnectionTimes = { headMs: never, requestMs: never, idleMs: never, stalledMs: never };

async function listening(times: Partial<ConnectionTimes>, serve: (request: Request) => Promise<Response>) {
  const { port, close } = await listen(serve, { port: 0, logger: silent }, { ...patient, ...times });
  onTestFinished(close);
  return (text: string): { socket: Socket; closed: Promise<string> } => {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(text);
    const closed = new Promise<string>((resolve) => {
      let said = '';
      socket.on('data', (chunk) => {
        said += chunk.toString();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(said));
    });
    return { socket, closed };
  };
}

const ok = async (request: Request) => new Response(await request.text().catch(() => ''));
const HEAD = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n';

describe('a connection', () => {
  it.each([
    ['nothing', { headMs: soon }, ''],
    ['half a head', { headMs: soon }, HEAD],
    ['half a body', { headMs: soon, requestMs: soon }, `${HEAD}Content-Length: 10\r\n\r\nhello`],
    ['half a chunk', { headMs: soon, requestMs: soon }, `${HEAD}Transfer-Encoding: chunked\r\n\r\na\r\nhello`],
  ])('that brings %s is refused in time', async (_, times, text) => {
    const dial = await listening(times, ok);
    expect(await dial(text).closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('that has had its answer is kept for a while, and closed', async () => {
    const dial = await listening({ idleMs: soon }, ok);
    const said = await dial(`${HEAD}Content-Length: 5\r\n\r\nhello`).closed;
    expect(said).toContain('hello');
    expect(said).toMatch(/keep-alive: timeout=/i);
  });

  it('whose answer takes its time is left alone', async () => {
    const waited = deferred();
    const dial = await listening({ stalledMs: soon }, async () => {
      await waited.promise;
      return new Response('late', { headers: { connection: 'close' } });
    });
    const { closed } = dial(`${HEAD}Content-Length: 0\r\n\r\n`);
    const other = dial(''); // One that is closed after as long, so that it is known to have passed.
    await other.closed;
    waited.resolve();
    expect(await closed).toContain('late');
  });

  it('whose second request waits for its answer is left alone, though the first has had it', async () => {
    const waited = deferred();
    let requests = 0;
    const dial = await listening({ stalledMs: soon }, async () => {
      requests += 1;
      if (requests === 1) return new Response('first');
      await waited.promise;
      return new Response('second', { headers: { connection: 'close' } });
    });
    const { closed } = dial(`${HEAD}Content-Length: 0\r\n\r\n`.repeat(2));
    await dial('').closed; // As above.
    await dial('').closed; // The time is counted from the first answer.
    waited.resolve();
    expect(await closed).toContain('second');
  });

  it('whose peer takes nothing is closed, and its stream cancelled', async () => {
    const cancelled = deferred();
    const dial = await listening({ stalledMs: soon }, async () => {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(256 * 1024)),
        cancel: () => cancelled.resolve(),
      });
      return new Response(body);
    });
    const { socket } = dial(`${HEAD}Content-Length: 0\r\n\r\n`);
    socket.pause();
    await cancelled.promise;
  });

  it('has times that suit clients and proxies by default', () => {
    const { headMs, requestMs, idleMs, stalledMs } = CONNECTION_TIMES;
    expect(headMs).toBeLessThan(requestMs);
    expect(idleMs).toBeGreaterThan(60_000);
    expect(stalledMs).toBeGreaterThan(4 * 15_000); // Comments come every fifteen seconds.
  });
});
