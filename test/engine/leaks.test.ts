import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LimitExceededError, LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { pass, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

describe('what tasks leave behind', () => {
  it('is nothing, in any table, once their time is over [C-051] [C-055]', async () => {
    const folder = scratchFolder();
    const file = `${folder.path}/tasks.db`;
    const { tasks, clock } = someTasks({ store: sqliteStore(file), maxOpenTasksPerPrincipal: 5_000 });
    const task = { ttlMs: 20_000, keepResultMs: 1_000 };
    tasks.registerTool('quick', { task }, async (_args, context) => {
      await context.step('s', () => 1);
      context.log('line');
      return text('x');
    });
    const schema = z.object({ ok: z.boolean() });
    tasks.registerTool('asks', { task }, async (_args, context) =>
      text((await context.ask('q', { message: '?', schema })).action),
    );
    for (let n = 0; n < 200; n += 1) {
      await start(tasks, 'quick');
      const { taskId } = await start(tasks, 'asks');
      if (n % 2 === 0) await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    }
    await settle();
    await pass(clock, 200_000);
    const db = new Database(file, { readonly: true });
    const tables = db
      .prepare("select name from sqlite_master where type = 'table' and name not like 'kysely%'")
      .pluck()
      .all();
    const counts = Object.fromEntries(
      tables.map((table) => [table, db.prepare(`select count(*) from "${table}"`).pluck().get()]),
    );
    db.close();
    const { meta, ...rest } = counts;
    expect(meta).toBe(3);
    expect(
      Object.values(rest).every((count) => count === 0),
      JSON.stringify(rest),
    ).toBe(true);
    await tasks.close();
    folder.remove();
  });

  it('is no timer of their own [C-052]', async () => {
    const { tasks, clock } = someTasks({ maxOpenTasksPerPrincipal: 5_000 });
    tasks.registerTool('quick', {}, () => text('x'));
    await tasks.start();
    const before = clock.pendingTimers;
    await Promise.all(Array.from({ length: 2_000 }, () => start(tasks, 'quick')));
    await settle();
    expect(clock.pendingTimers).toBeLessThanOrEqual(before + 3); // Heartbeat, guard, alarm: per worker, not per task.
    await tasks.close();
    expect(clock.pendingTimers).toBeLessThanOrEqual(1);
  });

  it('is no row of a call that was refused [C-053]', async () => {
    const { tasks } = someTasks({ maxOpenTasksPerPrincipal: 1, slots: 0 });
    tasks.registerTool('any', {}, () => text('x'));
    await start(tasks, 'any');
    await expect(start(tasks, 'any')).rejects.toBeInstanceOf(LimitExceededError);
    await tasks.close();
  });
});

describe('a payload', () => {
  it.each([
    ['NUL', 'a\u0000b'],
    ['UTF-16 read as text', Buffer.from('naïve', 'utf16le').toString('latin1')],
    ['a lone surrogate', 'x\ud800y'],
    ['an emoji', '👩‍👩‍👧'],
    ['quotes and escapes', `"\\'\n\t\u2028`],
  ])('comes back as it was: %s [C-078]', async (_what, odd) => {
    const { tasks, clock } = someTasks();
    tasks.registerTool('echo', { inputSchema: z.object({ odd: z.string() }) }, async (args, task) => {
      task.progress(1, 2, args.odd);
      task.log(args.odd);
      return {
        content: [{ type: 'text', text: await task.step(args.odd, () => args.odd) }],
        structuredContent: { [odd]: odd },
      };
    });
    const { taskId } = await start(tasks, 'echo', { odd });
    await settle();
    await pass(clock, 200);
    const { state, progress } = await tasks.engine.wait(taskId, LOCAL_PRINCIPAL);
    expect(state).toEqual({
      status: 'completed',
      result: { content: text(odd).content, structuredContent: { [odd]: odd } },
    });
    expect(progress?.message).toBe(odd);
    tasks.registerTool('fail', {}, () => {
      throw new Error(odd);
    });
    const failing = await start(tasks, 'fail');
    expect((await tasks.engine.wait(failing.taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ error: { message: odd } });
    await tasks.close();
  });
});
