import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { Peer, type Reply, serve } from './peer.ts';
import { users } from './users.ts';

const BIG = 4 * 1024 * 1024;
const MADE_UP = 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA';
const plain = { capabilities: {} };

function register(tasks: Tasks): void {
  tasks.registerTool('big', {}, () => text('x'.repeat(BIG)));
  tasks.registerTool('asks', {}, async (_args, task) => {
    await task.ask('go', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
    return text('gone');
  });
}

/** Alice has a task with a large result and one that asks; Bob has nothing. What the store was asked is kept. */
async function neighbours() {
  const calls: string[] = [];
  const store = interceptedStore((method, call) => {
    calls.push(String(method));
    return call();
  });
  const served = serve(register, { tasks: { store } });
  const as = users(served);
  const alice = as('alice').peer;
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } };
  const [done, asking] = [await alice.start('big'), await alice.start('asks', {}, { capabilities })];
  for (const [taskId, status] of [
    [done.taskId, 'completed'],
    [asking.taskId, 'input_required'],
  ] as const) {
    while ((await alice.get(taskId)).result['status'] !== status) await new Promise(setImmediate);
    served.clock.advance(10_000);
  }
  const asked = async (use: (taskId: string) => Promise<unknown>, taskId: string): Promise<string[]> => {
    calls.length = 0;
    await use(taskId);
    return [...calls];
  };
  return { ...served, as, bob: as('bob').peer, foreign: [done.taskId, asking.taskId], asked };
}

const answer = (taskId: string, { body }: Pick<Reply, 'body'>) =>
  body.replaceAll(taskId, 'ID').replace(/"id":\d+/g, '"id":0');

describe('the tasks of somebody else', () => {
  const modern: [string, (peer: Peer, taskId: string) => Promise<Reply>][] = [
    ['tasks/get', (peer, taskId) => peer.get(taskId)],
    ['tasks/update', (peer, taskId) => peer.update(taskId, { go: { action: 'accept', content: { ok: true } } })],
    ['tasks/cancel', (peer, taskId) => peer.cancel(taskId)],
    ...['', '/log', '/result'].map((path): [string, (peer: Peer, taskId: string) => Promise<Reply>] => [
      `the resource${path}`,
      (peer, taskId) => {
        const uri = `longcall://tasks/${taskId}${path}`;
        return peer.send('resources/read', { uri }, { headers: { 'mcp-name': uri } });
      },
    ]),
    ...['wait', 'status', 'result', 'logs', 'cancel', 'delete'].map(
      (name): [string, (peer: Peer, taskId: string) => Promise<Reply>] => [
        `task_${name}`,
        (peer, taskId) => peer.call(`task_${name}`, { taskId }, plain),
      ],
    ),
    ['task_answer', (peer, taskId) => peer.call('task_answer', { taskId, key: 'go', action: 'cancel' }, plain)],
  ];

  it.each(modern)('are answered like none, at the same cost, by %s [C-058]', async (_, use) => {
    const { bob, foreign, asked } = await neighbours();
    const none = await use(bob, MADE_UP);
    const cost = await asked((taskId) => use(bob, taskId), MADE_UP);
    for (const taskId of foreign) {
      expect(answer(taskId, await use(bob, taskId))).toBe(answer(MADE_UP, none));
      expect(await asked((id) => use(bob, id), taskId)).toEqual(cost);
    }
    expect(cost.length).toBeGreaterThan(0);
  });

  it.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
    'are answered like none, at the same cost, by %s of 2025-11-25 [C-058]',
    async (method) => {
      const { as, foreign, asked, bob } = await neighbours();
      const peer = await LegacyPeer.connect(as('bob'));
      const none = await peer.send(method, { taskId: MADE_UP });
      const cost = await asked((taskId) => peer.send(method, { taskId }), MADE_UP);
      for (const taskId of foreign) {
        const { status, error } = await peer.send(method, { taskId });
        expect({ status, error }).toEqual({ status: none.status, error: none.error });
        expect(await asked((id) => peer.send(method, { taskId: id }), taskId)).toEqual(cost);
      }
      await bob.send('tools/list', {});
    },
  );

  it('take no longer to be denied than one that never was, however much is in them [C-058]', async () => {
    const { tasks, foreign, bob } = await neighbours();
    const stranger = { subject: 'https://id|bob' };
    const taken: Record<string, number[]> = { [MADE_UP]: [], [foreign[0] as string]: [] };
    for (let n = 0; n < 600; n += 1) {
      for (const [taskId, times] of Object.entries(taken)) {
        const started = performance.now();
        await tasks.engine.get(taskId, stranger).catch(() => {});
        times.push(performance.now() - started);
      }
    }
    const [none, theirs] = Object.values(taken).map((times) => times.toSorted((a, b) => a - b)[300] as number);
    // Reading four megabytes takes some hundred times as long.
    expect((theirs as number) / (none as number)).toBeLessThan(2);
    await bob.send('tools/list', {});
  });
});

describe('two servers in one process', () => {
  it('run tools of one name each with its own context, within the call and as a task [C-063]', async () => {
    const one = (name: string) =>
      serve((tasks) => {
        const tool = () => text(`${name} ${tasks.tools.length}`);
        tasks.registerTool('whoami', {}, tool);
        tasks.registerTool('whoami_now', { task: { support: 'forbidden' } }, tool);
      });
    for (const { name, served } of ['parent', 'child'].map((name) => ({ name, served: one(name) }))) {
      const { peer, reaches } = served;
      const expected = { content: [{ type: 'text', text: `${name} 2` }] };
      expect((await peer.call('whoami_now')).result).toMatchObject(expected);
      const { taskId } = await peer.start('whoami');
      expect((await reaches(taskId, 'completed'))['result']).toMatchObject(expected);
    }
  });

  it('may be mounted on servers of their own, whose tools they leave alone [C-063]', async () => {
    const { tasks, validator, peer: own } = serve((tasks) => tasks.registerTool('whoami', {}, () => text('task')));
    const handler = (name: string) =>
      createTaskHandler(tasks, () => {
        const mcp = new McpServer({ name, version: '1.0.0' });
        mcp.registerTool('server', {}, () => ({ content: [{ type: 'text', text: name }] }));
        return mcp;
      });
    const said: Json[] = [];
    for (const name of ['parent', 'child']) {
      const peer = new Peer((request) => handler(name).fetch(request), validator);
      said.push((await peer.call('server')).result);
      expect((await peer.start('whoami')).taskId).toMatch(/^tsk_/);
    }
    expect(said.map(({ content }) => (content as { text: string }[])[0]?.text)).toEqual(['parent', 'child']);
    await own.send('tools/list', {});
  });
});
