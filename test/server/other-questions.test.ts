import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { withTasks } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

const messages = [{ role: 'user', content: { type: 'text', text: 'Summarise' } }];
const said = { role: 'assistant', content: { type: 'text', text: 'short' }, model: 'm1' };
const folders = { roots: [{ uri: 'file:///work', name: 'work' }] };

function register(tasks: Tasks): void {
  tasks.registerTool('visit', {}, async (_args, task) =>
    text((await task.ask('pay', { message: 'Pay?', url: 'https://pay.example/1' })).action),
  );
  tasks.registerTool('sample', {}, async (_args, task) => {
    const answer = await task.sample('sum', { messages, maxTokens: 100 } as never);
    return text(answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action);
  });
  tasks.registerTool('roots', {}, async (_args, task) => {
    const answer = await task.roots();
    return text(answer.action === 'accept' ? answer.content.roots.map(({ uri }) => uri).join() : answer.action);
  });
}

const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const inputs = [
  {
    tool: 'visit',
    key: 'pay',
    asked: { method: 'elicitation/create', params: { mode: 'url', message: 'Pay?', url: 'https://pay.example/1' } },
    reply: { action: 'accept' },
    bad: { action: 'maybe' },
    result: 'accept',
  },
  {
    tool: 'sample',
    key: 'sum',
    asked: { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } },
    reply: said,
    bad: { role: 'nobody', content: said.content, model: 'm1' },
    result: JSON.stringify(said),
  },
  {
    tool: 'roots',
    key: 'roots',
    asked: { method: 'roots/list' },
    reply: folders,
    bad: { roots: [{ name: 'no uri' }] },
    result: 'file:///work',
  },
] as const;

describe('a page to visit', () => {
  it('is nothing to ask a client for whose version has no such question, whatever it declares', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served, { version: '2025-06-18', capabilities: all });
    const { others, result } = await peer.call('visit');
    expect(others).toEqual([]);
    expect(JSON.stringify(result)).toContain('https://pay.example/1');
  });
});

describe.each(inputs)('$asked.method of a task', ({ tool, key, asked, reply, bad, result }) => {
  it('is an input request on 2026-07-28, answered by tasks/update [G3-S-31]', async () => {
    const { peer, reaches } = serve(register);
    const capabilities = { ...withTasks, ...all };
    const { taskId } = await peer.start(tool, {}, { capabilities });
    const waiting = await reaches(taskId, 'input_required');
    expect(waiting['inputRequests']).toMatchObject({ [key]: asked });
    expect((await peer.update(taskId, { [key]: bad })).error.code).toBe(-32602);
    await peer.update(taskId, { [key]: reply });
    expect((await reaches(taskId, 'completed'))['result']).toMatchObject({ content: [{ text: result }] });
  });

  it('is a request on the stream of tasks/result on 2025-11-25', async () => {
    const served = serve(register);
    const peer = await LegacyPeer.connect(served, { capabilities: all });
    peer.onQuestion = () => ({ result: reply });
    const { taskId } = await peer.start(tool);
    const { result: got, others } = await peer.send('tasks/result', { taskId });
    expect(others).toMatchObject([asked]);
    expect(got).toMatchObject({ content: [{ text: result }] });
  });

  it('is asked by rounds of a caller of 2026-07-28 without tasks', async () => {
    const { peer } = serve(register);
    const { result: asking } = await peer.call(tool, {}, { capabilities: all });
    expect(asking).toMatchObject({ resultType: 'input_required', inputRequests: { [key]: asked } });
    const params = {
      name: tool,
      arguments: {},
      inputResponses: { [key]: reply },
      requestState: asking['requestState'],
    };
    const done = await peer.send('tools/call', params, { capabilities: all });
    expect(done.result).toMatchObject({ resultType: 'complete', content: [{ text: result }] });
  });

  it('is not asked of a client that declared nothing of the kind [G3-S-30]', async () => {
    const { peer, when } = serve(register);
    const { taskId } = await peer.start(tool, {}, { capabilities: { ...withTasks, elicitation: { form: {} } } });
    const task = await when(taskId, ({ status }) => status !== 'working');
    expect(task).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('cannot ask') } });
  });
});

it.each(['http://pay.example', 'file:///etc/passwd', 'javascript:alert(1)', 'no url'])(
  'a person is never sent to %s',
  async (url) => {
    const { peer, reaches } = serve((tasks) =>
      tasks.registerTool('visit', {}, async (_args, task) => text((await task.ask('q', { message: '?', url })).action)),
    );
    const { taskId } = await peer.start('visit', {}, { capabilities: { ...withTasks, ...all } });
    expect(await reaches(taskId, 'failed')).toMatchObject({ error: { message: expect.stringContaining('https:') } });
  },
);
