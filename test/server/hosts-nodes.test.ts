import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { pass, settle } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

const plain = { capabilities: {} };

function tools(ran: string[]) {
  return (tasks: Tasks): void => {
    tasks.registerTool('slow', { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
      ran.push(name);
      await task.sleep(30_000);
      return text(`done for ${name}`);
    });
    tasks.registerTool('asks', { inputSchema: z.object({ name: z.string() }) }, async ({ name }, task) => {
      const answer = await task.ask('go', { message: 'Go on?', schema: z.object({ ok: z.boolean() }) });
      return text(`${answer.action} by ${name}`);
    });
  };
}

/** Two servers on one file, as behind a balancer that knows nothing of sessions. */
function twoNodes() {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const clock = new ManualClock();
  const ran: string[] = [];
  const node = () => serve(tools(ran), { tasks: { store: sqliteStore(join(folder.path, 'tasks.db')), clock } });
  return { nodes: [node(), node()] as [Served, Served], clock, ran };
}

describe('two nodes without affinity', () => {
  it('serve every request of every client, whichever of them gets it [C-086]', async () => {
    const { nodes, clock } = twoNodes();
    let turn = 0;
    const next = (): Served => nodes[turn++ % 2]!;
    const client = async (name: string): Promise<void> => {
      const first = await LegacyPeer.connect(next(), { capabilities: { elicitation: {}, tasks: {} } });
      const at = () => first.on(next());
      const { taskId } = await at().start('asks', { name });
      await pass(clock, 1_000);
      const asked = await at().send('tasks/get', { taskId });
      expect(asked.result).toMatchObject({ status: 'input_required' });
      const asking = at();
      asking.onQuestion = ({ id }) => {
        void at().answer(id, { result: { action: 'accept', content: { ok: true } } });
        return undefined;
      };
      const done = await answered(clock, asking.send('tasks/result', { taskId }));
      expect(said(done.answer.result)).toBe(`accept by ${name}`);
      const { taskId: slow } = await at().start('slow', { name });
      expect((await at().send('tasks/cancel', { taskId: slow })).result).toMatchObject({ status: 'cancelled' });
      expect((await at().send('tasks/get', { taskId: slow })).result).toMatchObject({ status: 'cancelled' });
    };
    for (let n = 0; n < 10; n += 1) await client(`client ${n}`);
  });

  it('follow up each other’s calls, and know each other’s questions', async () => {
    const { nodes, clock } = twoNodes();
    const [one, two] = nodes;
    const { answer } = await answered(clock, one.peer.call('slow', { name: 'ada' }, plain));
    const { taskId } = answer.result['structuredContent'] as { taskId: string };
    const waited = await answered(clock, two.peer.call('task_wait', { taskId }, plain));
    expect(said(waited.answer.result)).toBe('done for ada');
    const elicitation = { capabilities: { elicitation: {} } };
    const { result } = await one.peer.call('asks', { name: 'ada' }, elicitation);
    const again = { name: 'asks', arguments: { name: 'ada' }, requestState: result['requestState'] };
    const inputResponses = { go: { action: 'accept', content: { ok: true } } };
    const round = two.peer.send('tools/call', { ...again, inputResponses }, elicitation);
    expect(said((await answered(clock, round)).answer.result)).toBe('accept by ada');
  });
});

describe('a stream that breaks', () => {
  it('twice before anything came on it costs nothing: the third call has the result of the first [C-087]', async () => {
    const { nodes, clock, ran } = twoNodes();
    const [one, two] = nodes;
    const legacy = await LegacyPeer.connect(one);
    for (const node of [one, two]) {
      const request = new AbortController();
      const call = { name: 'slow', arguments: { name: 'ada' } };
      const cut = legacy.on(node).stream('tools/call', call, { signal: request.signal });
      cut.catch(() => {});
      await settle();
      await pass(clock, 1_000);
      request.abort();
      await settle();
    }
    const last = legacy.on(two).call('slow', { name: 'ada' });
    expect(said((await answered(clock, last)).answer.result)).toContain('still running');
    const again = legacy.on(one).call('slow', { name: 'ada' });
    expect(said((await answered(clock, again)).answer.result)).toBe('done for ada');
    const { tasks } = await one.tasks.engine.list(LOCAL_PRINCIPAL, { limit: 5 });
    expect({ tasks: tasks.length, ran: new Set(ran).size }).toEqual({ tasks: 1, ran: 1 });
  });
});
