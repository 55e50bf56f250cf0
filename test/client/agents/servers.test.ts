import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type AgentTools, asAgentTools, type OnQuestion, openTaskClient } from '../../../src/client/index.ts';
import { text } from '../../../src/engine/index.ts';
import { type Served, serve } from '../../server/peer.ts';
import { journalFile, pass } from '../support.ts';
import { execute } from './support.ts';

let deployed = 0;

function server(): Served {
  return serve((tasks) => {
    tasks.registerTool('look', { description: 'Looks' }, () => text('seen'));
    tasks.registerTool('deploy', { inputSchema: z.object({ version: z.string() }) }, async ({ version }, task) => {
      await task.sleep(30_000);
      const { action } = await task.ask('approve', { message: `Deploy ${version}?`, schema: z.object({}) });
      deployed += 1;
      return text(`${version}: ${action}`);
    });
  });
}

async function host(
  served: Served,
  { protocol, journal, onQuestion }: { protocol: string; journal: string; onQuestion: OnQuestion },
) {
  const sent: string[] = [];
  const checked = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    sent.push(String(init?.body ?? ''));
    return checked(new Request(url, init));
  };
  const client = await openTaskClient({ journal, clock: served.clock });
  onTestFinished(() => client.close());
  const http = { fetch: fetch as never };
  await client.connect('prod', { url: 'http://127.0.0.1/mcp', http, protocol, onQuestion });
  return { client, sent, agent: await asAgentTools(client, { agent: 'ops' }) };
}

/** Lets time go by until there is something to tell. */
async function told(agent: AgentTools, served: Served) {
  for (let round = 0; round < 1_000; round += 1) {
    const notices = await agent.ready();
    if (notices.length > 0) return notices;
    await pass(served.clock, 1_000, 500);
  }
  throw new Error('nothing came');
}

describe.each(['2026-07-28', '2025-11-25'])('an agent on a server of ours, in %s', (protocol) => {
  it('answers in place or later, across a restart, and a person answers what is asked [C-111] [C-039]', async () => {
    const served = server();
    const journal = journalFile();
    const before = deployed;
    const asked: unknown[] = [];
    const onQuestion: OnQuestion = async ({ question, call }) => {
      asked.push([question.kind === 'form' && question.message, call?.tool, call?.note]);
      return { action: 'accept', content: {} };
    };
    const options = { protocol, journal, onQuestion };
    const first = await host(served, options);
    expect(first.agent.tools.map(({ name }) => name)).toEqual([
      'look',
      'deploy',
      'background_list',
      'background_cancel',
    ]);
    const quick = execute(first.agent, 'look');
    await pass(served.clock, 3_000);
    expect(await quick).toMatchObject({ text: 'seen', background: false });
    const slow = execute(first.agent, 'deploy', { version: '1.4.0', _meta: { traceparent: 'made up' } });
    await pass(served.clock, 12_000);
    expect((await slow).text).toMatch(/^NOT finished: "deploy #1"/);
    await first.client.close();

    const second = await host(served, options);
    const [notice, ...others] = await told(second.agent, served);
    expect(others).toEqual([]);
    expect(notice?.text).toContain('1.4.0: accept');
    await notice?.acknowledge();
    expect(await second.agent.wait()).toEqual([]);
    const note = { agentTools: expect.objectContaining({ agent: 'ops', label: 'deploy #1' }) };
    expect(asked).toEqual([['Deploy 1.4.0?', 'deploy', note]]);
    expect(deployed - before).toBe(1);
    const calls = [...first.sent, ...second.sent].filter((body) => body.includes('"tools/call"'));
    for (const body of calls) expect(JSON.parse(body).params._meta.traceparent).toBeUndefined();
  });
});

describe('an agent on a server that tells tasks by tools, in 2025-06-18', () => {
  it('sees none of these tools and no id, and gets its result like any other [C-112] [C-114]', async () => {
    const served = serve((tasks) => {
      tasks.registerTool('build', { description: 'Builds' }, async (_args, task) => {
        await task.sleep(120_000);
        return text('built');
      });
    });
    const journal = journalFile();
    const { agent } = await host(served, {
      protocol: '2025-06-18',
      journal,
      onQuestion: async () => ({ action: 'cancel' }),
    });
    expect(agent.tools.map(({ name, description }) => [name, description]).slice(0, 1)).toEqual([['build', 'Builds']]);
    expect(agent.tools.filter(({ name }) => name.startsWith('task_'))).toEqual([]);
    const reply = execute(agent, 'build');
    await pass(served.clock, 60_000, 1_000);
    const { text: said, background } = await reply;
    expect([background, /tsk_|taskId|task_/.test(said)]).toEqual([true, false]);
    const [notice] = await told(agent, served);
    expect(notice?.text).toContain('\nbuilt\n');
  });
});
