// Servers we did not write, which a client of ours calls: a call's whole life on each of them, also across a restart of the host.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Call, type ConnectedServer, type ConnectTarget, openTaskClient, type TaskClient } from 'longcall/client';
import { type Gateway, openGateway } from 'longcall/gateway';
import { freePort } from '../../test/support/free-port.ts';
import { ended, track } from '../support/children.ts';
import { pythonWith } from '../support/toolchains.ts';
import { FASTMCP, NEWER } from './peers/python.ts';
import type { TransportName } from './site.ts';

type Arguments = Record<string, string | number | boolean>;
/** A tool, what it is called with, and what its result has to say. */
type Use = readonly [tool: string, args: Arguments, says: RegExp];

export interface ServerKind {
  /** Package, version, revision. */
  name: string;
  /** How its tasks are told. */
  revision: string;
  transports: readonly TransportName[];
  prepare(): Promise<unknown>;
  command(transport: TransportName): Promise<{ command: string; args: string[] }>;
  /** A call that is answered at once; one that is a task, and tells how far it is; one that asks; one that goes on for long. */
  sync: Use;
  task: Use;
  question: Use;
  answer: Arguments;
  wait: readonly [tool: string, args: Arguments];
  /** A tool that reports a failure, in the end or at once. */
  report: Use;
  /** Whether another session finds a task again, over HTTP. */
  keepsTasks: boolean;
}

const everythingProgram = (): string =>
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const cache = join(import.meta.dirname, '../../.cache');

export const everything: ServerKind = {
  name: 'server-everything 2026.8.31',
  revision: '2025-11-25',
  transports: ['http', 'stdio'],
  prepare: async () => {},
  command: async (transport) => ({
    command: process.execPath,
    args: [everythingProgram(), transport === 'http' ? 'streamableHttp' : 'stdio'],
  }),
  sync: ['echo', { message: 'hello' }, /Echo: hello/],
  task: ['simulate-research-query', { topic: 'tasks' }, /Research Report: tasks/],
  question: ['simulate-research-query', { topic: 'python', ambiguous: true }, /python \(snake\)/],
  answer: { interpretation: 'snake' },
  wait: ['simulate-research-query', { topic: 'nothing' }],
  report: ['get-sum', { a: 'one' }, /Invalid arguments/],
  keepsTasks: false,
};

export const fastMcpServer: ServerKind = {
  name: `fastmcp-tasks ${FASTMCP}`,
  revision: '2026-07-28',
  transports: ['http', 'stdio'],
  prepare: () => pythonWith(NEWER, cache),
  command: async (transport) => ({
    command: await pythonWith(NEWER, cache),
    args: [join(import.meta.dirname, '../recording/fastmcp_tasks_server.py'), transport],
  }),
  sync: ['greet', { name: 'Ada' }, /hello Ada/],
  task: ['walk', { steps: 3 }, /walked/],
  question: ['ask', {}, /painted green/],
  answer: { colour: 'green' },
  wait: ['wait', {}],
  report: ['report', {}, /no such film/],
  keepsTasks: true,
};

interface Visit {
  kind: ServerKind;
  server: ConnectedServer;
  client: TaskClient;
  asked: string[];
  /** A gateway stands between, which keeps tasks. */
  throughGateway: boolean;
  /** Ends the host, and starts it again on the same journal. */
  restart(): Promise<void>;
}

const begin = async ({ server }: Visit, [name, args]: readonly [string, Arguments, ...unknown[]]): Promise<Call> =>
  server.callTool({ name, arguments: args });

async function says(visit: Visit, use: Use): Promise<Record<string, unknown>> {
  const result = await (await begin(visit, use)).result();
  assert.match(JSON.stringify(result), use[2]);
  return result;
}

async function followed(call: Call): Promise<void> {
  for await (const { phase, end } of call.updates()) {
    assert.equal(end, undefined);
    if (phase === 'following') return;
  }
}

