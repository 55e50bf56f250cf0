import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json } from '../support/messages.ts';
import { overStdio, validated } from './host.ts';
import { aPlace, type Place, until } from './processes.ts';
import { StdioPeer } from './stdio-peer.ts';

const isTerminal = ({ status }: Json) => !['working', 'input_required'].includes(String(status));
const content = (text: string) => ({ content: [{ type: 'text', text }] });
const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const aPeer = (place: Place = aPlace()) => new StdioPeer(place, validated());
const ran = (place: Place, what: string) =>
  until(`${what} has run`, () => (place.ran().includes(what) ? true : undefined));

describe('over stdio, a server that is killed and started again', () => {
  it('goes on with a task from its last step, for the next client [G3-S-11] [C-008]', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await overStdio(place, validator);
    const handle = await first.start('count', { to: 4, waitAt: 2 });
    await first.when(handle.taskId, 'is under way', ({ statusMessage }) => statusMessage === '1/4');
    await ran(place, 'step 2');
    await first.kill();
    place.go();
    const second = await overStdio(place, validator);
    const done = await second.when(handle.taskId, 'is over', isTerminal);
    expect(done).toMatchObject({ status: 'completed', createdAt: handle['createdAt'], result: content('sum 10') });
    expect(await second.get(handle.taskId)).toEqual(done);
    expect(place.ran()).toEqual([1, 2, 2, 3, 4].map((n) => `step ${n}`));
  });

  it('still asks what it asked, and takes the answer', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await overStdio(place, validator);
    const { taskId } = await first.start('ask');
    const asked = await first.when(taskId, 'asks', ({ status }) => status === 'input_required');
    await first.kill();
    const second = await overStdio(place, validator);
    expect((await second.get(taskId))['inputRequests']).toEqual(asked['inputRequests']);
    await second.update(taskId, { colour: { action: 'accept', content: { colour: 'red' } } });
    expect(await second.when(taskId, 'is over', isTerminal)).toMatchObject({ result: content('painted red') });
  });
});

describe('over stdio, the official clients', () => {
  it('call, follow and cancel: the session of ext-tasks', async () => {
    const place = aPlace();
    place.go();
    const host = await overStdio(place, validated());
    await using session = host.session(() => ({ colour: 'green', name: 'Ada' }));
    const outcome = async (name: string, args = {}) => (await session.callTool(name, args)).result();
    expect(await outcome('greet', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      result: content('hello Ada'),
    });
    expect(await outcome('count', { to: 3 })).toMatchObject({ status: 'completed', result: content('sum 6') });
    expect(await outcome('broken')).toMatchObject({ status: 'failed', error: { code: -32050 } });
    expect(await outcome('ask')).toMatchObject({ status: 'completed', result: content('painted green') });
    expect(await outcome('greetLater')).toMatchObject({ status: 'completed', result: content('hello Ada') });
    const execution = await session.callTool('wait');
    await execution.cancel();
    expect(await execution.result()).toMatchObject({ status: 'cancelled' });
  });

  it('are answered inline without the extension: a client of 2025-11-25 [C-015]', async () => {
    const place = aPlace();
    const { client } = await overStdio(place, validated(), {});
    expect(client.getProtocolEra()).toBe('legacy');
    expect(client.getServerCapabilities()).toMatchObject({ tasks: { requests: { tools: { call: {} } } } });
    expect(await client.callTool({ name: 'count', arguments: { to: 3 } })).toMatchObject(content('sum 6'));
    await expect(client.callTool({ name: 'must', arguments: {} })).rejects.toMatchObject({ code: -32601 });
  });
});

describe('over stdio, each request', () => {
  it('is served by its own declaration among 100 at once, with and without [G3-S-03] [G3-S-76] [C-017]', async () => {
    const peer = aPeer();
    const declares = (n: number) => n % 2 === 0;
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => peer.call('count', { to: n }, declares(n) ? extension : {})),
    );
    for (const [n, { result }] of answers.entries()) {
      expect(result).toMatchObject(
        declares(n)
          ? { resultType: 'task' }
          : { resultType: 'complete', structuredContent: { sum: (n * (n + 1)) / 2 } },
      );
    }
    // Nothing but answers came back, and one for each: the server asks nothing and tells nothing unasked.
    expect(peer.messages.filter((message) => 'method' in message)).toEqual([]);
    expect(peer.messages).toHaveLength(100);
  });

  it('is refused without what it has to carry, whatever earlier ones carried [G3-S-76] [G3-S-77] [G3-S-79]', async () => {
    const peer = aPeer();
    await peer.send('server/discover', {});
    const { result } = await peer.call('wait');
    const params = { taskId: result['taskId'] };
    const asked = (id: string, meta?: Json) =>
      peer.ask({ jsonrpc: '2.0', id, method: 'tasks/get', params: { ...params, ...(meta && { _meta: meta }) } });
    const version = 'io.modelcontextprotocol/protocolVersion';
    const capabilities = 'io.modelcontextprotocol/clientCapabilities';
    expect(await asked('a')).toMatchObject({ error: { code: -32602 } });
    expect(await asked('b', {})).toMatchObject({ error: { code: -32602 } });
    expect(await asked('c', { [version]: '2026-07-28' })).toMatchObject({ error: { code: -32602 } });
    expect(await asked('d', { [version]: '2026-07-28', [capabilities]: 'all' })).toMatchObject({
      error: { code: -32602 },
    });
    expect(await asked('e', { [version]: '2026-07-28', [capabilities]: {} })).toMatchObject({
      error: { code: -32021 },
    });
    expect(await asked('f', { [version]: '2026-07-28', [capabilities]: extension })).toMatchObject({
      result: { status: 'working' },
    });
  });

  it('names a version that is spoken, or learns which are [G3-S-79]', async () => {
    const peer = aPeer();
    const answer = await peer.ask({
      jsonrpc: '2.0',
      id: 1,
      method: 'server/discover',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2099-01-01',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    });
    expect(answer).toMatchObject({
      error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    });
  });

  it('of other generations does not exist [G3-S-62] [G3-S-63] [G3-S-80]', async () => {
    const peer = aPeer();
    for (const method of ['tasks/result', 'tasks/list', 'tasks/delete', 'tasks/pause']) {
      expect((await peer.send(method, { taskId: 'x' })).error).toMatchObject({ code: -32601 });
    }
  });
});

