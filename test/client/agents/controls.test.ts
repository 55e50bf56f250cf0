import { describe, expect, it } from 'vitest';
import type { Question } from '../../../src/core/index.ts';
import { answered } from '../../hosts/waiting.ts';
import { pass } from '../support.ts';
import { agentStage, execute, finish, hidesIds, intoBackground } from './support.ts';

const question: Question = { kind: 'form', message: 'Really?', schema: { type: 'object', properties: {} } };

describe('what a model sees of its background', () => {
  it('is a line for each call, by label, with what its server says as such', async () => {
    const staged = await agentStage();
    const { agent, remote, clock } = staged;
    expect((await execute(agent, 'background_list')).text).toBe('Nothing goes on in the background.');
    await intoBackground(staged, 'build');
    await intoBackground(staged, 'look');
    remote.change('task-1', { progress: { progress: 3, total: 10, message: 'say "done"\nnow' } });
    remote.change('task-2', { status: 'input_required', questions: new Map([['sure', question]]) });
    await pass(clock, 30_000, 1_000);
    const { text } = await execute(agent, 'background_list');
    expect(text.split('\n')).toEqual([
      '"build #1": running, 3 of 10 done; its server says: "say \\"done\\"\\nnow"',
      '"look #1": running, waits for an answer from a person',
    ]);
    hidesIds(remote, [text]);
    remote.change('task-1', { progress: { progress: 4, total: 10 } });
    await finish(staged, 'task-2', 'seen');
    expect((await execute(agent, 'background_list')).text.split('\n')).toEqual([
      '"build #1": running, 4 of 10 done',
      'Ended, and handed to you when your turn ends: "look #1"',
    ]);
  });

  it('keeps a model that asks and asks waiting: few turns, and short ones where nothing changed [C-108] [C-109]', async () => {
    const staged = await agentStage();
    const { agent, remote, clock } = staged;
    await intoBackground(staged, 'build');
    const texts: string[] = [];
    const asking = (async () => {
      while (texts.at(-1)?.startsWith('Ended') !== true) texts.push((await execute(agent, 'background_list')).text);
    })();
    for (let second = 0; second < 300; second += 10) {
      if (second === 100) remote.change('task-1', { progress: { progress: 1 } });
      await pass(clock, 10_000, 1_000);
    }
    expect(texts.length).toBeLessThanOrEqual(15);
    expect(texts.filter((text) => text.includes('1 done'))).toHaveLength(1);
    const unchanged = texts.filter((text) => text.startsWith('Nothing has changed.'));
    expect(unchanged.length).toBeGreaterThanOrEqual(10);
    expect(unchanged.every((text) => text.length < 200)).toBe(true);
    remote.finish('task-1');
    await answered(clock, asking); // The older a task, the seldomer it is asked about.
    expect(texts.at(-1)).toBe('Ended, and handed to you when your turn ends: "build #1"');
  });

  it('answers as soon as something changed', async () => {
    const staged = await agentStage();
    const { agent, clock } = staged;
    await intoBackground(staged, 'build');
    await execute(agent, 'background_list');
    let answered = false;
    const asked = execute(agent, 'background_list').then((reply) => {
      answered = true;
      return reply;
    });
    await pass(clock, 2_000);
    expect(answered).toBe(false);
    staged.remote.finish('task-1');
    await pass(clock, 5_000);
    expect(answered).toBe(true);
    expect((await asked).text).toContain('"build #1"');
  });
});

describe('cancelling by label', () => {
  it('cancels that call, and its end is told like any other', async () => {
    const staged = await agentStage();
    const { agent, remote, clock } = staged;
    await intoBackground(staged, 'build');
    await intoBackground(staged, 'look');
    remote.onCancel = (taskId) => {
      remote.change(taskId, { status: 'cancelled', outcome: { status: 'cancelled' } });
    };
    expect((await execute(agent, 'background_cancel', { label: 'look #1' })).isError).toBe(false);
    await pass(clock, 5_000);
    expect(remote.asked.filter(({ method }) => method === 'cancel')).toMatchObject([{ taskId: 'task-2' }]);
    const [notice] = await agent.ready();
    expect(notice?.text).toMatch(/"look #1" \(server "ci"\) was cancelled\. .*\nIt was cancelled\.\n/s);
    const { text, isError } = await execute(agent, 'background_cancel', { label: 'look #1' });
    expect([isError, text]).toEqual([true, expect.stringContaining('There is: "build #1".')]);
  });

  it('cancels nothing by a guess, a part of a label, an id or a name, and says what there is [C-113]', async () => {
    const staged = await agentStage();
    const { agent, remote } = staged;
    await intoBackground(staged, 'build');
    const [call] = await agent.background();
    for (const label of ['build #2', 'build #', 'build', 'Build #1', 'task-1', call?.call.id, '', undefined, 7]) {
      const { text, isError } = await execute(agent, 'background_cancel', { label });
      expect(isError).toBe(true);
      expect(text).toContain(`no call of the label ${JSON.stringify(label ?? null)} goes on. There is: "build #1".`);
    }
    expect((await execute(agent, 'background_cancel', null)).isError).toBe(true);
    expect(remote.count('cancel')).toBe(0);
  });
});
