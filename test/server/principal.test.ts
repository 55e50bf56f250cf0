import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTasks, text } from '../../src/engine/index.ts';
import { createTaskHandler, createTaskServer, type PrincipalOf } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { recordingLogger } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { closing, Peer, validated } from './peer.ts';

type Claims = Record<string, unknown>;
type Handler = ReturnType<typeof createTaskHandler>;

const alice = { iss: 'https://login.example', sub: 'alice' };
const mallory = { iss: 'https://login.example', sub: 'mallory' };

/** A server behind something that verifies tokens; `as` is a client whose token carries these claims. */
function authenticated(options: { principal?: PrincipalOf } = {}) {
  const clock = new ManualClock();
  const { logger, lines } = recordingLogger();
  const tasks = createTasks({ store: sqliteStore(':memory:'), logger, clock, drainMs: 0 });
  const seen: unknown[] = [];
  tasks.registerTool('whoami', { task: { support: 'forbidden' } }, (_args, task) =>
    text(JSON.stringify(task.principal)),
  );
  tasks.registerTool('slow', {}, (_args, task) => {
    seen.push(task.principal);
    return new Promise(() => {});
  });
  const handler = createTaskHandler(tasks, () => new McpServer({ name: 's', version: '1.0.0' }), options);
  onTestFinished(() => closing({ close: () => handler.close().then(() => tasks.close()) }, clock));
  const validator = validated();
  const as = (extra: Claims | undefined, clientId = 'the-app') =>
    new Peer((request) => handler.fetch(request, { authInfo: token(extra, clientId) }), validator);
  return { as, handler: handler as Handler, validator, seen, log: lines };
}

function token(extra: Claims | undefined, clientId: string) {
  return { token: 'secret-token', clientId, scopes: [], ...(extra && { extra }) };
}

describe('tasks', () => {
  it('belong to issuer and subject of the token; to everybody else they are unknown [C-010] [G3-S-59]', async () => {
    const { as, seen } = authenticated();
    const { taskId } = await as(alice).start('slow');
    expect(seen).toEqual([{ subject: 'https://login.example|alice' }]);

    // Every one of these says what it would say of an id that never was, byte by byte.
    const strangers = [mallory, { ...alice, iss: 'https://other.example' }];
    for (const claims of strangers) {
      const stranger = as(claims);
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const bodies = await Promise.all(
          [taskId, `${taskId.slice(0, -1)}_`, 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA'].map(async (id) => {
            const message = stranger.request(method, { taskId: id, inputResponses: { go: { action: 'cancel' } } });
            return (await stranger.post({ ...message, id: 1 })).body;
          }),
        );
        expect(new Set(bodies)).toEqual(
          new Set(['{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Task not found"}}']),
        );
      }
    }
    // Nor does the lack of the capability tell them apart.
    const undeclared = [taskId, 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA'].map(async (id) => {
      const message = as(mallory).request('tasks/get', { taskId: id }, { capabilities: {} });
      return (await as(mallory).post({ ...message, id: 1 })).body;
    });
    expect(new Set(await Promise.all(undeclared)).size).toBe(1);
    expect((await as(alice).get(taskId)).result['status']).toBe('working');
    expect((await as(alice, 'another app').get(taskId)).result['status']).toBe('working');
  });

  it('of a client without a token are those of the local principal', async () => {
    const { as, handler, validator } = authenticated();
    const local = new Peer((request) => handler.fetch(request), validator);
    const { taskId } = await local.start('slow');
    expect((await local.get(taskId)).result['status']).toBe('working');
    expect((await as(alice).get(taskId)).error.code).toBe(-32602);
  });

  it('belong to whom `principal` says', async () => {
    const { as, seen } = authenticated({
      principal: ({ auth }) => ({ tenant: String(auth?.extra?.['org']), subject: String(auth?.clientId) }),
    });
    const { taskId } = await as({ org: 'acme' }).start('slow');
    expect(seen).toEqual([{ tenant: 'acme', subject: 'the-app' }]);
    expect((await as({ org: 'acme' }).get(taskId)).result['status']).toBe('working');
    expect((await as({ org: 'other' }).get(taskId)).error.code).toBe(-32602);
  });

  it("are reached through a server's own fetch with what the token said", async () => {
    const clock = new ManualClock();
    const tasks = createTasks({ store: sqliteStore(':memory:'), clock, drainMs: 0, logger: recordingLogger().logger });
    tasks.registerTool('slow', {}, () => new Promise(() => {}));
    const server = createTaskServer(tasks, { name: 's', version: '1.0.0' });
    onTestFinished(() => closing(server, clock));
    const validator = validated();
    const as = (claims: Claims) =>
      new Peer((request) => server.fetch(request, { authInfo: token(claims, 'app') }), validator);
    const { taskId } = await as(alice).start('slow');
    expect((await as(alice).get(taskId)).result['status']).toBe('working');
    expect((await as(mallory).get(taskId)).error.code).toBe(-32602);
  });
});

describe('a token that does not say whose it is', () => {
  it.each<[string, Claims | undefined]>([
    ['no claims', undefined],
    ['no subject', { iss: 'https://login.example' }],
    ['no issuer', { sub: 'alice' }],
    ['an empty subject', { ...alice, sub: '' }],
    ['a subject that is no string', { ...alice, sub: 5 }],
  ])('is refused everywhere, with %s, until the server says whose it is', async (_, claims) => {
    const { as, seen, log } = authenticated();
    const peer = as(claims);
    for (const { status, error } of [
      await peer.call('slow'),
      await peer.call('slow', {}, { capabilities: {} }),
      await peer.call('whoami'),
      await peer.get('tsk_AAAAAAAAAAAAAAAAAAAAAAAA'),
      await peer.update('tsk_AAAAAAAAAAAAAAAAAAAAAAAA', {}),
      await peer.cancel('tsk_AAAAAAAAAAAAAAAAAAAAAAAA'),
    ]) {
      expect({ status, error }).toEqual({
        status: 200,
        error: { code: -32603, message: expect.stringMatching(/names no issuer and subject; give .* a principal\(\)/) },
      });
    }
    expect(seen).toEqual([]);
    expect(log.filter(({ level }) => level === 'error')).toHaveLength(6);

    const named = authenticated({ principal: () => ({ subject: 'known' }) });
    await named.as(claims).start('slow');
    expect(named.seen).toEqual([{ subject: 'known' }]);
  });
});

describe('a `principal` that throws', () => {
  it.each([
    [
      'an error with a code refuses with that error',
      Object.assign(new Error('not in this org'), { code: -32050, data: { org: 1 } }),
      { code: -32050, message: 'not in this org', data: { org: 1 } },
    ],
    [
      'any other refuses with an internal error that tells nothing',
      new Error('select * from orgs'),
      { code: -32603, message: 'Internal error' },
    ],
  ])('%s', async (_, thrown, error) => {
    const { as, seen } = authenticated({
      principal: () => {
        throw thrown;
      },
    });
    for (const reply of [await as(alice).call('slow'), await as(alice).get('x'), await as(alice).call('whoami')]) {
      expect(reply.error).toEqual(error);
    }
    const before = LegacyPeer.stateless({ peer: as(alice) }, '2025-11-25');
    for (const reply of [await before.call('slow'), await before.send('tasks/get', { taskId: 'x' })]) {
      expect(reply.error).toEqual(error);
    }
    expect(seen).toEqual([]);
  });
});
