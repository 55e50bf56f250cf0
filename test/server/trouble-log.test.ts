import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { text } from '../../src/engine/index.ts';
import { bearerTokens } from '../../src/server/index.ts';
import { scratchFolder } from '../support/stores.ts';
import { guarded } from './auth/guarded.ts';
import { serve } from './peer.ts';

const forever = (): Promise<never> => new Promise(() => {});

describe('requests that a limit refuses', () => {
  it('are told to operators once a minute, with their number, and never as a fault', async () => {
    const { peer, clock, log } = serve((tasks) => tasks.registerTool('slow', {}, forever), {
      tasks: { maxOpenTasksPerPrincipal: 1 },
    });
    await peer.start('slow');
    const told = () => log.filter(({ message }) => /refused|served/.test(message));
    for (let n = 0; n < 100; n += 1) expect((await peer.call('slow')).error.code).toBe(-32603);
    const line = {
      level: 'warn',
      message: 'requests are refused: a limit is reached',
      fields: { where: 'slow', kind: 'LIMIT_EXCEEDED' },
    };
    expect(told()).toEqual([line]);
    clock.advance(60_000);
    expect(told()).toEqual([line, { ...line, fields: { ...line.fields, more: 99 } }]);
    clock.advance(60_000);
    await peer.call('slow');
    expect(told()).toHaveLength(3);
  });

  it('are counted for each method by itself', async () => {
    const { peer, log } = serve((tasks) => tasks.registerTool('slow', {}, forever), {
      tasks: { maxOpenTasksPerPrincipal: 1, maxPollsPerSecond: 1, maxWaitingPolls: 0 },
    });
    const { taskId } = await peer.start('slow');
    for (let n = 0; n < 20; n += 1) await peer.get(taskId);
    for (let n = 0; n < 20; n += 1) await peer.call('slow');
    expect(log.filter(({ level }) => level === 'warn').map(({ fields }) => fields)).toEqual([
      { where: 'tasks/get', kind: 'RATE_LIMITED' },
      { where: 'slow', kind: 'LIMIT_EXCEEDED' },
    ]);
    expect(log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('requests that fail by a fault of this side', () => {
  it('are told whole ten times a minute, and the rest by their number', async () => {
    const { peer, tasks, clock, log } = serve((tasks) => tasks.registerTool('slow', {}, forever));
    const { taskId } = await peer.start('slow');
    Object.assign(tasks.engine, { poll: () => Promise.reject(new Error('a page is damaged')) });
    const faults = () => log.filter(({ level }) => level === 'error').map(({ fields }) => fields);
    for (let n = 0; n < 50; n += 1) await peer.get(taskId);
    expect(faults()).toHaveLength(10);
    const error = { type: 'Error', stack: expect.stringMatching(/trouble-log\.test\.ts/) }; // Without its words.
    expect(faults()[9]).toEqual({ where: 'tasks/get', kind: 'Error', error });
    clock.advance(60_000);
    expect(faults().slice(10)).toEqual([{ where: 'tasks/get', kind: 'Error', more: 40 }]);
  });

  it('say which resource it was, and not which task', async () => {
    const { peer, tasks, log } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')));
    const { taskId } = await peer.start('quick');
    Object.assign(tasks.engine, { get: () => Promise.reject(new Error('a page is damaged')) });
    const { error } = await peer.send(
      'resources/read',
      { uri: `longcall://tasks/${taskId}` },
      {
        headers: { 'mcp-name': `longcall://tasks/${taskId}` },
      },
    );
    expect(error).toEqual({ code: -32603, message: 'Internal error' });
    expect(log.filter(({ level }) => level === 'error').map(({ fields }) => fields)).toMatchObject([
      { where: 'longcall-task' },
    ]);
    expect(JSON.stringify(log)).not.toContain(taskId);
  });

  it('of a tool that is at fault whenever it is called fill no log', async () => {
    const { peer, log } = serve((tasks) =>
      tasks.registerTool('broken', { task: { support: 'forbidden' } }, () => ({ content: 'none' }) as never),
    );
    for (let n = 0; n < 30; n += 1) expect((await peer.call('broken')).error.code).toBe(-32603);
    expect(log.filter(({ level }) => level === 'error')).toHaveLength(10);
  });

  it('of tokens that cannot be checked are no way to fill a log, whoever sends them', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const file = `${folder.path}/tokens.json`;
    writeFileSync(file, '{ "tokens": [] }', { mode: 0o600 });
    const { status, clock, log, peer } = await guarded(bearerTokens({ file }));
    rmSync(file);
    for (let n = 0; n < 25; n += 1) expect(await status(`made-up-${n}`)).toBe(503);
    const told = () => log.filter(({ message }) => message === 'tokens cannot be checked');
    expect(told()).toHaveLength(10);
    clock.advance(60_000);
    expect(told().slice(10)).toEqual([{ level: 'error', fields: { more: 15 }, message: 'tokens cannot be checked' }]);
    await peer.send('tools/list', {});
  });
});
