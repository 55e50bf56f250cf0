import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, someTasks } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { answerOf, augmented, draftPeer, isCreated, RELATED, related } from './draft-peer.ts';
import { isAnswer, isQuestion, LegacyPeer, type Question } from './legacy-peer.ts';
import { serve } from './peer.ts';

// Prompts and resources that take their time: tasks for the first draft, and for all others worth the wait.

const said = (words: string) => ({
  messages: [{ role: 'user' as const, content: { type: 'text', text: words } }],
});

function aServer() {
  const gate = deferred();
  let runs = 0;
  const register = (tasks: Tasks): void => {
    tasks.registerTool('review', {}, () => text('a tool'));
    tasks.registerPrompt(
      'review',
      { description: 'Reviews', argsSchema: z.object({ lines: z.coerce.number().describe('how many') }) },
      async ({ lines }, task) => {
        runs += 1;
        task.progress(1, 2);
        await gate.promise;
        return said(`${lines + 1} lines`);
      },
    );
    tasks.registerPrompt('asks', {}, async (_args, task) => {
      const { action } = await task.ask('who', { message: 'Who?', schema: z.object({ name: z.string() }) });
      return said(action);
    });
    tasks.registerPrompt('now', { task: { support: 'forbidden' } }, () => said('now'));
    tasks.registerPrompt('breaks', {}, () => {
      throw Object.assign(new Error('no such style'), { code: -32050 });
    });
    tasks.registerPrompt('patient', { task: { fallback: { maxBlockMs: 1_000 } } }, async () => {
      await gate.promise;
      return said('at last');
    });
    tasks.registerResource('report', 'report://{year}', { mimeType: 'text/plain' }, async ({ uri, variables }) => {
      await gate.promise;
      return { contents: [{ uri, mimeType: 'text/plain', text: `of ${variables['year']}` }] };
    });
    tasks.registerResource('latest', 'report://latest', {}, ({ uri }) => ({ contents: [{ uri, text: 'latest' }] }));
  };
  const served = serve(register, { server: { firstDraft: true } });
  return { served, gate, runs: () => runs };
}