describe('over stdio, a cancelled request', () => {
  const cancelled = (requestId: unknown) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });

  it('that was answered with a task cancels nothing: it is too late [G3-S-88]', async () => {
    const place = aPlace();
    const peer = aPeer(place);
    const call = peer.request('tools/call', { name: 'wait', arguments: {} });
    const { result } = (await peer.ask(call)) as { result: Json };
    await ran(place, 'wait');
    peer.write(cancelled(call['id']));
    peer.write(cancelled(result['taskId']));
    peer.write(cancelled('never was'));
    const task = (await peer.send('tasks/get', { taskId: result['taskId'] })).result;
    expect(task['status']).toBe('working');
    expect(place.ran()).toEqual(['wait']);
  });

  it.each<[string, 'modern' | 'legacy']>([
    ['of 2026-07-28', 'modern'],
    ['of 2025-11-25', 'legacy'],
  ])('that runs inline stops, and is not answered: one %s [G3-S-88]', async (_, era) => {
    const place = aPlace();
    const peer = aPeer(place);
    const params = { name: 'wait', arguments: {} };
    const call: Json =
      era === 'modern'
        ? peer.request('tools/call', params, {})
        : { jsonrpc: '2.0', id: 'call', method: 'tools/call', params };
    if (era === 'modern') await peer.send('server/discover', {});
    else {
      const hello = { protocolVersion: '2025-11-25', clientInfo: { name: 'old', version: '1' }, capabilities: {} };
      await peer.ask({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params: hello });
      peer.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    }
    peer.write(call);
    await ran(place, 'wait');
    peer.write(cancelled(call['id']));
    await ran(place, 'stopped');
    expect(await peer.closeStdin()).toBe(0);
    expect(peer.messages.filter(({ id }) => id === call['id'])).toEqual([]);
  });
});

describe('over stdio, the server', () => {
  it('reports progress of a call that is served inline [G3-S-87]', async () => {
    const place = aPlace();
    const peer = aPeer(place);
    const answer = peer.call('count', { to: 3, waitAt: 3 }, {}, { progressToken: 'p' });
    await until('progress was told', () => peer.messages.find(({ method }) => method === 'notifications/progress'));
    place.go();
    expect((await answer).result).toMatchObject(content('sum 6'));
    const told = peer.messages.flatMap((message) => ('method' in message ? [message['params'] as Json] : []));
    expect(told[0]).toMatchObject({ progressToken: 'p', total: 3 });
    const numbers = told.map(({ progress }) => Number(progress));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  it('outlives whatever is written to it, and writes nothing but messages', async () => {
    const peer = aPeer();
    const { result } = await peer.call('wait');
    for (const line of [
      'hello?',
      '{"jsonrpc":"2.0",',
      '',
      '5',
      'null',
      '[]',
      '{}',
      '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":"stray","result":{}}',
      '{"jsonrpc":"2.0","method":"tasks/cancel","params":{}}',
      `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
      '\u0000\ufffd',
    ]) {
      peer.writeLine(line);
    }
    expect((await peer.send('tasks/get', { taskId: result['taskId'] })).result['status']).toBe('working');
    for (const message of peer.messages) expect(message['jsonrpc']).toBe('2.0');
    expect(peer.server.stdout.endsWith('\n')).toBe(true);
  });

  it('ends when its client goes away, and hands back what it works on', async () => {
    const place = aPlace();
    const validator = validated();
    const first = new StdioPeer(place, validator);
    const { result } = await first.call('count', { to: 2, waitAt: 2 });
    await ran(place, 'step 2');
    expect(await first.closeStdin()).toBe(0);
    place.go();
    const second = new StdioPeer(place, validator);
    const done = await until('the task is over', async () => {
      const { result: task } = await second.send('tasks/get', { taskId: result['taskId'] });
      return isTerminal(task) ? task : undefined;
    });
    expect(done).toMatchObject({ status: 'completed', result: content('sum 3') });
  });

  it('ends at once when there is nothing to do', async () => {
    const peer = aPeer();
    await peer.send('server/discover', {});
    expect(await peer.closeStdin()).toBe(0);
    expect(peer.server.stderr).toBe('');
  });

  it('with a database it must not touch says so to its operator, and to its client only that there is trouble [G3-S-49]', async () => {
    const place = aPlace();
    const precious = 'my shopping list\n'.repeat(300);
    writeFileSync(place.database, precious);
    const peer = aPeer(place);
    for (const capabilities of [extension, {}]) {
      const { error } = await peer.call('wait', {}, capabilities);
      expect(error).toEqual({ code: -32603, message: 'The server cannot reach its task store; try again later' });
    }
    expect((await peer.call('greet', { name: 'Ada' })).result).toMatchObject(content('hello Ada'));
    expect(peer.server.stderr).toContain(`${place.database} is not a SQLite database`);
    expect(readFileSync(place.database, 'utf8')).toBe(precious);
    expect(await peer.closeStdin()).toBe(0);
  });
});