export const SERVER_SCENARIOS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  async sync(visit) {
    await says(visit, visit.kind.sync);
  },
  /** Told how far it is; its result twice. */
  async task(visit) {
    const call = await begin(visit, visit.kind.task);
    const told = new Set<string>();
    for await (const { phase, statusMessage, progress } of call.updates()) {
      if (phase === 'following') told.add(`${statusMessage} ${progress?.progress}`);
    }
    const result = await call.result();
    assert.match(JSON.stringify(result), visit.kind.task[2]);
    assert.deepEqual(await call.result(), result);
    assert.ok(told.size > 1, [...told].join());
  },
  async question(visit) {
    visit.asked.length = 0;
    await says(visit, visit.kind.question);
    assert.equal(visit.asked.length, 1);
  },
  async 'tool-error'(visit) {
    assert.equal((await says(visit, visit.kind.report)).isError, true);
  },
  async cancel(visit) {
    const call = await begin(visit, visit.kind.wait);
    await followed(call);
    await call.cancel();
    await assert.rejects(call.result(), { code: 'CALL_CANCELLED' });
  },
  async 'host-restart'(visit) {
    const { id } = await begin(visit, visit.kind.task).then(async (call) => {
      await followed(call);
      return call;
    });
    await visit.restart();
    const again = (await visit.client.call(id)).result();
    if (visit.kind.keepsTasks || visit.throughGateway) assert.match(JSON.stringify(await again), visit.kind.task[2]);
    else await assert.rejects(again, { code: 'CALL_LOST' });
  },
};

/**
 * One server, and a host that plays all scenarios on it.
 * @param play runs one scenario, and says how it went
 * @param options.gateway a gateway stands between the two, and keeps the server's tasks
 */
export async function visitServer(
  kind: ServerKind,
  transport: TransportName,
  play: (name: string, scenario: () => Promise<void>) => Promise<void>,
  { gateway = false }: { gateway?: boolean } = {},
): Promise<void> {
  await kind.prepare();
  const folder = await mkdtemp(join(tmpdir(), 'longcall-interop-'));
  const { command, args } = await kind.command(transport);
  let place: ConnectTarget = { command, args, stderr: 'ignore' };
  const leave: (() => Promise<unknown>)[] = [];
  try {
    if (transport === 'http') {
      const port = await freePort();
      const child = track(
        spawn(command, args, { env: { ...process.env, PORT: String(port) }, stdio: ['ignore', 'pipe', 'pipe'] }),
      );
      leave.push(async () => {
        child.kill('SIGKILL');
        await ended(child);
      });
      place = { url: await listening(child, `http://127.0.0.1:${port}/mcp`) };
    }
    if (gateway) {
      const stands = await gatewayBefore({ command, args }, join(folder, 'state'));
      leave.push(() => stands.gateway.close());
      place = { url: stands.url };
    }
    const visit = { kind, asked: [] as string[], throughGateway: gateway } as unknown as Visit;
    const enter = async (): Promise<void> => {
      visit.client = await openTaskClient({ journal: `${folder}/host.db` });
      const onQuestion: ConnectTarget['onQuestion'] = async ({ question }) => {
        visit.asked.push(question.kind);
        return { action: 'accept', content: kind.answer };
      };
      visit.server = await visit.client.connect('theirs', { ...place, onQuestion });
    };
    visit.restart = async () => {
      await visit.client.close();
      await enter();
    };
    await enter();
    leave.unshift(() => visit.client.close());
    assert.equal(visit.server.revision, gateway ? '2026-07-28' : kind.revision);
    for (const [name, scenario] of Object.entries(SERVER_SCENARIOS)) {
      // Their server is a child of the host, and keeps nothing; a gateway's is not.
      if (name === 'host-restart' && transport === 'stdio' && !gateway) continue;
      await play(name, () => scenario(visit));
    }
  } finally {
    for (const end of leave) await end();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A gateway whose upstream is their server, as a process of its own. */
async function gatewayBefore(
  { command, args }: { command: string; args: string[] },
  stateFolder: string,
): Promise<{ gateway: Gateway; url: string }> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  const target = { command, args, env: env as Record<string, string> };
  const config = { upstreams: [{ name: 'theirs', target, prefix: '', policy: {}, tools: [] }] };
  const gateway = await openGateway({ stateFolder, config });
  const { url } = await gateway.listen({ port: 0 });
  return { gateway, url };
}

/** Where it listens: as it says, if it does. */
async function listening(child: ReturnType<typeof spawn>, otherwise: string): Promise<string> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += String(text)));
  for (let left = 300; left > 0 && child.exitCode === null; left -= 1) {
    const url = /^http:\S+$/m.exec(said)?.[0] ?? otherwise;
    const there = await fetch(url, { method: 'DELETE' }).then(
      () => true,
      () => false,
    );
    if (there) return url;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the server did not start:\n${said}`);
}