describe('a prompt', () => {
  it('is a task of the first draft, whose result is a prompt [G1-S-02] [G1-S-05] [G1-S-25]', async () => {
    const { served, gate } = aServer();
    const peer = await draftPeer(served);
    expect(peer.hello['capabilities']).toMatchObject({
      tasks: { tools: { call: true }, prompts: { get: true }, resources: { read: true } },
    });
    const params = { name: 'review', arguments: { lines: '7' }, ...augmented('cli-1') };
    const stream = await peer.follow('prompts/get', params);
    await stream.first(isCreated);
    expect((await peer.send('tasks/get', { taskId: 'cli-1' })).result).toMatchObject({ status: 'working' });
    gate.resolve();
    const result = { ...said('8 lines'), _meta: related('cli-1') };
    expect((await answerOf(stream))['result']).toEqual(result);
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).result).toEqual(result);
    const later = await LegacyPeer.connect(served);
    const [task] = (await later.send('tasks/list')).result['tasks'] as [{ taskId: string }];
    expect((await later.send('tasks/result', { taskId: task.taskId })).result).toEqual({
      ...said('8 lines'),
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } },
    });
    expect((await served.peer.get(task.taskId)).result).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', ...said('8 lines') },
    });
  });

  it('is waited for by all others, and once for all who ask alike', async () => {
    const { served, gate, runs } = aServer();
    const peer = await LegacyPeer.connect(served);
    const params = { name: 'review', arguments: { lines: '1' } };
    const both = [
      peer.send('prompts/get', { ...params, task: {} }),
      peer.send('prompts/get', params),
      served.peer.send('prompts/get', params),
    ];
    while ((await served.tasks.inspect.counts()).total === 0) await Promise.resolve();
    gate.resolve();
    for (const { result } of await Promise.all(both)) expect(result).toMatchObject(said('2 lines'));
    expect(runs()).toBe(1);
    expect((await served.tasks.inspect.counts()).total).toBe(1);
  });

  it('asks on the stream of its request, or by an answer that asks', async () => {
    const { served } = aServer();
    const peer = await LegacyPeer.connect(served, { capabilities: { elicitation: {} } });
    peer.onQuestion = () => ({ result: { action: 'accept', content: { name: 'Ada' } } });
    const { result, others } = await peer.send('prompts/get', { name: 'asks' });
    expect(others.filter(isQuestion)).toHaveLength(1);
    expect(result).toMatchObject(said('accept'));
    const capabilities = { elicitation: {} };
    const first = (await served.peer.send('prompts/get', { name: 'asks' }, { capabilities })).result;
    expect(first).toMatchObject({ resultType: 'input_required' });
    const [key] = Object.keys(first['inputRequests'] as Json);
    const again = {
      name: 'asks',
      inputResponses: { [key!]: { action: 'decline' } },
      requestState: first['requestState'],
    };
    expect((await served.peer.send('prompts/get', again, { capabilities })).result).toMatchObject(said('decline'));
    const other = await served.peer.send('prompts/get', { ...again, name: 'breaks' }, { capabilities });
    expect(other.error).toMatchObject({ code: -32602, message: expect.stringContaining('requestState') });
  });

  it('asks in the words of the first draft where it is a task of that', async () => {
    const { served } = aServer();
    const peer = await draftPeer(served, { capabilities: { elicitation: {} } });
    const stream = await peer.follow('prompts/get', { name: 'asks', ...augmented('cli-1') });
    const question = (await stream.first(isQuestion)) as Question;
    expect(question.params['_meta']).toEqual({ [RELATED]: { taskId: 'cli-1' } });
    await peer.answer(question.id, { result: { action: 'decline' } });
    expect((await answerOf(stream))['result']).toMatchObject(said('decline'));
  });

  it('is answered within its request where it is no task', async () => {
    const { served } = aServer();
    const peer = await draftPeer(served);
    const { result, others } = await peer.send('prompts/get', { name: 'now', ...augmented('cli-1') });
    expect([result, others]).toEqual([said('now'), []]);
    expect((await served.tasks.inspect.counts()).total).toBe(0);
  });

  it('fails with the error of its author, and with the argument that does not fit', async () => {
    const { served } = aServer();
    const peer = await LegacyPeer.connect(served);
    expect((await peer.send('prompts/get', { name: 'breaks' })).error).toEqual({
      code: -32050,
      message: 'no such style',
    });
    expect((await served.peer.send('prompts/get', { name: 'breaks' })).error).toMatchObject({ code: -32050 });
    const { error } = await peer.send('prompts/get', { name: 'review', arguments: { lines: 'many' } });
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/params\.arguments.*review.*lines/) });
  });

  it('that takes too long says that it goes on, and is there for who asks again', async () => {
    const { served, gate } = aServer();
    const peer = await LegacyPeer.connect(served);
    const asked = peer.send('prompts/get', { name: 'patient' });
    let late: string | undefined;
    void asked.then(({ error }) => {
      late = error.message;
    });
    while (late === undefined) {
      served.clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(late).toBe('patient is not ready yet; it goes on, so ask again to wait for it');
    const again = peer.send('prompts/get', { name: 'patient' });
    gate.resolve();
    expect((await again).result).toMatchObject(said('at last'));
  });

  it('can be looked at by a model that has the tools for it', async () => {
    const { served } = aServer();
    const peer = await draftPeer(served);
    await answerOf(await peer.follow('prompts/get', { name: 'breaks', ...augmented('b') }));
    await answerOf(await peer.follow('resources/read', { uri: 'report://latest', ...augmented('r') }));
    const results = (await served.tasks.inspect.list({ limit: 10 })).tasks.map(async ({ taskId, name }) => {
      const { content } = (await peer.call('task_result', { taskId })).result as { content: [{ text: string }] };
      return [name, content[0].text] as const;
    });
    expect(Object.fromEntries(await Promise.all(results))).toEqual({
      breaks: 'breaks failed: no such style',
      latest: JSON.stringify({ contents: [{ uri: 'report://latest', text: 'latest' }] }),
    });
  });

  it('is listed with its arguments, and may have the name of a tool', async () => {
    const { served } = aServer();
    const peer = await LegacyPeer.connect(served);
    const prompts = (await peer.send('prompts/list')).result['prompts'] as Json[];
    expect(prompts.find(({ name }) => name === 'review')).toEqual({
      name: 'review',
      description: 'Reviews',
      arguments: [{ name: 'lines', description: 'how many', required: true }],
    });
    expect((await peer.call('review')).result).toMatchObject({ content: [{ text: 'a tool' }] });
  });
});

