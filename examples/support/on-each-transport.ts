// What the examples share: a server in a process of its own, once over Streamable HTTP and once over stdio.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connectHttp, connectStdio, type TaskClient } from './task-client.ts';

const START_WITHIN_MS = 20_000;

/** How a client connects: to a server that listens, or to one that it starts. */
export interface Connectors<Client> {
  http(url: string): Promise<Client>;
  stdio(command: string, args: string[], env: Record<string, string>): Promise<Client>;
}

const modern: Connectors<TaskClient> = { http: connectHttp, stdio: connectStdio };

export function onEachTransport(server: URL, story: (client: TaskClient) => Promise<void>): Promise<void>;
export function onEachTransport<Client extends { close(): Promise<void> }>(
  server: URL,
  story: (client: Client) => Promise<void>,
  connect: Connectors<Client>,
): Promise<void>;
/** Runs `story` over each transport; `--transport http` or `stdio` on the command line asks for one of them. */
export async function onEachTransport<Client extends { close(): Promise<void> }>(
  server: URL,
  story: (client: Client) => Promise<void>,
  connect = modern as unknown as Connectors<Client>,
): Promise<void> {
  const { values } = parseArgs({ options: { transport: { type: 'string' } } });
  const wanted = values.transport === undefined ? ['http', 'stdio'] : [values.transport];
  const folder = mkdtempSync(join(tmpdir(), 'longcall-example-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Otherwise a signal would end this process without its `exit` listeners, and leave the server behind.
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  for (const transport of wanted) {
    console.log(`over ${transport}`);
    const env = { TASKS_DB: join(folder, transport, 'tasks.db') };
    if (transport === 'http') await overHttp(server, env, (url) => telling(story, connect.http(url)));
    else if (transport === 'stdio') {
      await telling(story, connect.stdio(process.execPath, [...nodeArgs(server), '--stdio'], env));
    } else throw new Error(`--transport must be http or stdio, got ${transport}`);
  }
}

/** How a client of `longcall/client` connects to a server that runs. */
export type Place = { url: string } | { command: string; args: string[]; env: Record<string, string> };

/** The transports that the command line asks for. */
export function transports(): string[] {
  const { values } = parseArgs({ options: { transport: { type: 'string' } } });
  return values.transport === undefined ? ['http', 'stdio'] : [values.transport];
}

/** Runs `story` while there is a server: one that listens, and is killed when the story ends, or one that its client starts. */
export async function serving(
  transport: string,
  server: URL,
  env: Record<string, string>,
  story: (place: Place) => Promise<void>,
): Promise<void> {
  if (transport === 'http') await overHttp(server, env, (url) => story({ url }));
  else await story({ command: process.execPath, args: [...nodeArgs(server), '--stdio'], env });
}

/** The arguments that run a TypeScript file with this very Node, without a process in between. */
export function nodeArgs(file: URL): string[] {
  return ['--import', import.meta.resolve('tsx'), fileURLToPath(file)];
}

async function telling<Client extends { close(): Promise<void> }>(
  story: (client: Client) => Promise<void>,
  connected: Promise<Client>,
): Promise<void> {
  const client = await connected;
  try {
    await story(client);
  } finally {
    await client.close();
  }
}

async function overHttp(file: URL, env: Record<string, string>, tell: (url: string) => Promise<void>): Promise<void> {
  const server = spawn(process.execPath, nodeArgs(file), {
    env: { ...process.env, ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(server, 'exit');
  const kill = (): void => void server.kill('SIGKILL'); // Nothing to tidy up: what was acknowledged is on disk.
  process.once('exit', kill);
  try {
    // The server's first line says where it listens.
    const signal = AbortSignal.timeout(START_WITHIN_MS);
    const line = once(createInterface(server.stdout), 'line', { signal });
    const stopped = exited.then(([code]) => Promise.reject(new Error(`the server stopped with exit code ${code}`)));
    const [url] = await Promise.race([line, stopped]);
    await tell(url);
  } finally {
    kill();
    await exited;
    process.off('exit', kill);
  }
}
