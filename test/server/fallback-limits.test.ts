import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { pass, settle } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const plain = { capabilities: {} };

function limited(aborted: string[]) {
  return (tasks: Tasks): void => {
    for (const support of ['optional', 'forbidden'] as const) {
      tasks.registerTool(support, { task: { support, timeoutMs: 2_000 } }, async (_args, task) => {
        task.signal.addEventListener('abort', () => aborted.push((task.signal.reason as Error).name), { once: true });
        await new Promise(() => {});
        return text('never');
      });
    }
  };
}

describe('the limit of a tool', () => {
  it.each<[string, (served: ReturnType<typeof serve>) => Promise<string>]>([
    [
      'a call in the foreground',
      async ({ peer, clock }) => said((await answered(clock, peer.call('forbidden'))).answer.result),
    ],
    [
      'a call of a client without tasks',
      async ({ peer, clock }) => said((await answered(clock, peer.call('optional', {}, plain))).answer.result),
    ],
    [
      'a call of a session without tasks',
      async ({ peer, clock }) => {
        const legacy = await LegacyPeer.connect({ peer }, { version: '2025-06-18' });
        return said((await answered(clock, legacy.call('optional'))).answer.result);
      },
    ],
    [
      'a call that is followed up later',
      async ({ peer, clock }) => {
        const { taskId } = (await peer.start('optional')) as { taskId: string };
        return said((await answered(clock, peer.call('task_wait', { taskId }, plain))).answer.result).replace(
          'optional failed: ',
          '',
        );
      },
    ],
    [
      'a task',
      async ({ peer, clock, reaches }) => {
        const { taskId } = await peer.start('optional');
        await settle();
        await pass(clock, 2_000);
        return ((await reaches(taskId, 'failed')) as { error: { message: string } }).error.message;
      },
    ],
  ])('holds for %s, in the same words, and stops the work [C-094]', async (_, call) => {
    const aborted: string[] = [];
    const served = serve(limited(aborted));
    const before = served.clock.now();
    expect(await call(served)).toBe("timed out: the tool's limit (timeoutMs) of 2000 ms of active time is used up");
    expect(aborted).toEqual(['TaskTimedOutError']);
    expect(served.clock.now() - before).toBeLessThan(4_000);
  });
});

describe('one client', () => {
  it('that waits for one thing is kept from no other [C-068]', async () => {
    const { peer, clock } = serve(
      (tasks) => {
        tasks.registerTool('quick', {}, () => text('quick'));
        tasks.registerTool('slow', {}, async (_args, task) => {
          await task.sleep(60_000);
          return text('slow');
        });
        tasks.registerTool('asks', {}, async (_args, task) => {
          const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
          return text((await task.ask('go', { message: 'Go on?', schema })).action);
        });
      },
      { server: { fallback: { mode: 'block' } } },
    );
    const capabilities = { elicitation: {}, tasks: {} };
    const legacy = await LegacyPeer.connect({ peer }, { capabilities });
    const started = [];
    for (let n = 0; n < 4; n += 1) started.push(await legacy.start('slow'));
    const parked = await legacy.start('asks');
    const waiting = started.map(({ taskId }) => legacy.send('tasks/result', { taskId }));
    const asking = legacy.send('tasks/result', { taskId: parked.taskId });
    const before = clock.now();
    for (let n = 0; n < 20; n += 1) expect(said((await legacy.call('quick')).result)).toBe('quick');
    expect(clock.now()).toBe(before);
    await legacy.send('tasks/cancel', { taskId: parked.taskId });
    expect((await asking).error).toBeDefined();
    const { answer } = await answered(clock, Promise.all(waiting));
    expect(answer.map(({ result }) => said(result))).toEqual(Array(4).fill('slow'));
  });
});
