import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NumberWatch } from '../../src/client/numbers/number-watch.ts';
import type { UpstreamTarget } from '../../src/gateway/config/types.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { guest, standing, upstream, words } from './support.ts';

const LARGE = '[9007199254740993,1e400,-0,1.0,12345678901234567890]';
const SMALL = '[9007199254740991,1.5,"12345678901234567890"]';

const hasPython = spawnSync('python3', ['--version']).status === 0;

function python(): Promise<UpstreamTarget> {
  const args = [join(import.meta.dirname, 'fixtures', 'numbers.py')];
  return Promise.resolve({ command: 'python3', args, env: { PATH: process.env.PATH ?? '' } });
}

/** A server over HTTP that writes its JSON by hand, whole or as an event stream. */
async function byHand(type: 'application/json' | 'text/event-stream'): Promise<UpstreamTarget> {
  const http = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (some: string) => (text += some));
    request.on('end', () => {
      const { id, method, params } = text === '' ? ({} as never) : JSON.parse(text);
      if (request.method !== 'POST' || id === undefined)
        return void response.writeHead(id === undefined ? 202 : 405).end();
      const member = answerTo(method, params);
      const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`;
      response.writeHead(200, { 'content-type': type });
      if (type === 'application/json') return void response.end(message);
      const middle = message.length - 12; // Within the last of the large numbers.
      response.write(`id: 12345678901234567890\nevent: message\ndata: ${message.slice(0, middle)}`);
      setImmediate(() => response.end(`${message.slice(middle)}\n\n`));
      return undefined;
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, headers: {}, forwardAuthorization: false };
}

function answerTo(method: string, params: { name?: string; protocolVersion?: string }): string {
  switch (method) {
    case 'initialize': {
      const info = '"capabilities":{"tools":{}},"serverInfo":{"name":"hand","version":"1"}';
      return `"result":{"protocolVersion":"${params.protocolVersion}",${info}}`;
    }
    case 'tools/list':
      return '"result":{"tools":[{"name":"large","inputSchema":{"type":"object"}},{"name":"small","inputSchema":{"type":"object"}}]}';
    case 'tools/call':
      return `"result":{"content":[{"type":"text","text":"here"}],"structuredContent":{"numbers":${params.name === 'large' ? LARGE : SMALL}}}`;
    default:
      return '"error":{"code":-32601,"message":"no"}';
  }
}

const SERVERS = [
  ...(hasPython ? [['in Python, on standard streams', python] as const] : []),
  ['over HTTP', () => byHand('application/json')] as const,
  ['over HTTP, in event streams', () => byHand('text/event-stream')] as const,
];

describe.each(SERVERS)('numbers of a server %s that JavaScript cannot hold', (_what, target) => {
  it.each(['task', 'direct'] as const)('are told to operators once, without them: %s [C-079]', async (mode) => {
    const { logger, lines } = recordingLogger();
    const config = { upstreams: [upstream(await target(), { policy: { mode } })] };
    const { url } = await standing(config, { logger });
    const warned = () => lines.filter(({ message }) => message.includes('numbers'));
    const client = await guest(url, 'legacy');
    await client.callTool({ name: 'small' });
    expect(warned()).toEqual([]);
    for (let n = 0; n < 3; n += 1) {
      const answer = await client.callTool({ name: 'large' });
      const { numbers } = answer['structuredContent'] as { numbers: number[] };
      expect(numbers[0]).toBe(9007199254740992); // What docs/limits.md says.
      expect(words(answer)).not.toBe('');
    }
    expect(warned()).toHaveLength(1);
    expect(warned()[0]).toMatchObject({ level: 'warn', fields: { messages: 1 } });
    expect(JSON.stringify(lines)).not.toMatch(/900719925474099|123456789012345/);
  });
});

describe('a server that goes on sending such numbers', () => {
  it('is told of once an hour, with how many messages had some [C-079]', () => {
    const { logger, lines } = recordingLogger();
    const clock = new ManualClock();
    const watch = new NumberWatch({ clock, logger, server: 'x' });
    const message = Buffer.from('{"id":12345678901234567890}');
    for (let n = 0; n < 5; n += 1) watch.look(message);
    expect(lines.map(({ fields }) => fields)).toEqual([{ server: 'x', messages: 1 }]);
    clock.advance(3_600_000);
    watch.look(message);
    expect(lines.at(-1)?.fields).toEqual({ server: 'x', messages: 5 });
    watch.look(Buffer.from('{"id":"12345678901234567890"}'));
    expect(lines).toHaveLength(2);
  });
});
