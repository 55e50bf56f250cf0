import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';

const BATCH = 20_000;
/** What hangs on a task is found by one of these columns, whichever the schema of a table uses. */
const KEYS = ['task_row', 'task_id'];

/**
 * Multiplies a task in the database file, with everything that hangs on it: as many tasks as nobody could wait for if they
 * were created one by one. Each gets a random id of its own.
 * @param columns SQL of columns that are not to be copied; `n` is the number of the copy
 * @returns ids of the copies
 */
export function copyTask(file: string, taskId: string, count: number, columns: Record<string, string> = {}): string[] {
  const db = new Database(file);
  try {
    // Nothing here has to outlive a power cut.
    db.pragma('synchronous = OFF');
    db.pragma('cache_size = -1000000');
    const ids: string[] = [];
    db.function('new_task_id', { deterministic: false }, () => {
      const id = `tsk_${randomBytes(18).toString('base64url')}`;
      ids.push(id);
      return id;
    });
    db.exec('create temp table numbers (n integer primary key)');
    db.prepare(
      'insert into numbers with recursive c(n) as (values (1) union all select n + 1 from c where n < ?) select n from c',
    ).run(BATCH);
    const statements = copying(db, columns);
    const row = db.prepare('select row_id from tasks where id = ?').pluck();
    const last = db.prepare('select max(row_id) from tasks').pluck();
    const template = { id: taskId, row: row.get(taskId) };
    for (let done = 0; done < count; done += BATCH) {
      const args = { ...template, after: last.get(), done, count: Math.min(BATCH, count - done) };
      db.transaction(() => {
        for (const { sql, names } of statements) {
          db.prepare(sql).run(Object.fromEntries(names.map((name) => [name, args[name]])));
        }
      })();
    }
    db.pragma('wal_checkpoint(TRUNCATE)');
    return ids;
  } finally {
    db.close();
  }
}

type Arg = 'id' | 'row' | 'after' | 'done' | 'count';

/** One statement for the tasks and one for each table that tells more about them. */
function copying(db: Database.Database, columns: Record<string, string>): { sql: string; names: Arg[] }[] {
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[];
  const columnsOf = (table: string) =>
    db.prepare('select name from pragma_table_info(?)').pluck().all(table) as string[];
  const copied = columnsOf('tasks').filter((column) => column !== 'row_id');
  const own: Record<string, string> = { id: 'new_task_id()', ...columns };
  const tasks = {
    sql:
      `insert into tasks (${copied.join(', ')}) select ${copied.map((column) => own[column] ?? column).join(', ')} ` +
      'from (select n + @done as n from numbers where n <= @count) cross join tasks where id = @id',
    names: ['done', 'count', 'id'] as Arg[],
  };
  const others = tables.flatMap((table) => {
    const key = KEYS.find((name) => columnsOf(table).includes(name));
    if (key === undefined) return [];
    const rest = columnsOf(table).filter((column) => column !== key);
    const [of, template] = key === 'task_row' ? (['row_id', 'row'] as const) : (['id', 'id'] as const);
    const sql =
      `insert into ${table} (${[key, ...rest].join(', ')}) ` +
      `select t.${of}, ${rest.map((column) => `o.${column}`).join(', ')} ` +
      `from tasks t cross join ${table} o where t.row_id > @after and o.${key} = @${template} order by t.row_id`;
    return [{ sql, names: ['after', template] as Arg[] }];
  });
  return [tasks, ...others];
}
