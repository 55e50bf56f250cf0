// The gateway as it is installed, with one of its processes killed: what of it every other one makes up for.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Call, type ConnectedServer, openTaskClient } from '../../src/client/index.ts';
import type { SupervisedStdio } from '../../src/gateway/upstreams/supervised-stdio.ts';
import { validated } from '../server/peer.ts';
import { LinePeer } from '../support/line-peer.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { kill, left, type ServerName, Stage } from './killed/stage.ts';

/** Its processes are gone when the test ends, or the test fails. */
function aStage(): Stage {
  const scratch = scratchFolder();
  const stage = new Stage(scratch.path);
  onTestFinished(async () => {
    const daemon = stage.daemon;
    await stage.stopDaemon();
    expect(left([...stage.serverPids(), ...(daemon === undefined ? [] : [daemon.pid])])).toEqual([]);
    if (daemon !== undefined) expect(existsSync(daemon.socket)).toBe(false);
    scratch.remove();
  });
  return stage;
}

/** A host that remembers its calls in the stage's folder, connected by a front. */
async function host(stage: Stage, front: SupervisedStdio, protocol = '2026-07-28') {
  const client = await openTaskClient({ journal: join(stage.folder, 'host.db'), minPollMs: 10 });
  onTestFinished(async () => {
    await client.close();
    await front.close();
  });
  const server: ConnectedServer = await client.connect('gateway', { ...front, protocol });
  return { client, server };
}

async function handled(call: Call): Promise<void> {
  for await (const { phase } of call.updates()) if (phase === 'following') return;
}

const words = (result: unknown): string => (result as { content: { text: string }[] }).content[0]!.text;

describe('a front that is killed', () => {
  it('leaves daemon, server and task to go on, and another front finds the result [C-106]', async () => {
    const stage = aStage();
    const front = stage.front('plain');
    const { client, server } = await host(stage, front);
    const call = await server.callTool({ name: 'write', arguments: { token: 'a', ms: -1 } });
    await handled(call);
    await stage.noted('began', 'a');
    const { pid } = stage.daemon!;
    expect(await kill(front.status().pid)).toBe(true);
    await client.close();
    stage.go('a');
    const { value } = await stage.noted('done', 'a');

    const next = await host(stage, stage.front('plain'));
    expect(words(await (await next.client.call(call.id)).result())).toBe(value);
    expect(stage.daemon!.pid).toBe(pid);
    expect(stage.serverPids()).toHaveLength(1);
    expect(stage.count('began', 'a')).toBe(1);
  }, 60_000);
});

describe('a daemon that is killed', () => {
  it('is replaced by the front: the session goes on, what was open is answered, and so is the task in the end [C-088]', async () => {
    const stage = aStage();
    const { peer, child } = hostByLines(stage, 'durable', ['--tool', 'ask=direct']);
    await peer.initialize({}, '2025-11-25');
    const called = await peer.ask(v25Call(1, 'steps', { token: 'a', ms: -1 }, { task: {} }));
    const { taskId } = (called['result'] as { task: { taskId: string } }).task;
    await stage.noted('began', 'a');
    peer.write(v25Call(2, 'ask', { token: 'b', ms: -1 }));
    await stage.noted('began', 'b');
    const { pid } = stage.daemon!;
    expect(await kill(pid)).toBe(true);
    expect(await peer.first(({ id }) => id === 2)).toMatchObject({
      error: { code: -32603, message: 'the gateway restarted; whether the call ran is not known; tasks go on' },
    });

    stage.go('a');
    const result = await peer.ask({ jsonrpc: '2.0', id: 3, method: 'tasks/result', params: { taskId } });
    expect(words(result['result'])).toBe((await stage.noted('done', 'a')).value);
    expect(child.exitCode).toBeNull();
    expect(stage.daemon!.pid).not.toBe(pid);
    const tasks = stage.entries.flatMap(({ token, task }) => (token === 'a' && task !== undefined ? [task] : []));
    expect(new Set(tasks).size).toBe(1);
    expect(stage.count('done', 'a')).toBe(1);
  }, 90_000);
});

