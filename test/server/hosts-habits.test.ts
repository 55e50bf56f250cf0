// What hosts do with slow tools, as they were seen to: the numbers are those of the list it was written down in.
import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { registerFixtureTools, said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };
const token = { ...plain, meta: { progressToken: 7 } };

describe('1. no host declares tasks', () => {
  it('so what a slow tool answers in time is its result, and its task is there all the same', async () => {
    const { peer, clock, tasks } = serve(registerFixtureTools);
    const { answer } = await answered(clock, peer.call('slow_compute', { seconds: 15, label: 'a' }, plain));
    expect(said(answer.result)).toBe('computed a in 15s');
    const { tasks: made } = await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 10 });
    expect(made).toMatchObject([{ name: 'slow_compute', state: { status: 'completed' } }]);
  });
});

describe('2. never return a task that was not asked for', () => {
  it.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
    'on %s: no call of a client without tasks has one',
    async (version) => {
      const { peer, clock } = serve(registerFixtureTools);
      const legacy = version === '2026-07-28' ? undefined : await LegacyPeer.connect({ peer }, { version });
      for (const [tool, args] of [
        ['slow_compute', { seconds: 60 }],
        ['confirm_delete', { filename: 'x' }],
        ['failing_optional', {}],
        ['failing_job', {}],
        ['greet', { name: 'Ada' }],
      ] as const) {
        const call = legacy?.call(tool, args) ?? peer.call(tool, args, plain);
        const { message } = (await answered<{ message: Json }>(clock, call)).answer;
        expect(JSON.stringify(message)).not.toMatch(/"resultType":"task"|"result":\{"task"|related-task/);
      }
    },
  );
});

describe('3. a required tool hides itself', () => {
  it('so tools are optional unless somebody says otherwise, and stay listed then [C-015]', async () => {
    const { peer } = serve(registerFixtureTools);
    const legacy = await LegacyPeer.connect({ peer });
    const support = ((await legacy.send('tools/list')).result['tools'] as Json[]).map(({ name, execution }) => [
      name,
      execution,
    ]);
    expect(Object.fromEntries(support as [string, Json][])).toMatchObject({
      greet: { taskSupport: 'forbidden' },
      slow_compute: { taskSupport: 'optional' },
      failing_job: { taskSupport: 'required' },
      task_wait: undefined,
    });
    // Where there are no tasks nothing can be required.
    const older = await LegacyPeer.connect({ peer }, { version: '2025-06-18' });
    expect(JSON.stringify((await older.send('tools/list')).result)).not.toContain('taskSupport');
    expect(said((await older.call('failing_job')).result)).toBe('job failed');
  });
});

describe('6. send progress when there is a token', () => {
  const numbers = (notifications: Json[]) =>
    notifications.map(({ params }) => (params as { progress: number }).progress);

  it('rising, and every fifteen seconds by the clock even without news', async () => {
    const { peer, clock } = serve(registerFixtureTools, { server: { fallback: { mode: 'block' } } });
    const { answer } = await answered(clock, peer.call('slow_progress', { seconds: 120, every: 60 }, token));
    expect(said(answer.result)).toBe('progressed 120s');
    const seen = numbers(answer.notifications);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.map((progress) => Math.floor(progress))).toEqual([0, 0, 0, 0, 60, 60, 60, 60, 120]);
    expect(answer.notifications[4]).toMatchObject({
      params: { progressToken: 7, progress: 60, total: 120, message: 'step 60' },
    });
    expect(answer.notifications[5]).toMatchObject({ params: { total: 120, message: 'step 60' } });
  });

  it.each([Number.MAX_SAFE_INTEGER, 1e300, -5])('rising from %d too, and past no total', async (from) => {
    const { peer, clock } = serve(
      (tasks) =>
        tasks.registerTool('tool', {}, async (_args, task) => {
          task.progress(from, from);
          await task.sleep(70_000);
          return text('done');
        }),
      { server: { fallback: { mode: 'block' } } },
    );
    const { answer } = await answered(clock, peer.call('tool', {}, token));
    const seen = numbers(answer.notifications);
    expect(seen.length).toBeGreaterThan(3);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(answer.notifications.at(-1)).not.toHaveProperty('params.total');
  });

  it('also while task_wait waits, and of a call that joined', async () => {
    const { peer, clock } = serve(registerFixtureTools);
    const first = await answered(clock, peer.call('slow_progress', { seconds: 60, every: 6 }, token));
    const { taskId } = first.answer.result['structuredContent'] as { taskId: string };
    const joined = await answered(clock, peer.call('slow_progress', { seconds: 60, every: 6 }, token));
    expect(joined.answer.result).toMatchObject({ structuredContent: { taskId } });
    const waited = await answered(clock, peer.call('task_wait', { taskId }, token));
    for (const { answer } of [first, joined, waited]) expect(numbers(answer.notifications).length).toBeGreaterThan(1);
    expect(numbers(joined.answer.notifications)[0]).toBeGreaterThanOrEqual(18);
  });

  it('and none where there is no token', async () => {
    const { peer, clock } = serve(registerFixtureTools);
    const { answer } = await answered(clock, peer.call('slow_progress', { seconds: 60, every: 3 }, plain));
    expect(answer.notifications).toEqual([]);
  });
});

