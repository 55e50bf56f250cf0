// Three kinds of clients of one server: over HTTP it is one process for all, over stdio each client starts its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { nodeArgs } from '../support/on-each-transport.ts';
import { connectHttp, connectStdio, type TaskClient } from '../support/task-client.ts';

export interface Clients {
  /** MCP 2026-07-28, with the tasks extension. */
  modern: TaskClient;
  /** MCP 2025-11-25, with its tasks. */
  sdkV1: ClientV1;
  /** No tasks. */
  plain: Client;
}

type Story = (clients: Clients) => Promise<void>;

/** A server in a process of its own. */
export interface HttpServer {
  url: string;
  /** Asks it to stop. Resolves to its exit code. */
  stop(): Promise<number | null>;
}

const START_WITHIN_MS = 20_000;

/** Runs `story` over each transport; `--transport http` or `stdio` on the command line asks for one of them. */
export async function onEachTransport(server: URL, story: Story): Promise<void> {
  const { values } = parseArgs({ options: { transport: { type: 'string' } } });
  const folder = scratchFolder();
  for (const transport of values.transport === undefined ? ['http', 'stdio'] : [values.transport]) {
    console.log(`over ${transport}`);
    const env = { TASKS_DB: join(folder, transport, 'tasks.db') };
    if (transport === 'http') await overHttp(server, env, story);
    else if (transport === 'stdio') await overStdio(server, env, story);
    else throw new Error(`--transport must be http or stdio, got ${transport}`);
  }
}

/** Runs `story` with a server that only speaks HTTP. */
export async function onServer(
  file: URL,
  story: (clients: Clients, server: HttpServer) => Promise<void>,
): Promise<void> {
  await overHttp(file, { TASKS_DB: join(scratchFolder(), 'tasks.db') }, story);
}

let folder: string | undefined;

function scratchFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'longcall-example-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
    folder = made;
  }
  return mkdtempSync(join(folder, 'run-'));
}

async function overHttp(
  file: URL,
  env: Record<string, string>,
  story: (clients: Clients, server: HttpServer) => Promise<void>,
): Promise<void> {
  const server = spawn(process.execPath, nodeArgs(file), {
    env: { ...process.env, ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  const kill = (): void => void server.kill('SIGKILL');
  process.once('exit', kill);
  try {
    const signal = AbortSignal.timeout(START_WITHIN_MS);
    const line = once(createInterface(server.stdout), 'line', { signal });
    const stopped = exited.then(([code]) => Promise.reject(new Error(`the server stopped with exit code ${code}`)));
    const [url] = (await Promise.race([line, stopped])) as [string];
    const clients = { modern: await connectHttp(url), sdkV1: clientV1(), plain: plainClient() };
    await clients.sdkV1.connect(new HttpTransportV1(new URL(url)) as never);
    await clients.plain.connect(new StreamableHTTPClientTransport(new URL(url)));
    const stop = async () => {
      server.kill('SIGTERM');
      return (await exited)[0] as number | null;
    };
    await tell((connected) => story(connected, { url, stop }), clients);
  } finally {
    kill();
    await exited;
    process.off('exit', kill);
  }
}

async function overStdio(file: URL, env: Record<string, string>, story: Story): Promise<void> {
  const command = process.execPath;
  const args = [...nodeArgs(file), '--stdio'];
  const clients = { modern: await connectStdio(command, args, env), sdkV1: clientV1(), plain: plainClient() };
  await clients.sdkV1.connect(new StdioTransportV1({ command, args, env }));
  await clients.plain.connect(new StdioClientTransport({ command, args, env }));
  await tell(story, clients);
}

async function tell(story: Story, clients: Clients): Promise<void> {
  try {
    await story(clients);
  } finally {
    await Promise.all(Object.values(clients).map((client) => client.close()));
  }
}

function clientV1(): ClientV1 {
  return new ClientV1({ name: 'sdk-v1', version: '1.0.0' }, { capabilities: { tasks: {} } });
}

function plainClient(): Client {
  return new Client({ name: 'no-tasks', version: '1.0.0' });
}
