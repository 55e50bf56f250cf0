import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_PRINCIPAL, StoreFailedError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { recordingLogger, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

/** Opens tasks on one file again and again, and the file itself in between. */
function place() {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'tasks.db');
  return {
    file,
    open(slots: number, logger = recordingLogger().logger): Tasks {
      const { tasks } = someTasks({ store: sqliteStore(file), slots, attendedSlots: slots, logger });
      tasks.registerTool('echo', {}, (args) => text(JSON.stringify(args)));
      return tasks;
    },
    tamper(statement: string, ...values: unknown[]): void {
      const db = new Database(file);
      db.prepare(statement).run(...values);
      db.close();
    },
  };
}

describe('a database file that was tampered with', () => {
  it('costs the tasks that were damaged, and no other', async () => {
    const { open, tamper } = place();
    const before = open(0);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await start(before, 'echo', { n })).taskId);
    await before.close();
    tamper(
      "delete from task_payloads where task_row = (select row_id from tasks where id = ?) and kind = 'input'",
      ids[0],
    );
    tamper('drop trigger outcomes_are_final');
    tamper(
      "update task_payloads set body = '{not JSON' where task_row = (select row_id from tasks where id = ?)",
      ids[1],
    );
    tamper("update tasks set client_capabilities = 'neither' where id = ?", ids[2]);
    const { logger, lines } = recordingLogger();
    const after = open(64, logger);
    await after.start();
    const ended = await Promise.all(ids.map((id) => after.engine.wait(id, LOCAL_PRINCIPAL)));
    const damaged = {
      status: 'failed',
      error: { code: -32603, message: 'the task store is damaged: what was kept of this task cannot be read' },
    };
    expect(ended.map(({ state }) => state)).toEqual([
      damaged,
      damaged,
      damaged,
      { status: 'completed', result: text('{"n":3}') },
      { status: 'completed', result: text('{"n":4}') },
    ]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    await after.close();
  });

  it('says so where a result is gone, and serves what is whole', async () => {
    const { open, tamper } = place();
    const before = open(64);
    const [gone, whole] = [await start(before, 'echo'), await start(before, 'echo')];
    for (const { taskId } of [gone, whole]) await before.engine.wait(taskId, LOCAL_PRINCIPAL);
    await before.close();
    tamper(
      "delete from task_payloads where task_row = (select row_id from tasks where id = ?) and kind = 'result'",
      gone.taskId,
    );
    const after = open(64);
    await expect(after.engine.get(gone.taskId, LOCAL_PRINCIPAL)).rejects.toThrow(StoreFailedError);
    await expect(after.engine.get(gone.taskId, LOCAL_PRINCIPAL)).rejects.toThrow(/damaged.*restore a backup/);
    expect((await after.engine.get(whole.taskId, LOCAL_PRINCIPAL)).state.status).toBe('completed');
    await after.close();
  });
});
