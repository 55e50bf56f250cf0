import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { scratchFolder } from '../support/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const server = fileURLToPath(new URL('support-processes/sdk-v1-process.ts', import.meta.url));

/** Starts the server as a host does, and connects to it. */
async function host(database: string) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', server, database],
    cwd: root,
  });
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { tasks: {} } });
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  const call = async (target: string): Promise<string> => {
    const { task } = await client.request(
      { method: 'tools/call', params: { name: 'build', arguments: { target }, task: {} } },
      z.object({ task: z.object({ taskId: z.string() }).loose() }).loose(),
    );
    return task.taskId;
  };
  const result = (taskId: string) => client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
  const kill = async (): Promise<void> => {
    const gone = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    process.kill(transport.pid as number, 'SIGKILL');
    await gone;
  };
  return { client, call, result, kill };
}

it('[C-032] lets tasks of registerToolTask outlive a kill -9: with their results, or failed as interrupted', async () => {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const database = join(folder.path, 'tasks.db');
  const first = await host(database);
  const done = await first.call('app');
  expect(await first.result(done)).toMatchObject({ content: [{ text: 'app' }] });
  const open = await first.call('never');
  expect(await first.client.experimental.tasks.getTask(open)).toMatchObject({ status: 'working' });
  await first.kill();

  const second = await host(database);
  const { tasks } = second.client.experimental;
  const interrupted = /^interrupted: the worker was lost .* its work ended with the process that did it$/;
  await expect
    .poll(() => tasks.getTask(open), { timeout: 10_000, interval: 50 })
    .toMatchObject({
      status: 'failed',
      statusMessage: expect.stringMatching(interrupted),
    });
  await expect(second.result(open)).rejects.toMatchObject({ code: -32603 });
  expect(await tasks.getTask(done)).toMatchObject({ status: 'completed' });
  expect(await second.result(done)).toMatchObject({ content: [{ text: 'app' }] });
  expect((await tasks.listTasks()).tasks.map(({ taskId }) => taskId)).toEqual([open, done]);

  const main = join(root, 'dist/cli/main.js');
  const { stdout } = spawnSync(process.execPath, [main, 'admin', 'ls', '--db', database], { encoding: 'utf8' });
  expect(stdout).toMatch(/build/);
  expect(stdout).toMatch(/failed/);
});

it('fails what runs as interrupted when its host ends it', async () => {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const database = join(folder.path, 'tasks.db');
  const first = await host(database);
  const open = await first.call('never');
  await first.client.close();
  const second = await host(database);
  await expect
    .poll(() => second.client.experimental.tasks.getTask(open), { timeout: 10_000, interval: 50 })
    .toMatchObject({ status: 'failed', statusMessage: expect.stringMatching(/^interrupted/) });
});