describe('a daemon that is killed before it has answered with a handle', () => {
  it('is asked again by a host that has keys, and makes no second task', async () => {
    const stage = aStage();
    const front = stage.front('durable');
    const { server } = await host(stage, front);
    const call = await server.callTool({ name: 'steps', arguments: { token: 'a', ms: 100 } });
    await stage.noted('began', 'a'); // The gateway waits a moment whether it is a quick one.
    expect(call.state.phase).toBe('sent');
    expect(await kill(stage.daemon!.pid)).toBe(true);
    expect(words(await call.result())).toBe((await stage.noted('done', 'a')).value);
    expect(new Set(stage.entries.flatMap(({ task }) => task ?? [])).size).toBe(1);
  }, 60_000);
});

describe('a daemon that was killed with all its fronts', () => {
  it('is cleared away by whoever stops it', async () => {
    const stage = aStage();
    const front = stage.front('plain');
    const { client } = await host(stage, front);
    await client.close();
    await front.close();
    expect(await kill(stage.daemon!.pid)).toBe(true);
    expect(stage.hasSocket).toBe(true);
    expect(await stage.stopDaemon()).toBe(false);
    expect(stage.hasSocket).toBe(false);
    expect(stage.daemon).toBeUndefined();
  }, 60_000);
});

describe('a server that is killed', () => {
  it('without tasks has lost its call, which is told; the next call gets another process, after the backoff [P16]', async () => {
    const stage = aStage();
    const { server } = await host(stage, stage.front('plain'));
    const call = await server.callTool({ name: 'write', arguments: { token: 'a', ms: -1 } });
    const { pid } = await stage.noted('began', 'a');
    expect(await kill(pid)).toBe(true);
    const killedAt = performance.now();
    await expect(call.result()).rejects.toMatchObject({
      code: 'CALL_FAILED',
      message: expect.stringContaining('It may or may not have taken effect'),
    });
    stage.go('b');
    const next = await server.callTool({ name: 'write', arguments: { token: 'b', ms: -1 } });
    expect(words(await next.result())).toBe((await stage.noted('done', 'b')).value);
    expect(performance.now() - killedAt).toBeGreaterThan(250); // Half a second, and up to a half of that less.
    expect(stage.serverPids()).toHaveLength(2);
    expect(stage.count('began', 'a')).toBe(1);
  }, 60_000);

  it('is asked again where that is harmless', async () => {
    const stage = aStage();
    const { server } = await host(stage, stage.front('plain'));
    const call = await server.callTool({ name: 'read', arguments: { token: 'a', ms: -1 } });
    expect(await kill((await stage.noted('began', 'a')).pid)).toBe(true);
    stage.go('a');
    expect(words(await call.result())).toBe((await stage.noted('done', 'a')).value);
    expect(stage.count('began', 'a')).toBe(2);
  }, 60_000);

  it('with tasks goes on with them [P1]', async () => {
    const stage = aStage();
    const { server } = await host(stage, stage.front('durable'));
    const call = await server.callTool({ name: 'steps', arguments: { token: 'a', ms: -1 } });
    expect(await kill((await stage.noted('began', 'a')).pid)).toBe(true);
    stage.go('a');
    expect(words(await call.result())).toBe((await stage.noted('done', 'a')).value);
    expect(stage.count('done', 'a')).toBe(1);
  }, 60_000);
});

/** A call as hosts of 2025-11-25 make it. */
function v25Call(id: number, name: string, args: Json, more: Json = {}): Json {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more } };
}

/** A host that keeps one front, whatever becomes of it. */
function hostByLines(stage: Stage, server: ServerName, options: string[]) {
  const child = spawn(process.execPath, stage.frontArgs(server, options), { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  });
  return { child, peer: new LinePeer({ input: child.stdout, output: child.stdin }, validated()) };
}
