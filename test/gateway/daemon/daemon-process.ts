// A daemon with a small server of its own behind it: node daemon-process.ts FOLDER VERSION IDLE_MS
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, text } from '../../../src/engine/index.ts';
import type { UpstreamTarget } from '../../../src/gateway/config/types.ts';
import type { OpenBackend } from '../../../src/gateway/daemon/backend.ts';
import { runDaemon } from '../../../src/gateway/daemon/run.ts';
import { serveTaskStream } from '../../../src/server/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';

const [folder = '', version = '1.0.0', idleMs = '300000'] = process.argv.slice(2);
const note = (what: string): void => appendFileSync(`${folder}.notes`, `${what}\n`);
note(`pid ${process.pid}`);

const open: OpenBackend = async ({ folder: place, logger }) => {
  const tasks = createTasks({ store: sqliteStore(join(place, 'tasks.db')), logger });
  tasks.registerTool('pid', { task: { support: 'forbidden' } }, async () => text(String(process.pid)));
  tasks.registerTool('wait', { task: { onWorkerLost: 'resume' } }, async (_args, task) => {
    note('waiting');
    await task.step('asked', async () => null);
    const answer = await task.ask('go', { message: 'Go on?', schema: { type: 'object', properties: {} } });
    return text(`went on: ${answer.action}`);
  });
  tasks.registerTool('hang', { task: { support: 'forbidden' } }, async () => {
    note('hanging');
    return new Promise(() => {});
  });
  await tasks.start();
  const openTasks = async (): Promise<number> => {
    const { tasks: found } = await tasks.inspect.list({ status: ['working', 'input_required'] });
    return found.length;
  };
  return {
    serve(hello, streams) {
      if (!('spec' in hello)) throw new Error('this daemon runs no commands');
      const { command: name, env } = hello.spec.target as Extract<UpstreamTarget, { command: string }>;
      note(`serves ${name} ${JSON.stringify(env)}`);
      let client: string | undefined;
      const factory = () => {
        const mcp = new McpServer({ name, version: '1' }, { capabilities: { logging: {} } });
        mcp.server.oninitialized = () => {
          client = mcp.server.getClientVersion()?.name;
          note(`initialized ${client}`);
        };
        return mcp;
      };
      return { name, ...serveTaskStream(tasks, factory, streams), client: () => client };
    },
    busy: async () => (await openTasks()) > 0,
    status: async () => ({ openTasks: await openTasks() }),
    close: () => tasks.close({ drainMs: 200 }),
  };
};

process.exitCode = await runDaemon({
  folder,
  version,
  open,
  idleMs: Number(idleMs),
  env: process.env,
  up: () => note(`up ${process.pid}`),
});
