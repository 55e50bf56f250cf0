import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OnQuestion } from '../../src/client/remote.ts';
import type { Answer, Question } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { serve } from '../server/peer.ts';
import { deferred, pass } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { aTask, fake } from './fake-server.ts';
import { atOnce, connected, ended, remoteOf, start, startTask } from './remotes.ts';

const abilities = { form: true, url: true, sampling: true, roots: true };
const said = { role: 'assistant', content: { type: 'text', text: 'short' }, model: 'm1' };
const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Summarise' } }];

function tools(tasks: Tasks): void {
  tasks.registerTool('form', {}, async (_args, task) => {
    const answer = await task.ask('colour', { message: 'Which?', schema: z.object({ colour: z.string() }) });
    return text(answer.action === 'accept' ? answer.content.colour : answer.action);
  });
  tasks.registerTool('url', {}, async (_args, task) =>
    text((await task.ask('pay', { message: 'Pay?', url: 'https://pay.example/1' })).action),
  );
  tasks.registerTool('sampling', {}, async (_args, task) => {
    const answer = await task.sample('sum', { messages, maxTokens: 100 } as never);
    return text(answer.action === 'accept' ? JSON.stringify(answer.content) : answer.action);
  });
  tasks.registerTool('roots', {}, async (_args, task) => {
    const answer = await task.roots();
    return text(answer.action === 'accept' ? answer.content.roots.map(({ uri }) => uri).join() : answer.action);
  });
}

const accepted: Record<Question['kind'], { answer: Answer; result: string }> = {
  form: { answer: { action: 'accept', content: { colour: 'red' } }, result: 'red' },
  url: { answer: { action: 'accept', content: {} }, result: 'accept' },
  sampling: { answer: { action: 'accept', content: said }, result: JSON.stringify(said) },
  roots: { answer: { action: 'accept', content: { roots: [{ uri: 'file:///work' }] } }, result: 'file:///work' },
};
const kinds = Object.keys(accepted) as Question['kind'][];
const saying = (result: string) => ({ status: 'completed', result: { content: [{ type: 'text', text: result }] } });

describe('a question of a task', () => {
  it.each(kinds)(
    'of kind %s stands in the task on 2026-07-28, and is answered there [G3-C-09] [G3-C-10] [G3-C-11]',
    async (kind) => {
      const served = serve(tools);
      const remote = await remoteOf(served, { abilities });
      const task = await startTask(remote, kind);
      await served.reaches(task.taskId, 'input_required');
      const [[key, question] = []] = (await remote.get(task.taskId)).questions;
      expect(question).toMatchObject({ kind });
      await remote.answer(task.taskId, new Map([[key as string, accepted[kind].answer]]));
      const outcome = await ended(remote, task, served.reaches(task.taskId, 'completed'));
      expect(outcome).toEqual(saying(accepted[kind].result));
    },
  );

  it('is answered by a process that never saw it asked', async () => {
    const served = serve(tools);
    const task = await startTask(await remoteOf(served, { abilities }), 'form');
    await served.reaches(task.taskId, 'input_required');
    const remote = await remoteOf(served, { abilities });
    await remote.answer(task.taskId, new Map([['colour', accepted.form.answer]]));
    expect(await ended(remote, task, served.reaches(task.taskId, 'completed'))).toEqual(saying('red'));
  });

  it('that the answer does not fit stays open, and the error names the field', async () => {
    const served = serve(tools);
    const remote = await remoteOf(served, { abilities });
    const { taskId } = await startTask(remote, 'form');
    await served.reaches(taskId, 'input_required');
    const wrong = new Map<string, Answer>([['colour', { action: 'accept', content: { colour: 7 } }]]);
    await expect(remote.answer(taskId, wrong)).rejects.toThrow(/inputResponses.colour/);
    expect((await remote.get(taskId)).questions.size).toBe(1);
  });

  it('for a model that is not to be asked has no answer there, so the task is cancelled', async () => {
    const served = serve(tools);
    const remote = await remoteOf(served, { abilities });
    const { taskId } = await startTask(remote, 'sampling');
    await served.reaches(taskId, 'input_required');
    await remote.answer(taskId, new Map([['sum', { action: 'decline' }]]));
    expect((await remote.get(taskId)).status).toBe('cancelled');
  });

  it.each(kinds)(
    'of kind %s is a request on 2025-11-25, answered while its outcome is waited for [G2-C-12] [G2-C-13]',
    async (kind) => {
      const served = serve(tools);
      const asked: Parameters<OnQuestion>[0][] = [];
      const onQuestion: OnQuestion = async (one) => {
        asked.push(one);
        return accepted[kind].answer;
      };
      const remote = await remoteOf(served, { protocol: '2025-11-25', abilities, onQuestion });
      const task = await startTask(remote, kind);
      expect(await remote.outcome(task.taskId)).toEqual(saying(accepted[kind].result));
      expect(asked).toMatchObject([{ taskId: task.taskId, question: { kind } }]);
    },
  );

  it.each(['decline', 'cancel'] as const)('is answered with a %s on 2025-11-25 too', async (action) => {
    const served = serve(tools);
    const remote = await remoteOf(served, { protocol: '2025-11-25', abilities, onQuestion: async () => ({ action }) });
    const task = await startTask(remote, 'form');
    expect(await remote.outcome(task.taskId)).toEqual(saying(action));
  });
});

