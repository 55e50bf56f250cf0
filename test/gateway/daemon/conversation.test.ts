import { describe, expect, it } from 'vitest';
import { Conversation, LostAgainError } from '../../../src/gateway/daemon/conversation.ts';
import { notification } from '../../support/messages.ts';

const line = (message: object): Buffer => Buffer.from(`${JSON.stringify(message)}\n`);
const read = (buffer: Buffer | undefined) => (buffer === undefined ? undefined : JSON.parse(buffer.toString('utf8')));
const ask = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const answer = (id: unknown, result: object = {}) => ({ jsonrpc: '2.0', id, result });
const initialize = ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'h' } });

/** A host with a session, and what a daemon that replaces another is told. */
function aSession() {
  const conversation = new Conversation();
  const fromHost = (message: object) => read(conversation.fromHost(line(message)).on);
  const fromDaemon = (message: object) => read(conversation.fromDaemon(line(message)));
  const lost = () => conversation.lost().map(read);
  const begin = () => {
    fromHost(initialize);
    fromDaemon(answer(0, { protocolVersion: '2025-11-25' }));
    fromHost(notification('notifications/initialized', {}));
  };
  /** Answers each request that is said again; the result is all that was said. */
  const repeat = async (version = '2025-11-25') => {
    const said: { id?: unknown; method: string; params: object }[] = [];
    await conversation.repeat((written) => {
      const message = read(written);
      said.push(message);
      if (message.id !== undefined) queueMicrotask(() => fromDaemon(answer(message.id, { protocolVersion: version })));
    });
    return said;
  };
  return { conversation, fromHost, fromDaemon, lost, begin, repeat };
}

describe('when a daemon was replaced', () => {
  it('open requests are answered with an error, and those that were answered or taken back are not', () => {
    const { fromHost, fromDaemon, lost } = aSession();
    for (const id of [1, 2, '3', 4]) fromHost(ask(id, 'tools/call'));
    fromDaemon(answer(2));
    fromHost(notification('notifications/cancelled', { requestId: 4 }));
    const message = expect.stringContaining('whether the call ran is not known');
    expect(lost()).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32603, message, data: { restarted: true } } },
      { jsonrpc: '2.0', id: '3', error: { code: -32603, message, data: { restarted: true } } },
    ]);
    expect(lost()).toEqual([]);
  });

  it('the new one is told of the session, and the host is not told again [C-088]', async () => {
    const { fromHost, fromDaemon, lost, begin, repeat } = aSession();
    begin();
    fromHost(ask(1, 'logging/setLevel', { level: 'info' }));
    fromHost(ask(2, 'logging/setLevel', { level: 'error' }));
    fromHost(ask(3, 'resources/subscribe', { uri: 'a:1' }));
    fromHost(ask(4, 'resources/subscribe', { uri: 'a:2' }));
    fromHost(ask(5, 'resources/unsubscribe', { uri: 'a:1' }));
    for (const id of [1, 2, 3, 4, 5]) fromDaemon(answer(id));
    expect(lost()).toEqual([]);
    const said = await repeat();
    expect(said.map(({ method, params }) => [method, params])).toEqual([
      ['initialize', initialize.params],
      ['notifications/initialized', {}],
      ['logging/setLevel', { level: 'error' }],
      ['resources/subscribe', { uri: 'a:2' }],
    ]);
  });

  it('before it answered the beginning of the session, that is said once more as it was', async () => {
    const { fromHost, fromDaemon, lost, repeat, conversation } = aSession();
    fromHost(initialize);
    expect(lost()).toEqual([]);
    const said: Buffer[] = [];
    await conversation.repeat((written) => said.push(written));
    expect(said.map(read)).toEqual([initialize]);
    expect(fromDaemon(answer(0, { protocolVersion: '2025-11-25' }))).toMatchObject({ id: 0 });
    lost();
    expect((await repeat()).map(({ method }) => method)).toEqual(['initialize']);
  });

  it('nothing is said for hosts of 2026-07-28, whose requests say it all', async () => {
    const { fromHost, fromDaemon, lost, repeat } = aSession();
    fromHost(ask(1, 'server/discover'));
    fromDaemon(answer(1));
    lost();
    expect(await repeat()).toEqual([]);
  });

  it('and takes up the session in another revision, the front cannot go on', async () => {
    const { lost, begin, repeat } = aSession();
    begin();
    lost();
    await expect(repeat('2025-06-18')).rejects.toMatchObject({ code: 'DAEMON_LOST' });
  });

  it('and dies while it is told, that is known', async () => {
    const { conversation, lost, begin, repeat } = aSession();
    begin();
    lost();
    const telling = conversation.repeat(() => {});
    lost();
    await expect(telling).rejects.toThrow(LostAgainError);
    expect(await repeat()).toHaveLength(2);
  });

  it('questions of the old one are taken back, and answers reach who asked, though both number from 0', () => {
    const { fromHost, fromDaemon, lost } = aSession();
    expect(fromDaemon(ask(0, 'elicitation/create'))).toEqual(ask(0, 'elicitation/create'));
    expect(lost()).toMatchObject([{ method: 'notifications/cancelled', params: { requestId: 0 } }]);
    const shown = fromDaemon(ask(0, 'roots/list')).id as string;
    expect(shown).not.toBe(0);
    expect(fromHost(answer(0, { action: 'accept' }))).toBeUndefined(); // Too late, and not for the new one.
    expect(fromHost(answer(shown, { roots: [] }))).toEqual(answer(0, { roots: [] }));
    const text = fromDaemon(ask('q', 'sampling/createMessage')).id as string;
    expect(fromDaemon(notification('notifications/cancelled', { requestId: 'q', reason: 'r' }))).toEqual(
      notification('notifications/cancelled', { requestId: text, reason: 'r' }),
    );
    expect(lost()).toEqual([]);
  });
});

describe('a conversation without trouble', () => {
  it('passes every line as it is', () => {
    const { conversation } = aSession();
    const odd = [
      '{ "id" : 1.0, "method":"ping" }\n',
      'no json\n',
      '[]\n',
      '\n',
      '{"id":1e0,"result":{"big":12345678901234567890}}\n',
    ];
    for (const one of odd) expect(conversation.fromHost(Buffer.from(one)).on?.toString()).toBe(one);
    for (const one of odd) expect(conversation.fromDaemon(Buffer.from(one))?.toString()).toBe(one);
  });

  it('is bounded: too many open requests are refused, and there is room again after answers', () => {
    const { conversation, fromHost, fromDaemon } = aSession();
    for (let id = 0; id < 10_000; id += 1) fromHost(ask(id, 'ping'));
    expect(read(conversation.fromHost(line(ask('more', 'ping'))).back)).toMatchObject({
      id: 'more',
      error: { code: -32603 },
    });
    fromDaemon(answer(7));
    expect(fromHost(ask('more', 'ping'))).toMatchObject({ id: 'more' });
  });
});
