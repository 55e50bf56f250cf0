import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { runTool } from '../../src/testing/index.ts';

const yes = z.object({ ok: z.boolean() });

describe('runTool', () => {
  const deploy =
    (effects: string[], leak = false) =>
    (tasks: Tasks) =>
      tasks.registerTool('deploy', { inputSchema: z.object({ to: z.string() }) }, async ({ to }, task) => {
        if (leak) effects.push('outside');
        await task.step('build', () => void effects.push('build'));
        const answer = await task.ask('go', { message: `To ${to}?`, schema: yes });
        if (answer.action !== 'accept') return text(answer.action);
        await task.sleep(86_400_000);
        for (const host of ['a', 'b']) await task.step(`push ${host}`, () => void effects.push(`push ${host}`));
        return text(`deployed to ${to}: ${answer.content.ok}`);
      });

  it('runs a tool to its end over every interruption, with sleeps skipped', async () => {
    const effects: string[] = [];
    const run = await runTool(deploy(effects), 'deploy', { to: 'prod' }, { answers: { go: { ok: true } } });
    expect(run.result).toEqual(text('deployed to prod: true'));
    expect(effects).toEqual(['build', 'push a', 'push b']);
    expect(run.asked).toEqual(['go']);
    expect(run.runs).toBeGreaterThan(4);
  });

  it('shows what a handler does outside its steps', async () => {
    const effects: string[] = [];
    await runTool(deploy(effects, true), 'deploy', { to: 'prod' }, { answers: { go: { ok: true } } });
    expect(effects.filter((effect) => effect === 'outside').length).toBeGreaterThan(1);
  });

  it('runs it in one go where that is wanted', async () => {
    const effects: string[] = [];
    const options = { answers: { go: 'decline' }, interrupt: false } as const;
    const run = await runTool(deploy(effects, true), 'deploy', { to: 'prod' }, options);
    expect(run).toMatchObject({ result: text('decline'), runs: 1 });
    expect(effects).toEqual(['outside', 'build']);
  });

  it('says which answer is missing, and which tool', async () => {
    await expect(runTool(deploy([]), 'deploy', { to: 'prod' })).rejects.toThrow('no answer for "go" ("To prod?")');
    await expect(runTool(deploy([]), 'nope')).rejects.toThrow('no tool "nope"');
  });

  it('gives up on a handler that never gets further', async () => {
    const endless = (tasks: Tasks) =>
      tasks.registerTool('endless', {}, async (_args, task) => {
        for (;;) await task.step(`tick ${Math.random()}`, () => 1);
      });
    await expect(runTool(endless, 'endless', {}, { maxRuns: 20 })).rejects.toThrow(/started 21 times/);
  });

  it('passes failures on as they are', async () => {
    const failing = (tasks: Tasks) =>
      tasks.registerTool('failing', {}, () => {
        throw Object.assign(new Error('no'), { code: -32050 });
      });
    const run = await runTool(failing, 'failing');
    expect(run).toMatchObject({
      state: { status: 'failed', error: { code: -32050, message: 'no' } },
      result: undefined,
    });
  });
});