describe('8. hosts cancel what is over', () => {
  it('which touches nothing: neither an answered call, nor the task it went on as, nor a task that was asked for', async () => {
    const { peer, clock } = serve(registerFixtureTools);
    const legacy = await LegacyPeer.connect({ peer }, { client: 'opencode' });
    const cancel = async (requestId: unknown) => {
      const sent = await legacy.notify('notifications/cancelled', {
        requestId,
        reason: 'AbortError: The operation was aborted.',
      });
      expect(sent.status).toBe(202);
    };
    const quick = await legacy.call('greet', { name: 'Ada' });
    await cancel(quick.message['id']);
    const { answer } = await answered(clock, legacy.call('slow_compute', { seconds: 60, label: 'a' }));
    await cancel(answer.message['id']);
    const asked = await legacy.call('slow_compute', { seconds: 60, label: 'b' }, { task: {} });
    await cancel(asked.message['id']);
    await cancel('never sent');
    const { taskId } = answer.result['structuredContent'] as { taskId: string };
    const waiting = legacy.call('task_wait', { taskId, maxWaitSec: 60 });
    expect(said((await answered(clock, waiting)).answer.result)).toBe('computed a in 60s');
    const { task } = asked.result as { task: { taskId: string } };
    await pass(clock, 60_000);
    expect((await legacy.send('tasks/get', { taskId: task.taskId })).result).toMatchObject({ status: 'completed' });
  });

  it('and give up waiting without cancelling: the work goes on, and the same call finds it [C-090]', async () => {
    const { peer, clock, tasks } = serve(registerFixtureTools, { server: { fallback: { mode: 'block' } } });
    const legacy = await LegacyPeer.connect({ peer });
    const args = { seconds: 30, label: 'a' };
    const call = { name: 'slow_compute', arguments: args };
    const given = await legacy.stream('tools/call', call, { id: 'gives-up' });
    await pass(clock, 10_000);
    const reason = 'McpError: MCP error -32001: Request timed out';
    await legacy.notify('notifications/cancelled', { requestId: 'gives-up', reason });
    await settle();
    const {
      tasks: [left],
    } = await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 2 });
    expect(left).toMatchObject({ state: { status: 'working' } });
    expect(said((await legacy.call('task_list')).result)).toContain(left!.taskId);
    expect(said((await answered(clock, legacy.call('slow_compute', args))).answer.result)).toBe('computed a in 30s');
    expect((await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 2 })).tasks).toHaveLength(1);
    await given.body?.cancel();
  });
});

describe('10. a form may meet nobody', () => {
  it.each<[string, Json, string]>([
    ['declined', { result: { action: 'decline' } }, '{"action":"decline"}'],
    ['cancelled', { result: { action: 'cancel' } }, '{"action":"cancel"}'],
    ['not known', { error: { code: -32601, message: 'Method not found' } }, '{"action":"cancel"}'],
    ['an error', { error: { code: -32603, message: 'no window' } }, '{"action":"cancel"}'],
    [
      'filled in',
      { result: { action: 'accept', content: { confirm: true } } },
      '{"action":"accept","content":{"confirm":true}}',
    ],
  ])('and is %s: the tool learns of it at once', async (_, reply, told) => {
    const { peer } = serve(registerFixtureTools);
    const legacy = await LegacyPeer.connect({ peer }, { capabilities: { elicitation: { form: {}, url: {} } } });
    legacy.onQuestion = () => reply;
    expect(said((await legacy.call('confirm_delete', { filename: 'x' })).result)).toBe(`confirm=${told}`);
  });
});
