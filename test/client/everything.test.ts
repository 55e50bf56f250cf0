import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConnectTarget, openTaskClient, type TaskClient } from '../../src/client/index.ts';
import { freePort } from '../support/free-port.ts';
import { journalFile } from './support.ts';

// The reference server of the MCP project, as npm has it, in a process of its own. Its tasks are those of 2025-11-25, kept in
// memory for each session, and take four seconds.

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const INTERPRETATION = 'snake';

interface Running {
  child: ChildProcess;
  kill(): Promise<void>;
}

async function overHttp(port: number): Promise<Running> {
  const child = spawn(process.execPath, [program, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  };
  onTestFinished(kill);
  child.stdout.resume();
  for await (const line of createInterface({ input: child.stderr })) if (line.includes('listening')) break;
  child.stderr.resume();
  return { child, kill };
}

type Connected = Awaited<ReturnType<TaskClient['connect']>>;

async function host(
  target: { url: string } | { command: string; args: string[] },
  journal = ':memory:',
): Promise<{ client: TaskClient; server: Connected; asked: string[] }> {
  const asked: string[] = [];
  const client = await openTaskClient({ journal });
  onTestFinished(() => client.close());
  const onQuestion: ConnectTarget['onQuestion'] = async ({ question }) => {
    asked.push(question.kind === 'form' ? question.message : question.kind);
    return { action: 'accept', content: { interpretation: INTERPRETATION } };
  };
  const server = await client.connect('everything', { ...target, onQuestion });
  return { client, server, asked };
}

const textOf = (result: object): string => JSON.stringify((result as { content: unknown }).content);

describe("the reference server's whole range", { timeout: 60_000 }, () => {
  const places = {
    stdio: async () => ({ command: process.execPath, args: [program, 'stdio'], stderr: 'ignore' as const }),
    http: async () => {
      const port = await freePort();
      await overHttp(port);
      return { url: `http://127.0.0.1:${port}/mcp` };
    },
  };

  it.each(Object.entries(places))(
    'over %s: results, failures, progress, tasks, questions and cancels [C-001] [C-075] [C-077]',
    async (_transport, place) => {
      const { client, server, asked } = await host(await place());
      expect([server.revision, server.repeatable]).toEqual(['2025-11-25', false]);
      const call = (name: string, args: Record<string, string | number | boolean>) =>
        server.callTool({ name, arguments: args });

      expect(textOf(await (await call('echo', { message: 'hello' })).result())).toContain('Echo: hello');
      expect(await (await call('get-sum', { a: 'one' })).result()).toMatchObject({ isError: true });

      const long = await call('trigger-long-running-operation', { duration: 0.6, steps: 2 });
      const heard = new Set<number>();
      for await (const { progress } of long.updates()) if (progress !== undefined) heard.add(progress.progress);
      expect(textOf(await long.result())).toContain('completed');
      expect(heard).toContain(1);

      // All at one time: each takes four seconds.
      const plain = await call('simulate-research-query', { topic: 'tasks' });
      const unclear = await call('simulate-research-query', { topic: 'python', ambiguous: true });
      const unwanted = await call('simulate-research-query', { topic: 'nothing' });
      const statuses = new Set<string | undefined>();
      for await (const { phase, statusMessage } of plain.updates()) {
        statuses.add(statusMessage);
        if (phase === 'following') await unwanted.cancel();
      }
      expect(statuses.size).toBeGreaterThan(1);
      await expect(unwanted.result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      expect(textOf(await plain.result())).toContain('Research Report: tasks');
      expect(await plain.result()).toEqual(await plain.result());
      expect(textOf(await unclear.result())).toContain(INTERPRETATION);
      expect(asked).toEqual([expect.stringContaining('python')]);

      const ended: string[] = [];
      for await (const { tool, end, acknowledge } of client.inbox()) {
        ended.push(`${tool} ${end.kind}`);
        await acknowledge();
        if (ended.length === 6) break;
      }
      expect(ended.filter((line) => line.endsWith('completed'))).toHaveLength(5);
    },
  );

  it('says lost of a task that it forgot with its session, and goes on with new calls [C-040] [C-088]', async () => {
    const port = await freePort();
    const first = await overHttp(port);
    const target = { url: `http://127.0.0.1:${port}/mcp` };
    const { server } = await host(target);
    const call = await server.callTool({ name: 'simulate-research-query', arguments: { topic: 'tasks' } });
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    await first.kill();
    await overHttp(port);
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_LOST' });
    const again = await server.callTool({ name: 'echo', arguments: { message: 'still here' } });
    expect(textOf(await again.result())).toContain('still here');
  });

  it('says lost after a restart of the host too, since its tasks are of one session only [C-039]', async () => {
    const port = await freePort();
    await overHttp(port);
    const target = { url: `http://127.0.0.1:${port}/mcp` };
    const journal = journalFile();
    const first = await host(target, journal);
    const { id } = await first.server.callTool({ name: 'simulate-research-query', arguments: { topic: 'tasks' } });
    for await (const { phase } of (await first.client.call(id)).updates()) if (phase === 'following') break;
    await first.client.close();
    const second = await host(target, journal);
    await expect((await second.client.call(id)).result()).rejects.toMatchObject({ code: 'CALL_LOST' });
  });
});