describe('an answer on 2025-11-25', () => {
  const question = { message: 'Which?', requestedSchema: { type: 'object', properties: {} } };
  const related = { 'io.modelcontextprotocol/related-task': { taskId: 't-1' } };

  interface Asking {
    onQuestion: OnQuestion;
    /** Answers that the server waits for, before it answers itself. */
    replies?: number;
    /** Sent once there is a first answer. */
    afterwards?: Json;
  }

  /** A server that asks on the stream of a request, and what it is answered. */
  async function asking(requests: Json[], { onQuestion, replies: enough = requests.length, afterwards }: Asking) {
    const replies: Json[] = [];
    let onReply = (): void => {};
    const through = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const message = (await new Request(url, init).json()) as Json;
      if (!('method' in message)) {
        replies.push(message);
        onReply();
        return new Response(null, { status: 202 });
      }
      const { readable, writable } = new TransformStream<string, string>();
      const writer = writable.getWriter();
      const write = (line: Json) => writer.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...line })}\n\n`);
      onReply = () => {
        if (replies.length === 1 && afterwards !== undefined) void write(afterwards);
        if (replies.length < enough) return;
        void write({ id: message['id'], result: { content: [] } }).then(() => writer.close());
      };
      for (const request of requests) void write(request);
      const headers = { 'content-type': 'text/event-stream' };
      return new Response(readable.pipeThrough(new TextEncoderStream()), { headers });
    };
    const { remote } = await fake({ version: '2025-11-25', methods: {}, abilities, onQuestion, through });
    return { remote, replies };
  }
  const outcome = { status: 'completed', result: { content: [] } };
  const asked = (id: string): Json => ({ id, method: 'elicitation/create', params: { ...question, _meta: related } });

  it('says which task it is about [G2-C-21]', async () => {
    const onQuestion: OnQuestion = async () => ({ action: 'accept', content: { a: 1 } });
    const { remote, replies } = await asking([asked('s-1')], { onQuestion });
    expect(await remote.outcome('t-1')).toEqual(outcome);
    const result = { action: 'accept', content: { a: 1 }, _meta: related };
    expect(replies).toEqual([{ jsonrpc: '2.0', id: 's-1', result }]);
  });

  it('is given once to a question that comes twice before it', async () => {
    const second = deferred();
    const ids: unknown[] = [];
    const onQuestion: OnQuestion = async ({ question: { kind } }) => {
      ids.push(kind);
      if (ids.length === 2) second.resolve();
      await second.promise;
      return { action: 'decline' };
    };
    const { remote, replies } = await asking([asked('s-1'), asked('s-1'), asked('s-2')], { onQuestion, replies: 2 });
    expect(await remote.outcome('t-1')).toEqual(outcome);
    expect(ids).toHaveLength(2);
    expect(replies.map(({ id }) => id)).toEqual(['s-1', 's-2']);
  });

  it('is sent again to a question that comes after it, and nobody is asked twice', async () => {
    let times = 0;
    const onQuestion: OnQuestion = async () => {
      times += 1;
      return { action: 'decline' };
    };
    const { remote, replies } = await asking([asked('s-1')], { onQuestion, replies: 2, afterwards: asked('s-1') });
    expect(await remote.outcome('t-1')).toEqual(outcome);
    expect(times).toBe(1);
    expect(replies[1]).toEqual(replies[0]);
  });

  it('is not given to a question that its server took back', async () => {
    const onQuestion: OnQuestion = ({ question: { kind }, signal }) =>
      kind === 'roots'
        ? Promise.resolve({ action: 'accept', content: { roots: [] } })
        : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const taken = { method: 'notifications/cancelled', params: { requestId: 's-1' } };
    const requests = [asked('s-1'), taken, { id: 's-2', method: 'roots/list' }];
    const { remote, replies } = await asking(requests, { onQuestion, replies: 1 });
    expect(await remote.outcome('t-1')).toEqual(outcome);
    expect(replies.map(({ id }) => id)).toEqual(['s-2']);
  });

  it('to what nobody could read says what is wrong with the question', async () => {
    const params = { mode: 'url', message: 'Pay?', url: 'javascript:alert(1)', elicitationId: 'e' };
    const onQuestion: OnQuestion = async () => ({ action: 'accept', content: {} });
    const { remote, replies } = await asking([{ id: 's-1', method: 'elicitation/create', params }], { onQuestion });
    expect(await remote.outcome('t-1')).toEqual(outcome);
    const message = expect.stringContaining('params.url');
    expect(replies).toMatchObject([{ id: 's-1', error: { code: -32602, message } }]);
  });

  it('goes to a question of no task as well, asked by a call that waits', async () => {
    const tasks: unknown[] = [];
    const onQuestion: OnQuestion = async ({ taskId }) => {
      tasks.push(taskId);
      return { action: 'decline' };
    };
    const request = { id: 7, method: 'elicitation/create', params: question };
    const { remote, replies } = await asking([request], { onQuestion });
    expect(await atOnce(remote, 'slow')).toEqual(outcome);
    expect(tasks).toEqual([undefined]);
    expect(replies).toEqual([{ jsonrpc: '2.0', id: 7, result: { action: 'decline' } }]);
  });
});

describe('a question before there is a task', () => {
  const rounds = (answers: Json[]) => ({
    'tools/call': (params: Json) => {
      if (params['inputResponses'] === undefined) {
        const q = { method: 'elicitation/create', params: { message: 'Name?', requestedSchema: { type: 'object' } } };
        return { result: { resultType: 'input_required', inputRequests: { q }, requestState: 'sealed' } };
      }
      answers.push(params);
      return { result: { resultType: 'task', ...aTask() } };
    },
  });

  it('is answered, and the call repeated with answers and state [G3-C-28]', async () => {
    const repeated: Json[] = [];
    const asked: unknown[] = [];
    const onQuestion: OnQuestion = async ({ taskId, question }) => {
      asked.push([taskId, question.kind]);
      return { action: 'accept', content: { name: 'Ada' } };
    };
    const { remote } = await fake({ methods: rounds(repeated), onQuestion });
    expect(await startTask(remote, 'slow', { x: 1 })).toMatchObject({ taskId: 't-1' });
    expect(asked).toEqual([[undefined, 'form']]);
    expect(repeated).toMatchObject([
      {
        name: 'slow',
        arguments: { x: 1 },
        inputResponses: { q: { action: 'accept', content: { name: 'Ada' } } },
        requestState: 'sealed',
      },
    ]);
  });

  it('that nobody here can answer is cancelled', async () => {
    const repeated: Json[] = [];
    const { remote } = await fake({ methods: rounds(repeated) });
    await startTask(remote, 'slow');
    expect(repeated).toMatchObject([{ inputResponses: { q: { action: 'cancel' } } }]);
  });

  it('that never ends is given up', async () => {
    const again = { result: { resultType: 'input_required', requestState: 's' } };
    const { remote, count } = await fake({ methods: { 'tools/call': () => again } });
    await expect(start(remote, 'slow')).rejects.toThrow('did not begin');
    expect(count('tools/call')).toBe(11);
  });

  it('is not waited for any more when the caller gives up', async () => {
    const stop = new AbortController();
    const onQuestion: OnQuestion = ({ signal }) => {
      stop.abort(new Error('enough'));
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const { remote } = await fake({ methods: rounds([]), onQuestion });
    const call = remote.start({ name: 'slow', arguments: {}, idempotencyKey: 'k', signal: stop.signal });
    await expect(call).rejects.toThrow('enough');
  });
});

it('an answer that did not arrive is sent again, and nobody is asked again [C-073]', async () => {
  const served = serve(tools);
  const through = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const { clock } = served;
  let refusals = 0;
  let asked = 0;
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const isAnswer = String(init?.body ?? '').includes('"action":"accept"');
    if (!isAnswer || refusals === 3) return through(new Request(url, init));
    refusals += 1;
    if (refusals === 1) throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
    return new Response('busy', { status: refusals === 2 ? 502 : 429 });
  };
  const remote = await connected({
    url: 'http://127.0.0.1/mcp',
    http: { fetch },
    protocol: '2025-11-25',
    clock,
    onQuestion: async () => {
      asked += 1;
      return { action: 'accept', content: { colour: 'red' } };
    },
  });
  const task = await startTask(remote, 'form');
  let outcome: unknown;
  void remote.outcome(task.taskId).then((told) => {
    outcome = told;
  });
  for (let round = 0; round < 2_000 && outcome === undefined; round += 1) await pass(clock, 10);
  expect(outcome).toEqual(saying('red'));
  expect([asked, refusals]).toEqual([1, 3]);
});
