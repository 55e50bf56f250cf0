import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpError, UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { LegacyPeer, type Question } from '../../server/legacy-peer.ts';
import { type Json, withTasks } from '../../support/messages.ts';
import { plainServer } from '../support.ts';
import { gatewayOf, upstream, upstreamOf } from './stage.ts';

const page = { mode: 'url', message: 'Please log in', url: 'https://example.test/login' } as const;
const withPages = { ...withTasks, elicitation: { form: {}, url: {} } };

/** A server by the SDK's first version that wants a page visited before its tool runs. */
function guarded(seen: { calls: number }): McpServer {
  const server = new McpServer({ name: 'guarded', version: '1' });
  server.registerTool('private', {}, async (_extra) => {
    seen.calls += 1;
    if (seen.calls === 1) throw new UrlElicitationRequiredError([{ ...page, elicitationId: 'e1' }]);
    await server.server.notification({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e1' } });
    return { content: [{ type: 'text', text: 'come in' }] };
  });
  server.registerTool('missing', {}, async () => {
    throw new McpError(-32002, 'no such thing');
  });
  return server;
}

describe('a page that has to be visited before a call', () => {
  const stage = async (mode: 'task' | 'direct') => {
    const seen = { calls: 0 };
    const { target } = await plainServer(() => guarded(seen));
    return { seen, standing: await gatewayOf({ upstreams: [upstream(target, { policy: { mode } })] }) };
  };

  it('is a question of the task, and then the call is made again [GW-17] [GW-18]', async () => {
    const { seen, standing } = await stage('task');
    const { peer, reaches } = standing;
    const sending = { capabilities: withPages };
    const { taskId } = await peer.start('private', {}, sending);
    const { inputRequests } = await reaches(taskId, 'input_required');
    const [[key, asked] = ['', {}]] = Object.entries(inputRequests as Json);
    expect(asked).toEqual({
      method: 'elicitation/create',
      params: { mode: 'url', message: 'up: private asks: Please log in', url: page.url },
    });
    await peer.update(taskId, { [key]: { action: 'accept' } }, sending);
    expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'come in' }] } });
    expect(seen.calls).toBe(2);
  });

  it('is refused, and the error is one that 2026-07-28 has [GW-17]', async () => {
    const { seen, standing } = await stage('task');
    const { peer, reaches } = standing;
    const sending = { capabilities: withPages };
    const { taskId } = await peer.start('private', {}, sending);
    const { inputRequests } = await reaches(taskId, 'input_required');
    await peer.update(taskId, { [Object.keys(inputRequests as Json)[0] as string]: { action: 'decline' } }, sending);
    expect(await reaches(taskId, 'failed')).toMatchObject({ error: { code: -32603 } });
    expect(seen.calls).toBe(1);
    const session = await LegacyPeer.connect(standing);
    expect((await session.send('tasks/result', { taskId })).error.code).toBe(-32042);
  });

  it('is asked for by the answer of a call that is passed through, or told as it is [GW-17] [GW-18]', async () => {
    const { standing } = await stage('direct');
    const session = await LegacyPeer.connect(standing, { capabilities: { elicitation: { url: {} } } });
    expect((await session.call('private')).error).toMatchObject({ code: -32042 });
    const answer = await session.call('private');
    expect(answer.result).toMatchObject({ content: [{ text: 'come in' }] });
    expect(answer.others).toEqual([]);
    const { standing: other } = await stage('direct');
    const { result } = await other.peer.call('private', {}, { capabilities: withPages });
    // Who can only be asked by an answer is asked by a task, where its upstream asks by requests.
    expect(await other.reaches(String(result['taskId']), 'input_required')).toMatchObject({
      inputRequests: { page: { params: { url: page.url } } },
    });
  });

  it('and other codes of earlier revisions never reach 2026-07-28 [GW-17]', async () => {
    for (const mode of ['task', 'direct'] as const) {
      const { standing } = await stage(mode);
      const { result, error } = await standing.peer.call('missing');
      const text = JSON.stringify(
        error ??
          (await standing
            .when(String(result['taskId'] ?? ''), (task) => task['status'] !== 'working')
            .catch(() => result)),
      );
      expect(text).not.toMatch(/"code":-320(02|03|42)/);
    }
  });
});

it('gives a page an id towards 2025-11-25, and none towards 2026-07-28 [GW-18]', async () => {
  const { target } = await upstreamOf('2026-07-28', (tasks) => {
    tasks.registerTool('visit', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      return text((await task.ask('page', { message: page.message, url: page.url })).action);
    });
  });
  const standing = await gatewayOf({ upstreams: [upstream(target)] });
  const session = await LegacyPeer.connect(standing, { capabilities: { elicitation: { url: {} } } });
  const questions: Question[] = [];
  session.onQuestion = (question) => {
    questions.push(question);
    return { result: { action: 'accept' } };
  };
  const { taskId } = await session.start('visit');
  expect((await session.send('tasks/result', { taskId })).result).toMatchObject({ content: [{ text: 'accept' }] });
  expect(questions[0]?.params).toMatchObject({ mode: 'url', elicitationId: expect.any(String) });
  const { taskId: other } = await standing.peer.start('visit', {}, { capabilities: withPages });
  const { inputRequests } = await standing.reaches(other, 'input_required');
  const [asked] = Object.values(inputRequests as Json) as Json[];
  expect(asked?.['params']).not.toHaveProperty('elicitationId');
});

function structured(tasks: Tasks): void {
  for (const [name, value] of Object.entries({ list: [1, 2], word: 'x', number: 7, nothing: null })) {
    tasks.registerTool(name, { outputSchema: z.any() }, () => ({ content: [], structuredContent: value }) as never);
  }
}

it.each(['task', 'direct'] as const)(
  'gives 2025-11-25 structured content only where it is an object: %s [GW-19] [GW-14]',
  async (mode) => {
    const { target } = await upstreamOf('2026-07-28', structured);
    const standing = await gatewayOf({ upstreams: [upstream(target, { policy: { mode } })] });
    const session = await LegacyPeer.connect(standing);
    const schemas = ({ tools }: Json) => (tools as Json[]).slice(0, 4).map(({ outputSchema }) => outputSchema);
    expect(schemas((await session.send('tools/list')).result)).toEqual(Array(4).fill(undefined));
    for (const schema of schemas((await standing.peer.send('tools/list', {})).result)) expect(schema).toBeDefined();
    for (const [name, value] of Object.entries({ list: [1, 2], word: 'x', number: 7, nothing: null })) {
      const plain = (await session.call(name)).result;
      // Nothing but an object is legal there: the value stands in one, and nothing else is promised.
      expect(plain['structuredContent']).toEqual({ result: value });
      expect(plain).not.toHaveProperty('resultType');
      expect((plain['content'] as Json[]).map((block) => block['text'])).toContain(JSON.stringify(value));
      const { result } = await standing.peer.call(name);
      const whole =
        mode === 'direct' ? result : (await standing.reaches(String(result['taskId']), 'completed'))['result'];
      expect(whole).toMatchObject({ structuredContent: value, resultType: 'complete' });
    }
  },
);