describe('a resource', () => {
  it('is a task of the first draft, by its template or by its own URI', async () => {
    const { served, gate } = aServer();
    const peer = await draftPeer(served);
    const stream = await peer.follow('resources/read', { uri: 'report://2026', ...augmented('cli-1') });
    await stream.first(isCreated);
    gate.resolve();
    const contents = [{ uri: 'report://2026', mimeType: 'text/plain', text: 'of 2026' }];
    expect((await answerOf(stream))['result']).toEqual({ contents, _meta: related('cli-1') });
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).result).toMatchObject({ contents });
    const latest = await peer.follow('resources/read', { uri: 'report://latest', ...augmented('cli-2') });
    expect((await latest.first(isAnswer))['result']).toMatchObject({ contents: [{ text: 'latest' }] });
  });

  it('is waited for by all others', async () => {
    const { served, gate } = aServer();
    gate.resolve();
    const peer = await LegacyPeer.connect(served);
    expect((await peer.send('resources/read', { uri: 'report://2025' })).result).toMatchObject({
      contents: [{ text: 'of 2025' }],
    });
    const modern = await served.peer.send('resources/read', { uri: 'report://2025' });
    expect(modern.result).toMatchObject({ resultType: 'complete', contents: [{ text: 'of 2025' }] });
  });
});

describe('what cannot be registered', () => {
  const { tasks } = someTasks();
  const handler = () => said('');
  it.each<[string, () => unknown, RegExp]>([
    ['a prompt without a name', () => tasks.registerPrompt('', {}, handler), /name must be a non-empty string/],
    ['one without a handler', () => tasks.registerPrompt('p', {}, undefined as never), /handler must be a function/],
    [
      'one with support it has not',
      () => tasks.registerPrompt('p', { task: { support: 'required' as never } }, handler),
      /task\.support must be one of forbidden, optional/,
    ],
    [
      'one with a schema that is none',
      () => tasks.registerPrompt('p', { argsSchema: {} as never }, handler),
      /argsSchema must be a Standard Schema/,
    ],
    [
      'a resource without a URI',
      () => tasks.registerResource('r', 'latest', {}, () => ({ contents: [] })),
      /uri must be a URI or a template/,
    ],
    [
      'one with a limit that is none',
      () => tasks.registerResource('r', 'a:b', { task: { ttlMs: 0 } }, () => ({ contents: [] })),
      /task\.ttlMs must be a whole number/,
    ],
  ])('%s', (_, register, problem) => {
    expect(register).toThrow(problem);
  });
});

describe('what a handler returns that is none', () => {
  it.each([
    [undefined, 'returned no result object'],
    [{ messages: 'x' }, 'without a messages array'],
    [{ messages: [{ role: 'system', content: { type: 'text', text: '' } }] }, "role of 'user' or 'assistant'"],
    [{ messages: [{ role: 'user', content: 'x' }] }, 'content block'],
  ])('as %j for a prompt is its own fault', async (result, problem) => {
    const served = serve((tasks) => tasks.registerPrompt('p', {}, () => result as never));
    const { error } = await served.peer.send('prompts/get', { name: 'p' });
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(problem), data: { prompt: 'p' } });
  });

  it.each([
    [{ contents: 'x' }, 'without a contents array'],
    [{ contents: [{ text: 'x' }] }, 'without uri'],
    [{ contents: [{ uri: 'a:b' }] }, 'text or blob'],
  ])('as %j for a resource', async (result, problem) => {
    const served = serve((tasks) => tasks.registerResource('r', 'a:b', {}, () => result as never));
    const { error } = await served.peer.send('resources/read', { uri: 'a:b' });
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(problem), data: { resource: 'r' } });
  });
});
