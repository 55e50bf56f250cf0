import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/task-server.ts';
import { registerFixtureTools, said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import type { Json } from '../support/messages.ts';
import { OUTPUT, writes } from '../support/writes.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };

/** Half a minute, in naps that do not put the handler away. */
async function aWhile(task: TaskContext): Promise<void> {
  for (let nap = 0; nap < 3; nap += 1) await task.sleep(10_000);
}

function register(tasks: Tasks): void {
  registerFixtureTools(tasks);
  tasks.registerTool('talks', {}, async (_args, task) => {
    for (let line = 1; line <= 3; line += 1) {
      task.log(`line ${line}`);
      await task.sleep(10_000);
    }
    return text('talked');
  });
  tasks.registerTool('writes', {}, async (_args, task) => {
    writes(task, ...OUTPUT);
    await aWhile(task);
    for (let n = 1; n <= 1_500; n += 1) writes(task, { text: `${n} ${'.'.repeat(80)}`, stream: 'stdout' });
    writes(task, { text: 'late', stream: 'stderr' });
    await aWhile(task);
    return text('written');
  });
  tasks.registerTool('typed', { outputSchema: z.object({ n: z.number() }) }, async (_args, task) => {
    await task.sleep(30_000);
    return { structuredContent: { n: 1 }, content: [], _meta: { 'example.com/kept': true } };
  });
  tasks.registerTool('fails_late', {}, async (_args, task) => {
    await task.sleep(30_000);
    return { ...text('2 of 7 failed'), structuredContent: { failed: [2, 5] }, isError: true };
  });
  tasks.registerTool('logs_and_fails', {}, async (_args, task) => {
    task.log('no space left');
    await aWhile(task);
    throw new Error('exit code 1');
  });
  tasks.registerTool('throws_late', {}, async (_args, task) => {
    await task.sleep(30_000);
    throw Object.assign(new Error('no such branch'), { code: -32050 });
  });
}

/** A call of a client without tasks that has gone on in the background, and a way to follow it up. */
async function detached(tool: string, args: Json = {}, server: TaskServerOptions = {}) {
  const served = serve(register, { server });
  const { answer } = await answered(served.clock, served.peer.call(tool, args, plain));
  const { taskId } = answer.result['structuredContent'] as { taskId: string };
  const use = async (name: string, more: Json = {}) => {
    const reply = await answered(served.clock, served.peer.call(name, { taskId, ...more }, plain));
    return { result: reply.answer.result, text: said(reply.answer.result), tookMs: reply.tookMs };
  };
  return { ...served, taskId, use };
}

describe('task_wait', () => {
  it('waits for the result, and answers as the tool would have', async () => {
    const { use } = await detached('typed');
    const { result, tookMs } = await use('task_wait');
    expect(result).toMatchObject({ content: [], structuredContent: { n: 1 }, _meta: { 'example.com/kept': true } });
    expect(result).not.toHaveProperty('isError');
    expect(tookMs).toBeLessThan(12_000);
    expect((await use('task_result')).result).toEqual(result);
  });

  it('answers a failure with all that the tool said of it [C-001] [C-005]', async () => {
    const { use } = await detached('fails_late');
    expect((await use('task_wait')).result).toMatchObject({
      isError: true,
      content: [{ text: '2 of 7 failed' }],
      structuredContent: { failed: [2, 5] },
    });
  });

  it('answers an error of the protocol with a failure that a model can read', async () => {
    const { use } = await detached('throws_late');
    const { result } = await use('task_wait');
    expect(result).toMatchObject({ isError: true, content: [{ text: 'throws_late failed: no such branch' }] });
  });

  it('says with a failure how to read what was logged', async () => {
    const { use, taskId } = await detached('logs_and_fails');
    const failed = `logs_and_fails failed: exit code 1\nIts log: call task_logs with ${JSON.stringify({ taskId })}.`;
    expect((await use('task_wait')).text).toBe(failed);
    expect((await use('task_result')).text).toBe(failed);
  });

  it.each<[string, Json, number, string]>([
    ['twenty seconds by default [C-090]', {}, 20, 'nobody knows me'],
    ['as long as it is told to', { maxWaitSec: 90 }, 90, 'nobody knows me'],
    ['not at all, if told so', { maxWaitSec: 0 }, 0, 'nobody knows me'],
    ['not at all, if told to wait less than that', { maxWaitSec: -5 }, 0, 'nobody knows me'],
    ['ten minutes at most [C-110]', { maxWaitSec: 1e9 }, 600, 'nobody knows me'],
    ['no longer than its host does, where that is known [C-090]', { maxWaitSec: 600 }, 40, 'mcp-use'],
    ['no longer than the server was told for this client', { maxWaitSec: 600 }, 30, 'impatient'],
  ])('waits %s', async (_, args, seconds, name) => {
    const { peer, clock, taskId } = await detached(
      'slow_compute',
      { seconds: 3_000 },
      { clients: { impatient: { maxBlockMs: 30_000 } } },
    );
    const meta = { 'io.modelcontextprotocol/clientInfo': { name, version: '1.0.0' } };
    const { answer, tookMs } = await answered(clock, peer.call('task_wait', { taskId, ...args }, { ...plain, meta }));
    expect(tookMs).toBe(seconds * 1_000);
    expect(answer.result).toMatchObject({
      content: [{ text: expect.stringMatching(/^slow_compute is still running.* Next: call task_wait with /) }],
      structuredContent: { taskId, status: 'working', pollAfterMs: expect.any(Number) },
    });
  });

  it('needs one call for a task of ten minutes, where the host permits [C-110]', async () => {
    const { use } = await detached('slow_compute', { seconds: 600, label: 'a' });
    expect((await use('task_wait', { maxWaitSec: 600 })).text).toBe('computed a in 600s');
  });

  it('ends with the client that waits, and not with the task', async () => {
    const { peer, clock, taskId, use } = await detached('slow_compute', { seconds: 100, label: 'a' });
    const request = new AbortController();
    const waiting = peer.call('task_wait', { taskId, maxWaitSec: 300 }, { ...plain, signal: request.signal });
    request.abort();
    expect((await waiting).message).toEqual({});
    const timers = clock.pendingTimers;
    expect((await peer.call('task_wait', { taskId: 'tsk_made_up' }, plain)).result).toMatchObject({ isError: true });
    expect(clock.pendingTimers).toBe(timers);
    expect((await use('task_wait', { maxWaitSec: 300 })).text).toBe('computed a in 100s');
  });
});

describe('task_result and task_status', () => {
  it('say how far a task is and what to call next, and then how it ended, as often as they are asked [C-101]', async () => {
    const { use, taskId } = await detached('slow_progress', { seconds: 60, every: 10 });
    const waits = `Next: call task_wait with {"taskId":"${taskId}"} to wait for the result.`;
    for (const name of ['task_result', 'task_status']) {
      const { text: told, tookMs } = await use(name);
      expect(told).toBe(`slow_progress is still running (10/60 step 10). ${waits}`);
      expect(tookMs).toBe(0);
    }
    await use('task_wait', { maxWaitSec: 60 });
    expect((await use('task_status')).text).toBe(
      `slow_progress is done. Next: call task_result with {"taskId":"${taskId}"}.`,
    );
    for (let time = 0; time < 3; time += 1) expect((await use('task_result')).text).toBe('progressed 60s');
  });
});

describe('task_logs', () => {
  it('reads the end of the log, and from there on what is new', async () => {
    const { use, taskId } = await detached('talks');
    const { text: first } = await use('task_logs');
    expect(first).toMatch(/^2026-01-01T\S+ info line 1\n2026-\S+ info line 2\n/);
    const cursor = Number(/"cursor":(\d+)/.exec(first)?.[1]);
    expect(first).toContain(`(next: task_logs with {"taskId":"${taskId}","cursor":${cursor}} for what comes later)`);
    expect((await use('task_logs', { cursor })).text).toMatch(/^\(nothing new\)\n/);
    await use('task_wait');
    expect((await use('task_logs', { cursor })).text).toMatch(/^line 3\n\(next/);
    expect((await use('task_logs', { cursor: 0 })).text).toMatch(/^line 1\nline 2\nline 3\n/);
  });

  it('shows what a command wrote as text, with the stream it wrote to', async () => {
    const { use } = await detached('writes');
    const { text: all } = await use('task_logs');
    const lines = all.split('\n').map((line) => line.replace(/^2026-\S+ /, ''));
    expect(lines.slice(0, -1)).toEqual([
      'stdout  ok one.test',
      'stderr FAIL two.test',
      'stdout 30%',
      'warning half way',
    ]);
    expect((await use('task_logs', { cursor: 0 })).text).toMatch(/^ ok one.test\nFAIL two.test\n30%\nhalf way\n\(next/);
  });

  it('has one stream, or the last lines, or both, on wish', async () => {
    const { use, taskId } = await detached('writes');
    const { text: early } = await use('task_logs', { stream: 'stderr' });
    expect(early).toMatch(/^2026-\S+ stderr FAIL two.test\n\(next: /);
    const cursor = Number(/"cursor":(\d+)/.exec(early)?.[1]);
    expect(early).toContain(JSON.stringify({ taskId, cursor, stream: 'stderr' }));
    expect((await use('task_logs', { tail: 1 })).text).toMatch(
      /^… of \d+ bytes logged, .*\n2026-\S+ warning half way\n\(next/,
    );
    await use('task_wait');
    expect((await use('task_logs', { cursor, stream: 'stderr' })).text).toMatch(/^late\n\(next/);
    expect((await use('task_logs', { cursor, tail: 2 })).text).toMatch(
      /^… 1499 lines before these are left out\n1500 \.+\nlate\n\(next/,
    );
    expect((await use('task_logs', { tail: 1, stream: 'stdout' })).text).toMatch(
      /^… of \d+ bytes logged, .*\n2026-\S+ stdout 1500 \.+\n\(next/,
    );
    // All of a stream that fits is there, however far back.
    const { text: both } = await use('task_logs', { stream: 'stderr' });
    expect(both).toMatch(/^2026-\S+ stderr FAIL two.test\n2026-\S+ stderr late\n\(next/);
    const { text: many } = await use('task_logs', { tail: 10_000 });
    expect(Buffer.byteLength(many)).toBeLessThan(66 * 1024);
    expect(many).toMatch(/^… of \d+ bytes logged, only the last are shown here\n/);
  });

  it('says when there is nothing, and refuses a cursor that is none', async () => {
    const { use } = await detached('slow_compute', { seconds: 100 });
    expect((await use('task_logs')).text).toMatch(/^\(nothing logged yet\)\n/);
    for (const cursor of [-1, 1.5, 'x']) {
      expect((await use('task_logs', { cursor })).result).toMatchObject({ isError: true });
    }
    for (const odd of [{ tail: 0 }, { tail: 10_001 }, { tail: 'x' }, { stream: 'stdin' }]) {
      expect((await use('task_logs', odd)).result, JSON.stringify(odd)).toMatchObject({ isError: true });
    }
  });
});

describe('task_cancel and task_delete', () => {
  it('stop a task for good; what is over stays as it is', async () => {
    const { use, taskId } = await detached('slow_compute', { seconds: 100 });
    expect((await use('task_cancel')).text).toBe('Cancelled. Whatever it had done so far stays done.');
    expect((await use('task_cancel')).text).toBe(
      `It was over already. Next: call task_result with {"taskId":"${taskId}"}.`,
    );
    const { result } = await use('task_result');
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'slow_compute was cancelled (cancelled by the client).' }],
    });
  });

  it('leave nothing of a task that is deleted, running or not', async () => {
    const { use, taskId } = await detached('slow_compute', { seconds: 100 });
    expect((await use('task_delete')).text).toBe('Deleted, with its result and its log.');
    expect((await use('task_delete')).text).toContain(`No task of yours has the id "${taskId}"`);
    expect((await use('task_list')).text).toBe('You have no tasks.');
  });
});

describe('task_list', () => {
  it('goes through all tasks of its caller, newest first, and no further', async () => {
    const { peer, clock } = serve(register);
    for (let n = 0; n < 25; n += 1) {
      clock.advance(10);
      await peer.start('slow_compute', { seconds: 100 + n });
    }
    const list = async (args: Json) => said((await peer.call('task_list', args, plain)).result).split('\n');
    const first = await list({});
    expect(first).toHaveLength(21);
    expect(first[0]).toMatch(/^tsk_\S+ slow_compute: working$/);
    const cursor = /"cursor":"([^"]+)"/.exec(first.at(-1)!)?.[1];
    const second = await list({ cursor });
    expect(second).toHaveLength(5);
    expect(new Set([...first.slice(0, 20), ...second]).size).toBe(25);
    expect(await list({ cursor: 'made up' })).toEqual(['cursor: not one that task_list gave; begin without one']);
  });
});
