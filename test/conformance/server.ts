// The process that `npm run conformance` tests. Two servers, both made of Longcall's public API:
// - `tasks`: `createTaskServer(…).listen()`, whose tools are all of `createTasks`;
// - `everything`: `createTaskHandler(…)` around an McpServer with prompts, resources and tools of its own.
// Databases go into the folder named on the command line. The parent is told the addresses over the IPC channel; when
// that channel closes, because the parent wants it or has died, this process ends.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { createTasks, sqliteStore, type Tasks } from 'longcall';
import { createTaskHandler, createTaskServer } from 'longcall/server';
import { everythingServer } from './everything-server.ts';
import { registerEverythingTools } from './everything-tools.ts';
import { registerTaskTools } from './task-tools.ts';

/** Where each server of the fixture is reached. */
export interface FixtureUrls {
  tasks: string;
  everything: string;
}

const [folder] = process.argv.slice(2);
if (folder === undefined || process.send === undefined) {
  throw new Error('started by scripts/conformance.ts, with a folder for its databases and an IPC channel');
}

const openTasks = (name: string): Tasks => createTasks({ store: sqliteStore(join(folder, `${name}.db`)), drainMs: 0 }); // Nobody waits for what is left.

const taskTools = openTasks('tasks');
registerTaskTools(taskTools);
const taskServer = createTaskServer(taskTools, { name: 'longcall-conformance-tasks', version: '1.0.0' });
const listening = await taskServer.listen({ port: 0 });

const everythingTools = openTasks('everything');
registerEverythingTools(everythingTools);
const handler = createTaskHandler(everythingTools, () => everythingServer(() => handler.notify));
const http = createServer(
  getRequestListener(
    (request) =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      handler.fetch(request),
  ),
);
await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));

process.once('disconnect', () => void close());
// Ctrl-C reaches the whole process group; the parent says when to end.
process.on('SIGINT', () => {});
process.send({
  tasks: listening.url,
  everything: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
} satisfies FixtureUrls);

async function close(): Promise<void> {
  http.close();
  http.closeAllConnections();
  await handler.close();
  await everythingTools.close();
  await taskServer.close();
}
