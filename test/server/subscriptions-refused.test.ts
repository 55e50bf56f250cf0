import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { listener } from './listener.ts';
import { type Peer, type Sending, serve } from './peer.ts';

function tools(tasks: Tasks): void {
  tasks.registerTool('wait', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve(), { once: true }));
    return text('too late');
  });
}

const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';
const listen = (peer: Peer, notifications: unknown, sending?: Sending) =>
  peer.send('subscriptions/listen', { notifications }, sending);
/** A listen without the capability, and wrong in one more way. */
const wrong = (peer: Peer, notifications: unknown, change: { meta?: Json; headers?: Sending['headers'] }) => {
  const message = peer.request('subscriptions/listen', { notifications }, { capabilities: {} });
  const params = message['params'] as Json;
  const meta = Object.entries({ ...(params['_meta'] as Json), ...change.meta }).filter(([, value]) => value !== null);
  return peer.post(
    { ...message, params: { ...params, _meta: Object.fromEntries(meta) } },
    { ...(change.headers && { headers: change.headers }) },
  );
};

describe('a subscription to tasks is refused', () => {
  it('without the capability, which says what is missing [G3-S-46] [G3-S-05] [G3-S-78]', async () => {
    const { peer } = serve(tools);
    const { taskId } = await peer.start('wait');
    const without = [{}, { tasks: {} }, { extensions: {} }, { extensions: { 'io.modelcontextprotocol/task': {} } }];
    const seen = new Set<string>();
    for (const declared of without) {
      for (const taskIds of [[taskId], ['nobody']]) {
        const { status, error } = await listen(peer, { taskIds }, { capabilities: declared });
        expect(status).toBe(400);
        seen.add(JSON.stringify(error));
      }
    }
    expect([...seen].map((text) => JSON.parse(text) as Json)).toEqual([
      {
        code: -32021,
        message: expect.stringContaining('io.modelcontextprotocol/tasks'),
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      },
    ]);
  });

  it.each<[string, number, number, { meta?: Json; headers?: Sending['headers'] }]>([
    ['another method in its header', -32020, 400, { headers: { 'mcp-method': 'tools/list' } }],
    ['no method in its header', -32020, 400, { headers: { 'mcp-method': undefined } }],
    ['another version in its header', -32020, 400, { headers: { 'mcp-protocol-version': '2025-11-25' } }],
    ['no version in its header', -32020, 400, { headers: { 'mcp-protocol-version': undefined } }],
    ['no version in its envelope', -32602, 400, { meta: { [version]: null } }],
    ['no capabilities in its envelope', -32602, 400, { meta: { [capabilities]: null } }],
    ['capabilities that are none', -32602, 400, { meta: { [capabilities]: 'all' } }],
    [
      'a version nobody speaks',
      -32022,
      400,
      { meta: { [version]: '2099-01-01' }, headers: { 'mcp-protocol-version': '2099-01-01' } },
    ],
  ])('first for %s [G3-S-46] [G3-S-77] [G3-S-79] [G3-S-81]', async (_what, code, status, change) => {
    const { peer } = serve(tools);
    for (const notifications of [{ taskIds: ['nobody'] }, { taskIds: 5, toolsListChanged: 'yes' }]) {
      const reply = await wrong(peer, notifications, change);
      expect(reply).toMatchObject({ status, error: { code } });
    }
  });

  it('then for the capability, and only then for its shape [G3-S-46]', async () => {
    const { peer } = serve(tools);
    const many = Array.from({ length: 1_001 }, (_, n) => `tsk_${n}`);
    const bad = [
      [{ taskIds: 'nobody' }, 'params.notifications.taskIds: expected an array of strings'],
      [{ taskIds: null }, 'params.notifications.taskIds: expected an array of strings'],
      [{ taskIds: ['a', 5] }, 'params.notifications.taskIds: expected an array of strings'],
      [{ taskIds: many }, 'params.notifications.taskIds: at most 1000 are taken, got 1001'],
      [{ taskIds: ['a'], toolsListChanged: 'yes' }, expect.stringContaining('SubscriptionFilter')],
    ] as const;
    for (const [notifications, message] of bad) {
      expect(await listen(peer, notifications, { capabilities: {} })).toMatchObject({
        status: 400,
        error: { code: -32021 },
      });
      expect(await listen(peer, notifications)).toMatchObject({ status: 200, error: { code: -32602, message } });
    }
  });

  it('by the SDK where no task is asked for', async () => {
    const { peer } = serve(tools);
    for (const notifications of [undefined, null, 5, [], { toolsListChanged: 'yes' }]) {
      expect((await listen(peer, notifications, { capabilities: {} })).error).toMatchObject({ code: -32602 });
    }
    const { status } = await peer.postText('{"jsonrpc":', { headers: { 'mcp-method': 'subscriptions/listen' } });
    expect(status).toBe(400);
    const none = await listen(peer, { taskIds: [] }, { capabilities: {} });
    expect(none.notifications).toMatchObject([{ params: { notifications: {} } }]);
    expect(none.result).toMatchObject({ resultType: 'complete' });
  });

  it('as any request of somebody nobody knows', async () => {
    const { peer } = serve(tools, {
      server: {
        principal: () => {
          throw Object.assign(new Error('who are you?'), { code: -32050 });
        },
      },
    });
    expect((await listen(peer, { taskIds: ['a'] })).error).toEqual({ code: -32050, message: 'who are you?' });
  });

  it('beyond 1,000 at a time, and 50,000 tasks on them, for each principal', async () => {
    const principal = { current: 'alice' };
    const { peer } = serve(tools, { server: { principal: () => ({ subject: principal.current }) } });
    const { taskId } = await peer.start('wait');
    const many = [taskId, ...Array.from({ length: 999 }, (_, n) => `tsk_${n}`)];
    const full = [];
    for (let n = 0; n < 50; n += 1) full.push(await listener(peer, { taskIds: many }));
    const refused = await listen(peer, { taskIds: [taskId] });
    expect(refused).toMatchObject({ status: 200, error: { code: -32603 } });
    expect(refused.error.message).toBe('your subscriptions have room for 0 more tasks, got 1');
    for (const stream of full) await stream.leave();
    for (let n = 0; n < 1_000; n += 1) await listener(peer, { taskIds: [taskId] });
    const { error } = await listen(peer, { taskIds: [taskId] });
    expect(error.message).toBe('1000 subscriptions are open, and no more are taken; close some first');
    principal.current = 'bob';
    const { taskId: other } = await peer.start('wait');
    const stream = await listener(peer, { taskIds: [other] });
    expect(await stream.next()).toMatchObject({ params: { notifications: { taskIds: [other] } } });
  });
});
