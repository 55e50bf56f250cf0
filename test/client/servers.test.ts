import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Call, openTaskClient, type TaskClient } from '../../src/client/index.ts';
import { createTasks, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { type Served, serve } from '../server/peer.ts';
import { silent } from '../support/stores.ts';
import { journalFile, pass } from './support.ts';

let paid = 0;

function tools(tasks: Tasks): void {
  tasks.registerTool('pay', { inputSchema: z.object({ amount: z.number() }) }, async ({ amount }, task) => {
    paid += 1;
    task.progress(1, 2, 'halfway');
    await task.sleep(3_000);
    return text(`${amount} paid`);
  });
  tasks.registerTool('break', {}, async () => {
    throw Object.assign(new Error('no such column'), { code: -32_050, data: { column: 'x' } });
  });
  tasks.registerTool('wait', {}, async (_args, task) => {
    await task.sleep(3_600_000);
    return text('waited');
  });
}

/** What the way to the server does with a request; undefined: nothing. */
type Mishap = (body: string) => Promise<void> | void;

async function host(
  served: Served,
  protocol: string,
  { journal = ':memory:', before, afterwards }: { journal?: string; before?: Mishap; afterwards?: Mishap } = {},
): Promise<{ client: TaskClient; ours: Awaited<ReturnType<TaskClient['connect']>> }> {
  const checked = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    await before?.(String(init?.body ?? ''));
    const response = await checked(new Request(url, init));
    await afterwards?.(String(init?.body ?? ''));
    return response;
  };
  const client = await openTaskClient({ journal, clock: served.clock });
  onTestFinished(() => client.close());
  const ours = await client.connect('ours', { url: 'http://127.0.0.1/mcp', http: { fetch: fetch as never }, protocol });
  return { client, ours };
}

/** Lets time go by until the call has ended. */
async function over(call: Call, served: Served): Promise<void> {
  for (let round = 0; round < 2_000; round += 1) {
    if ((await call.refresh()).phase === 'ended') return;
    await pass(served.clock, 100);
  }
  throw new Error(`still ${JSON.stringify(call.state)}`);
}

describe.each(['2026-07-28', '2025-11-25'])('a client on a server of ours, in %s', (protocol) => {
  it('follows a call to its result', async () => {
    const served = serve(tools);
    const { ours } = await host(served, protocol);
    const call = await ours.callTool({ name: 'pay', arguments: { amount: 5 } });
    await over(call, served);
    expect(await call.result()).toMatchObject({ content: [{ type: 'text', text: '5 paid' }] });
  });

  it('throws the error of a failed call with code and data', async () => {
    const served = serve(tools);
    const { ours } = await host(served, protocol);
    const call = await ours.callTool({ name: 'break' });
    await over(call, served);
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_FAILED', rpcCode: -32_050, data: { column: 'x' } });
  });

  it('refuses what the server refuses', async () => {
    const served = serve(tools);
    const { ours } = await host(served, protocol);
    const call = await ours.callTool({ name: 'no such tool' });
    await over(call, served);
    expect(call.state.end).toMatchObject({ kind: 'refused', error: { code: -32_602 } });
  });

  it('cancels', async () => {
    const served = serve(tools);
    const { ours } = await host(served, protocol);
    const call = await ours.callTool({ name: 'wait' });
    await pass(served.clock, 2_000);
    await call.cancel();
    await over(call, served);
    await expect(call.result()).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  });

  it('goes on after a restart, from the journal alone [C-039] [G3-C-07]', async () => {
    const served = serve(tools);
    const journal = journalFile();
    const before = paid;
    const first = await host(served, protocol, { journal });
    const { id } = await first.ours.callTool({ name: 'pay', arguments: { amount: 7 } });
    await pass(served.clock, 1_000);
    await first.client.close();
    await pass(served.clock, 10_000); // It ends meanwhile.
    const second = await host(served, protocol, { journal });
    const call = await second.client.call(id);
    await over(call, served);
    expect(await call.result()).toMatchObject({ content: [{ text: '7 paid' }] });
    expect(paid - before).toBe(1);
  });

  it.each(['inline', 'own_tool'])(
    'never runs a tool twice that leaves no task behind, and says that it does not know: %s [C-096]',
    async (name) => {
      const runs: string[] = [];
      const own = createTasks({ store: sqliteStore(':memory:'), logger: silent, drainMs: 0, stopGraceMs: 0 });
      own.registerTool('inline', { task: { support: 'forbidden' } }, () => {
        runs.push('inline');
        return text('ran');
      });
      const handler = createTaskHandler(own, () => {
        const mcp = new McpServer({ name: 'host', version: '1' });
        mcp.registerTool('own_tool', {}, () => {
          runs.push('own_tool');
          return { content: [] };
        });
        return mcp;
      });
      onTestFinished(() => handler.close());
      const clock = new ManualClock();
      let lost = 0;
      const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
        const response = await handler.fetch(new Request(url, init));
        if (!String(init?.body ?? '').includes('"tools/call"') || lost === 1) return response;
        lost += 1;
        await response.text();
        throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'UND_ERR_SOCKET' }) });
      };
      const client = await openTaskClient({ journal: ':memory:', clock });
      onTestFinished(() => client.close());
      const server = await client.connect('s', { url: 'http://127.0.0.1/mcp', http: { fetch }, protocol });
      const call = await server.callTool({ name });
      for (let round = 0; round < 200 && (await call.refresh()).phase !== 'ended'; round += 1) await pass(clock, 100);
      expect(call.state.end).toMatchObject({ kind: 'unknown', message: expect.stringContaining('not run again') });
      expect(runs).toEqual([name]);
      // A repeat that is a first call for all anybody knows is refused too; a new call is not.
      expect((await server.callTool({ name }).then((again) => again.result())).content).toBeDefined();
    },
  );

  it('runs a tool once though its answer was lost and its task is gone by the time it is asked for again [C-096]', async () => {
    let runs = 0;
    const served = serve((tasks) => {
      tasks.registerTool('pay', { task: { ttlMs: 3_600_000, keepResultMs: 60_000 } }, () => {
        runs += 1;
        return text('paid');
      });
    });
    let lost = false;
    let down = false;
    const { ours } = await host(served, protocol, {
      afterwards: (body) => {
        if (lost || !body.includes('"tools/call"')) return;
        lost = true;
        down = true; // From the lost answer on, for two hours.
        throw new TypeError('fetch failed', {
          cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
        });
      },
      before: () => {
        if (down) throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
      },
    });
    const call = await ours.callTool({ name: 'pay' });
    await pass(served.clock, 7_200_000, 60_000);
    expect((await served.tasks.inspect.list({})).tasks).toEqual([]);
    down = false;
    await over(call, served);
    expect(call.state.end).toMatchObject({ kind: 'unknown' });
    expect(runs).toBe(1);
  });

  it('runs a tool once though the answer to its start was lost on the way [C-096] [C-099]', async () => {
    const served = serve(tools);
    const before = paid;
    let lost = 0;
    const { ours } = await host(served, protocol, {
      afterwards: (body) => {
        if (!body.includes('"tools/call"') || lost === 2) return;
        lost += 1;
        throw new TypeError('fetch failed', {
          cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
        });
      },
    });
    expect(ours.repeatable).toBe(true);
    const call = await ours.callTool({ name: 'pay', arguments: { amount: 9 } });
    await over(call, served);
    expect(lost).toBe(2);
    expect(await call.result()).toMatchObject({ content: [{ text: '9 paid' }] });
    expect(paid - before).toBe(1);
  });
});
