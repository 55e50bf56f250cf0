import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Call, type OnQuestion, openTaskClient } from '../../src/client/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { type Served, serve } from '../server/peer.ts';

import { journalFile, pass } from './support.ts';

function tools(tasks: Tasks): void {
  tasks.registerTool('deploy', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    for (let round = 1; ; round += 1) {
      const answer = await task.ask(`sure ${round}`, { message: 'Sure?', schema: z.object({ sure: z.boolean() }) });
      if (answer.action === 'accept' && answer.content.sure) return text(`deployed in round ${round}`);
      if (answer.action !== 'accept') return text(answer.action);
    }
  });
}

async function host(served: Served, protocol: string, journal = ':memory:', onQuestion?: OnQuestion) {
  const client = await openTaskClient({ journal, clock: served.clock });
  onTestFinished(() => client.close());
  const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => {
    return served.validator.wrapFetch((request: Request) => served.server.fetch(request))(new Request(url, init));
  };
  const where = { url: 'http://127.0.0.1/mcp', http: { fetch: fetch as never }, protocol };
  const server = await client.connect('ci', { ...where, ...(onQuestion && { onQuestion }) });
  return { client, server };
}

/** The key of the question that the call asks, once it does. */
async function asked(call: Call, served: Served): Promise<string> {
  for (let round = 0; round < 200; round += 1) {
    const [key] = Object.keys((await call.refresh()).questions ?? {});
    if (key !== undefined) return key;
    await pass(served.clock, 500);
  }
  throw new Error(`asks nothing: ${JSON.stringify(call.state)}`);
}

async function resultOf(call: Call, served: Served): Promise<unknown> {
  for (let round = 0; round < 200; round += 1) {
    if ((await call.refresh()).end !== undefined) return call.result();
    await pass(served.clock, 500);
  }
  throw new Error(`goes on: ${JSON.stringify(call.state)}`);
}

const said = (words: string) => ({ content: [{ type: 'text', text: words }] });
const yes = (sure: boolean) => ({ action: 'accept', content: { sure } }) as const;

describe.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
  'a question that no handler is there for, in %s',
  (protocol) => {
    it('stands in its call until it is answered there', async () => {
      const served = serve(tools);
      const { server } = await host(served, protocol);
      const call = await server.callTool({ name: 'deploy' });
      const key = await asked(call, served);
      expect(call.state.questions?.[key]).toMatchObject({ kind: 'form', message: 'Sure?' });
      await expect(call.answer(key, { action: 'accept', content: { sure: 'maybe' } })).rejects.toThrow(
        /does not fit: .*sure/,
      );
      expect(await call.answer('no such key', yes(true))).toBe(true); // To nothing that is asked: it changes nothing.
      expect(await call.answer(key, yes(true))).toBe(true);
      expect(await resultOf(call, served)).toMatchObject(said('deployed in round 1'));
    });

    it('is asked again where the task asks again in the same words', async () => {
      const served = serve(tools);
      const { server } = await host(served, protocol);
      const call = await server.callTool({ name: 'deploy' });
      await call.answer(await asked(call, served), yes(false));
      // While the first answer is on its way, the question that it is for has one.
      while (!(await call.answer(await asked(call, served), yes(true)))) await pass(served.clock, 100);
      expect(await resultOf(call, served)).toMatchObject(said('deployed in round 2'));
    });
  },
);

describe.each(['2026-07-28', '2025-11-25'])('a question that waits, in %s', (protocol) => {
  it('waits on when its client is closed, and the next one answers it', async () => {
    const served = serve(tools);
    const journal = journalFile();
    const first = await host(served, protocol, journal);
    const call = await first.server.callTool({ name: 'deploy' });
    await asked(call, served);
    await first.client.close();
    const second = await host(served, protocol, journal);
    const again = await second.client.call(call.id);
    await again.answer(await asked(again, served), yes(true));
    expect(await resultOf(again, served)).toMatchObject(said('deployed in round 1'));
  });

  it('goes to the handler where there is one, and says which call asks [G3-C-12] [G3-C-13]', async () => {
    const served = serve(tools);
    const calls: unknown[] = [];
    const { server } = await host(served, protocol, ':memory:', async ({ call }) => {
      calls.push(call);
      return yes(true);
    });
    const call = await server.callTool({ name: 'deploy' });
    expect(await resultOf(call, served)).toMatchObject(said('deployed in round 1'));
    expect(calls).toEqual([{ id: call.id, server: 'ci', tool: 'deploy' }]);
  });
});
