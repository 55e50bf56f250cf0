import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, TaskNotFoundError } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { recordingLogger, settle, someTasks, start } from '../support/engine.ts';

describe('operators are told', () => {
  it('what becomes of tasks and by whom, and not what is in them [G2-S-67]', async () => {
    const { logger, lines } = recordingLogger();
    const { tasks } = someTasks({ logger });
    tasks.registerTool('quick', {}, () => text('secret result'));
    tasks.registerTool('slow', {}, () => new Promise<never>(() => {}));
    const done = await start(tasks, 'quick', { password: 'secret argument' });
    await tasks.engine.wait(done.taskId, LOCAL_PRINCIPAL);
    await tasks.engine.get(done.taskId, LOCAL_PRINCIPAL);
    const slow = await start(tasks, 'slow');
    await tasks.engine.cancel(slow.taskId, LOCAL_PRINCIPAL);
    await tasks.engine.delete(done.taskId, LOCAL_PRINCIPAL);
    const told = lines.filter(({ fields }) => 'owner' in fields);
    const owner = { owner: LOCAL_PRINCIPAL.subject, task: expect.stringMatching(/…$/) };
    for (const [level, message, more] of [
      ['info', 'a task was created', { tool: 'quick' }],
      ['info', 'a task is over', { tool: 'quick', outcome: 'completed' }],
      ['debug', 'a task that is over was read', { tool: 'quick' }],
      ['info', 'a task was cancelled by its owner', {}],
      ['info', 'a task was deleted by its owner', {}],
    ] as const) {
      expect(told).toContainEqual({ level, message, fields: { ...owner, ...more } });
    }
    expect(JSON.stringify(lines)).not.toMatch(/secret|tsk_[\w-]{20}/);
    await tasks.close();
  });

  it('once, when a caller asks for many tasks that are not there, and not of a few [G2-S-67]', async () => {
    const { logger, lines } = recordingLogger();
    const { tasks, clock } = someTasks({ logger });
    const probe = async (times: number, subject: string) => {
      for (let n = 0; n < times; n += 1) {
        await expect(tasks.engine.get(`made-up ${n}`, { subject })).rejects.toThrow(TaskNotFoundError);
      }
    };
    const warnings = () => lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
    await probe(19, 'forgetful');
    clock.advance(60_000);
    await probe(19, 'forgetful');
    await settle();
    expect(warnings()).toEqual([]);
    await probe(100, 'guesser');
    expect(warnings()).toEqual([{ owner: 'guesser', count: 20 }]);
    clock.advance(60_000);
    await probe(20, 'guesser');
    expect(warnings()).toHaveLength(2);
    await tasks.close();
  });
});
