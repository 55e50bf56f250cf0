// Not recorded: by what its source and its users say, Copilot in VS Code asks for a task where a tool allows it, polls, and
// fetches the result; its chat waits meanwhile, without a limit.
import { describe, expect, it } from 'vitest';
import { LegacyPeer } from '../server/legacy-peer.ts';
import { serve } from '../server/peer.ts';
import { pass } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { registerFixtureTools, said } from './fixture.ts';

const capabilities = {
  roots: { listChanged: true },
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
};

async function vsCode() {
  const served = serve(registerFixtureTools);
  const peer = await LegacyPeer.connect(served, { capabilities, client: 'Visual Studio Code' });
  const tools = (await peer.send('tools/list')).result['tools'] as {
    name: string;
    execution: { taskSupport: string };
  }[];
  const call = async (name: string, args: Json = {}): Promise<Json> => {
    const { execution } = tools.find((tool) => tool.name === name)!;
    const _meta = { progressToken: `vscode-${name}` };
    if (execution.taskSupport === 'forbidden') return (await peer.call(name, args, { _meta })).result;
    let { taskId, status, pollInterval } = (await peer.start(name, args, { ttl: 3_600_000 }, { _meta })) as Json & {
      taskId: string;
    };
    while (status === 'working') {
      await pass(served.clock, pollInterval as number);
      ({ status, pollInterval } = (await peer.send('tasks/get', { taskId })).result);
    }
    return (await peer.send('tasks/result', { taskId })).result;
  };
  return { ...served, peer, tools, call };
}

describe('VS Code, which asks for tasks', () => {
  it('sees no tools for clients without', async () => {
    const { tools } = await vsCode();
    expect(tools.map(({ name }) => name).filter((name) => name.startsWith('task_'))).toEqual([]);
  });

  it('gets results, quick or slow, and is told of each step', async () => {
    const { call, clock } = await vsCode();
    expect(said(await call('greet', { name: 'Ada' }))).toBe('Hello, Ada!');
    const before = clock.now();
    expect(said(await call('slow_progress', { seconds: 1_200, every: 60 }))).toBe('progressed 1200s');
    expect(clock.now() - before).toBeLessThan(1_290_000);
  });

  it('is asked on the stream of tasks/result', async () => {
    const { call, peer } = await vsCode();
    peer.onQuestion = () => ({ result: { action: 'accept', content: { confirm: true } } });
    expect(said(await call('confirm_delete', { filename: 'x' }))).toBe(
      'confirm={"action":"accept","content":{"confirm":true}}',
    );
  });

  it('gets failures with their payload', async () => {
    const { call } = await vsCode();
    const payload = { isError: true, content: [{ text: 'job failed' }], structuredContent: { exitCode: 3 } };
    expect(await call('failing_optional')).toMatchObject(payload);
    expect(await call('failing_job')).toMatchObject({ isError: true, content: [{ text: 'job failed' }] });
  });

  it('cancels a task, and no other way', async () => {
    const { peer, clock } = await vsCode();
    const { taskId } = await peer.start('slow_compute', { seconds: 60 });
    await peer.notify('notifications/cancelled', { requestId: 99, reason: 'cancelled' });
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working' });
    expect((await peer.send('tasks/cancel', { taskId })).result).toMatchObject({ status: 'cancelled' });
    await pass(clock, 60_000);
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'cancelled' });
  });

  it('that calls plainly all the same waits for the end', async () => {
    const { peer, clock } = await vsCode();
    const reply = peer.call('slow_compute', { seconds: 120, label: 'a' });
    await pass(clock, 0);
    await pass(clock, 125_000);
    expect(said((await reply).result)).toBe('computed a in 120s');
  });
});
