import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ANONYMOUS_PRINCIPAL, type Principal } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/task-server.ts';
import { said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { pass } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };
const MINUTE = 60_000;

function register(tasks: Tasks): void {
  const inputSchema = z.object({ minutes: z.number() });
  tasks.registerTool('deploy', { inputSchema }, async ({ minutes }, task) => {
    await task.sleep(minutes * MINUTE);
    return text('deployed');
  });
  tasks.registerTool('changes', {}, async (_args, task) => {
    for (let change = 1; change <= 13; change += 1) {
      await task.sleep(18_000);
      task.progress(change, 13, `file ${change}`);
    }
    return text('changed');
  });
  tasks.registerTool('wedged', { task: { timeoutMs: 30 * MINUTE } }, () => new Promise(() => {}));
}

function agent(server: TaskServerOptions = {}) {
  const served = serve(register, { server });
  const use = async (name: string, args: Json = {}) => {
    const { answer, tookMs } = await answered(served.clock, served.peer.call(name, args, plain));
    return { result: answer.result, text: said(answer.result), tookMs };
  };
  const start = async (tool: string, args: Json = {}): Promise<string> => {
    const { result } = await use(tool, args);
    return (result['structuredContent'] as { taskId: string }).taskId;
  };
  return { ...served, use, start };
}

/** Asks again as soon as it was answered, as models do. */
async function asksUntilDone(use: ReturnType<typeof agent>['use'], taskId: string) {
  const replies: string[] = [];
  for (;;) {
    const { text: reply } = await use('task_status', { taskId });
    replies.push(reply);
    if (/ is done\./.test(reply)) return replies;
    if (replies.length > 200) throw new Error('it never ends');
  }
}

describe('an agent that cannot sleep', () => {
  it('is made to wait by the status itself, which answers as soon as there is news [C-108]', async () => {
    const { use, start } = agent();
    const taskId = await start('deploy', { minutes: 5 });
    const replies = await asksUntilDone(use, taskId);
    expect(replies.length).toBeLessThanOrEqual(16);
    expect(replies[0]).toMatch(/^deploy is still running/);
    expect(replies[1]).toMatch(/^Nothing new: deploy is still running.* Next: call task_wait with /);
    for (const reply of replies) expect(reply.length).toBeLessThan(200);
  });

  it('spends a turn per change and not one per look [C-109]', async () => {
    const { use, start } = agent();
    const taskId = await start('changes');
    const replies = await asksUntilDone(use, taskId);
    const unchanged = replies.filter((reply) => reply.startsWith('Nothing new'));
    expect(replies.length - unchanged.length).toBeLessThanOrEqual(14);
    expect(unchanged.length).toBeLessThanOrEqual(2);
    expect(replies.at(-2)).toContain('(13/13 file 13)');
  });

  it('is not kept waiting for what another reader was told', async () => {
    const { use, start, peer } = agent();
    const taskId = await start('deploy', { minutes: 5 });
    await use('task_status', { taskId });
    const meta = { 'io.modelcontextprotocol/clientInfo': { name: 'another', version: '1.0.0' } };
    const { result } = await peer.call('task_status', { taskId }, { ...plain, meta });
    expect(said(result)).toMatch(/^deploy is still running/);
  });

  it('gets a job of ten minutes done in calls of less than 25 s, without progress [C-091]', async () => {
    const { use, start } = agent();
    const taskId = await start('deploy', { minutes: 10 });
    for (let calls = 1; ; calls += 1) {
      const { text: reply, tookMs } = await use('task_wait', { taskId });
      expect(tookMs).toBeLessThan(25_000);
      if (reply === 'deployed') break;
      expect(calls).toBeLessThan(31);
    }
  });
});

describe('a tool that is stuck', () => {
  it('keeps nobody waiting, is shown to be silent, and ends at its limit [C-069]', async () => {
    const { use, start, clock } = agent();
    const taskId = await start('wedged');
    expect((await use('task_wait', { taskId, maxWaitSec: 30 })).tookMs).toBe(30_000);
    await pass(clock, 10 * MINUTE);
    expect((await use('task_status', { taskId })).text).toMatch(/^wedged is still running, without news for 10 min\./);
    expect((await use('task_list')).text).toMatch(/wedged: working, without news for 10 min$/);
    await pass(clock, 20 * MINUTE);
    expect((await use('task_status', { taskId })).text).toMatch(/^wedged failed: timed out: /);
  });
});

describe('an id that is none of the caller', () => {
  const strange = ['tsk_AAAAAAAAAAAAAAAAAAAAAAAA', '', 'deploy', 'tsk_', '../tsk', 'x'.repeat(500)];
  const tools = ['task_wait', 'task_status', 'task_result', 'task_logs', 'task_cancel', 'task_delete'];

  it.each(tools)('%s names it, shows the tasks there are, and guesses nothing [C-113]', async (name) => {
    const { use, start } = agent();
    const taskId = await start('deploy', { minutes: 5 });
    const near = [
      taskId.slice(0, -1),
      `${taskId}x`,
      taskId.toUpperCase(),
      taskId.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')),
    ];
    for (const id of [...strange, ...near]) {
      const { result, text: reply } = await use(name, { taskId: id });
      expect(result['isError']).toBe(true);
      expect(reply.split('\n')).toEqual([
        `No task of yours has the id ${JSON.stringify(id.slice(0, 64))}. Ids are never made up: take one from an earlier answer.`,
        'Your latest tasks:',
        expect.stringContaining(`${taskId} deploy: working`),
      ]);
    }
    expect((await use('task_status', { taskId })).text).toMatch(/^deploy is still running/);
  });

  it('task_answer is no way to find out either [C-113]', async () => {
    const { use } = agent();
    const { text: reply } = await use('task_answer', { taskId: 'tsk_x', key: 'go', action: 'decline' });
    expect(reply).toContain('No task of yours has the id "tsk_x"');
  });

  it('gets one help, whether it is foreign, expired, deleted or made up [C-010] [C-024]', async () => {
    let principal: Principal = { subject: 'ada' };
    const { use, start, clock } = agent({ principal: () => principal });
    const ids = { foreign: await start('deploy', { minutes: 5 }), made: 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA' };
    principal = { subject: 'eve' };
    const [expired, deleted] = [await start('deploy', { minutes: 1 }), await start('deploy', { minutes: 2 })];
    await use('task_delete', { taskId: deleted });
    await pass(clock, 2 * MINUTE);
    clock.advance(8 * 24 * 60 * MINUTE);
    await pass(clock, 1_000);
    for (const name of tools) {
      const helps = [];
      for (const id of [...Object.values(ids), expired, deleted]) {
        const { result } = await use(name, { taskId: id });
        helps.push(JSON.stringify(result).replaceAll(id, '<id>'));
      }
      expect(new Set(helps).size).toBe(1);
      expect(helps[0]).toContain('You have no tasks.');
    }
    principal = ANONYMOUS_PRINCIPAL;
    const { text: reply } = await use('task_result', { taskId: ids.foreign });
    expect(reply).toBe(
      `No task of yours has the id "${ids.foreign}". Ids are never made up: take one from an earlier answer.`,
    );
    expect((await use('task_list')).result).toMatchObject({ isError: true });
  });
});
