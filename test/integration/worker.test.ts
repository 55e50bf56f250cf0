import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createTasks, sqliteStore, text } from 'longcall';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { scratchFolder } from '../support/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/cli/main.js');
let folder: ReturnType<typeof scratchFolder>;
beforeEach(() => {
  folder = scratchFolder();
  // As after `npm install longcall` in the user's own project.
  const modules = join(folder.path, 'node_modules');
  mkdirSync(modules);
  symlinkSync(root, join(modules, 'longcall'), 'dir');
});
afterEach(() => folder.remove());

function file(name: string, source: string): string {
  const path = join(folder.path, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, source);
  return path;
}

it('runs the tasks of a store until it is told to stop', async () => {
  const database = join(folder.path, 'tasks.db');
  const tools = file(
    'tools.mjs',
    `import { createTasks, sqliteStore, text } from 'longcall';
     export const tasks = createTasks({ store: sqliteStore(${JSON.stringify(database)}) });
     tasks.registerTool('where', {}, () => text(String(process.pid)));`,
  );
  const worker = spawn(process.execPath, [main, 'worker', tools, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: worker.stdout })[Symbol.asyncIterator]();
  try {
    const { value } = await lines.next();
    expect(JSON.parse(value as string)).toEqual({ event: 'working', pid: worker.pid, tools: ['where'] });
    await using server = createTasks({ store: sqliteStore(database), slots: 0 });
    server.registerTool('where', {}, () => text('here'));
    const { task } = await server.engine.create({
      definition: server.tools[0]!.definition,
      principal: LOCAL_PRINCIPAL,
      input: {},
      revision: '2026-07-28',
      abilities: { form: false },
    });
    const { state } = await server.engine.wait(task.taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({ status: 'completed', result: text(String(worker.pid)) });
    const exited = once(worker, 'exit');
    worker.kill('SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']); // Drained, then ended the usual way.
  } finally {
    worker.kill('SIGKILL');
  }
});

it.each([
  ['a file that is not there', 'nothing.mjs', undefined, /no such file/],
  ['a file without tasks', 'empty.mjs', 'export default 1;', /exports no tasks; write/],
  ['a file that breaks', 'broken.mjs', 'import "not-there";', /cannot be loaded: .*not-there/],
  [
    'tasks without tools',
    'none.mjs',
    "import { createTasks, sqliteStore } from 'longcall'; export default createTasks({ store: sqliteStore(':memory:') });",
    /no tools are registered/,
  ],
])('refuses %s, saying what to do', async (_what, name, source, message) => {
  const path = source === undefined ? join(folder.path, name) : file(name, source);
  const worker = spawn(process.execPath, [main, 'worker', path]);
  let said = '';
  worker.stderr.setEncoding('utf8').on('data', (some) => (said += some));
  const [code] = await once(worker, 'close');
  expect([code, said]).toEqual([2, expect.stringMatching(message)]);
});
