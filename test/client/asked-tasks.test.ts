import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CreateMessageResultSchema,
  CreateTaskResultSchema,
  ElicitResultSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { RemoteOptions } from '../../src/client/connect-remote.ts';
import type { OnQuestion } from '../../src/client/remote.ts';
import type { Answer } from '../../src/core/index.ts';
import { serve } from '../server/peer.ts';
import { deferred } from '../support/engine.ts';
import { atOnce, connected, ended, remoteOf, start, startTask } from './remotes.ts';

// The official SDK's first version asks a client of ours by tasks; it refuses to ask what the client did not declare.

interface Asker {
  server: McpServer['server'];
  /** On the stream of the call that is running. */
  options: RequestOptions;
}

const form = {
  message: 'Sure?',
  requestedSchema: { type: 'object' as const, properties: { ok: { type: 'boolean' as const } }, required: ['ok'] },
};
const sampling = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Summarise' } }],
  maxTokens: 10,
};
const said = { role: 'assistant', content: { type: 'text', text: 'short' }, model: 'm1' };
const yes: Answer = { action: 'accept', content: { ok: true } };
const abilities = { form: true, url: true, sampling: true };

/** A server with one tool, which does what `plan` says and returns what came of it; and a client on it. */
async function asking(plan: (asker: Asker) => Promise<unknown>, options: RemoteOptions) {
  const handle = await session(plan);
  const fetch = (url: string | URL, init?: RequestInit) => handle(new Request(url, init));
  return connected({ url: 'http://127.0.0.1/mcp', http: { fetch }, abilities, ...options });
}

/** One session with it. */
async function session(plan: (asker: Asker) => Promise<unknown>): Promise<(request: Request) => Promise<Response>> {
  const server = new McpServer({ name: 'v1', version: '1' }, { enforceStrictCapabilities: true });
  server.registerTool('run', { inputSchema: {} }, async (_args, { requestId }) => {
    const told = await plan({ server: server.server, options: { relatedRequestId: requestId } });
    return { content: [{ type: 'text', text: JSON.stringify(told) }] };
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1' });
  await server.connect(transport as never);
  onTestFinished(() => server.close());
  return (request) => transport.handleRequest(request);
}

/** What the plan returned, with the server's whole way of asking in between. */
async function run(plan: (asker: Asker) => Promise<unknown>, options: RemoteOptions): Promise<unknown> {
  const outcome = await atOnce(await asking(plan, options), 'run');
  if (outcome.status !== 'completed' || outcome.result.isError === true) throw new Error(JSON.stringify(outcome));
  const [{ text } = { text: '' }] = outcome.result.content as { text: string }[];
  return JSON.parse(text);
}

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

const refused = (error: { code: number; message: string }) => ({ code: error.code, message: error.message });

/** Asks as a task, without waiting for its end. */
async function create({ server, options }: Asker, ttl = 60_000) {
  const request = { method: 'elicitation/create' as const, params: form };
  return (await server.request(request, CreateTaskResultSchema, { ...options, task: { ttl } })).task;
}

describe('a question that a server asks as a task of its client', () => {
  it.each([
    ['elicitation', yes, { action: 'accept', content: { ok: true } }],
    ['elicitation', { action: 'decline' }, { action: 'decline' }],
    ['sampling', { action: 'accept', content: said }, said],
  ] as const)(
    'of %s is created, asked for and fetched by the official way to do so [G2-C-22]',
    async (kind, answer, told) => {
      const asked: unknown[] = [];
      const onQuestion: OnQuestion = async ({ question, taskId }) => {
        asked.push([question.kind, taskId]);
        return answer as Answer;
      };
      const messages = (await run(
        async ({ server, options }) => {
          const tasks = server.experimental.tasks;
          const request = { ...options, task: { ttl: 60_000 } };
          return all(
            kind === 'sampling' ? tasks.createMessageStream(sampling, request) : tasks.elicitInputStream(form, request),
          );
        },
        { onQuestion },
      )) as { type: string; task?: object; result?: object }[];
      expect(messages[0]).toMatchObject({ type: 'taskCreated', task: { status: 'working', ttl: 60_000 } });
      const { taskId } = (messages[0] as { task: { taskId: string } }).task;
      expect(messages.at(-1)).toEqual({
        type: 'result',
        result: { ...told, _meta: { 'io.modelcontextprotocol/related-task': { taskId } } },
      });
      expect(asked).toEqual([[kind === 'sampling' ? 'sampling' : 'form', undefined]]);
    },
  );

  it('is working while a person thinks, is listed, and its result waits for them [G2-C-22]', async () => {
    const answered = deferred<Answer>();
    const told = await run(
      async (asker) => {
        const { taskId } = await create(asker);
        const { server, options } = asker;
        const { tasks } = server.experimental;
        const before = await tasks.getTask(taskId, options);
        const { tasks: listed, nextCursor } = await tasks.listTasks(undefined, options);
        const result = tasks.getTaskResult(taskId, ElicitResultSchema, options);
        answered.resolve(yes);
        const { action } = (await result) as { action: string };
        const again = (await tasks.getTaskResult(taskId, ElicitResultSchema, options)) as { action: string };
        const after = await tasks.getTask(taskId, options);
        return {
          before: before.status,
          listed: listed.map((one) => one.taskId === taskId),
          nextCursor,
          action,
          again: again.action,
          after: after.status,
        };
      },
      { onQuestion: () => answered.promise },
    );
    expect(told).toEqual({ before: 'working', listed: [true], action: 'accept', again: 'accept', after: 'completed' });
  });

  it('is cancelled once, which whoever was asked is told; then it stays so [G2-C-22]', async () => {
    const gone = deferred<void>();
    const onQuestion: OnQuestion = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          gone.resolve();
          reject(signal.reason);
        });
      });
    const told = await run(
      async (asker) => {
        const { taskId } = await create(asker);
        const { server, options } = asker;
        const { tasks } = server.experimental;
        const { status } = await tasks.cancelTask(taskId, options);
        await gone.promise;
        const twice = await tasks.cancelTask(taskId, options).catch(refused);
        const result = await tasks.getTaskResult(taskId, ElicitResultSchema, options).catch(refused);
        return { status, twice, result: (result as { code: number }).code };
      },
      { onQuestion },
    );
    expect(told).toMatchObject({ status: 'cancelled', twice: { code: -32602 }, result: -32603 });
  });

  it("is nobody's under another id, and bad wishes and cursors are refused naming them [G2-C-22]", async () => {
    const told = await run(
      async (asker) => {
        const { server, options } = asker;
        const { tasks } = server.experimental;
        const ask = (params: object) =>
          server.request({ method: 'elicitation/create', params } as never, ResultSchema, options).catch(refused);
        return {
          get: await tasks.getTask('none', options).catch(refused),
          result: await tasks.getTaskResult('none', ElicitResultSchema, options).catch(refused),
          cancel: await tasks.cancelTask('none', options).catch(refused),
          list: await tasks.listTasks('mine', options).catch(refused),
          ttl: await ask({ ...form, task: { ttl: 0 } }),
          wish: await ask({ ...form, task: 'yes' }),
          form: await ask({ message: 1, requestedSchema: form.requestedSchema, task: {} }),
        };
      },
      { onQuestion: async () => yes },
    );
    expect(told).toMatchObject({
      get: { code: -32602 },
      result: { code: -32602 },
      cancel: { code: -32602 },
      list: { code: -32602, message: expect.stringContaining('params.cursor') },
      ttl: { code: -32602, message: expect.stringContaining('params.task.ttl') },
      wish: { code: -32602, message: expect.stringContaining('params.task') },
      form: { code: -32602, message: expect.stringContaining('params.message') },
    });
  });

  it('fails as the request itself would have, when a model is refused, and tells nothing of what went wrong here', async () => {
    const told = await run(
      async ({ server, options }) => {
        const { tasks } = server.experimental;
        const request = { method: 'sampling/createMessage' as const, params: sampling };
        const { task } = await server.request(request, CreateTaskResultSchema, { ...options, task: {} });
        const result = await tasks.getTaskResult(task.taskId, CreateMessageResultSchema, options).catch(refused);
        return { result, status: (await tasks.getTask(task.taskId, options)).status };
      },
      {
        onQuestion: async () => {
          throw new Error('a secret of the host');
        },
      },
    );
    expect(told).toEqual({ result: { code: -1, message: expect.stringContaining('refused') }, status: 'failed' });
  });

  it('is answered at once where it asks for no task', async () => {
    const plan = ({ server, options }: Asker) => server.elicitInput(form, options);
    expect(await run(plan, { onQuestion: async () => yes })).toEqual({ action: 'accept', content: { ok: true } });
  });

  it('is none where nobody here answers, and none of what was not declared', async () => {
    const declared: unknown[] = [];
    const plan = async ({ server }: Asker) => declared.push(server.getClientCapabilities()?.tasks ?? null);
    await run(plan, {});
    await run(plan, { onQuestion: async () => yes, abilities: { form: true } });
    await run(plan, { onQuestion: async () => yes, protocol: '2025-06-18' });
    expect(declared).toEqual([null, { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }, null]);
  });

  it('outlives the session it was asked in [G2-C-22]', async () => {
    const answered = deferred<Answer>();
    let taskId = '';
    const plan = async (asker: Asker): Promise<unknown> => {
      if (taskId !== '') {
        answered.resolve(yes);
        return asker.server.experimental.tasks.getTaskResult(taskId, ElicitResultSchema, asker.options);
      }
      taskId = (await create(asker)).taskId;
      return 'asked';
    };
    const sessions = [await session(plan), await session(plan)];
    let asks = 0;
    let current: ((request: Request) => Promise<Response>) | undefined;
    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const request = new Request(url, init);
      const { method } = request.method === 'POST' ? ((await request.clone().json()) as { method?: string }) : {};
      if (method === 'initialize') current = sessions.shift();
      return current === undefined ? new Response(null, { status: 404 }) : current(request);
    };
    const onQuestion: OnQuestion = () => {
      asks += 1;
      return answered.promise;
    };
    const http = { fetch };
    const remote = await connected({
      url: 'http://127.0.0.1/mcp',
      http,
      abilities,
      onQuestion,
      protocol: '2025-11-25',
    });
    await atOnce(remote, 'run');
    current = undefined;
    const outcome = await atOnce(remote, 'run');
    expect(JSON.stringify(outcome)).toContain(taskId);
    expect(outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ text: expect.stringContaining('accept') }] },
    });
    expect([asks, sessions.length]).toEqual([1, 0]);
  });

  it('is taken back with the client', async () => {
    const asked = deferred<AbortSignal>();
    const onQuestion: OnQuestion = ({ signal }) => {
      asked.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const remote = await asking((asker) => create(asker), { onQuestion });
    await start(remote, 'run');
    const signal = await asked.promise;
    await remote[Symbol.asyncDispose]();
    expect(signal.aborted).toBe(true);
  });

  it('changes nothing for a server of ours, which asks without tasks', async () => {
    const served = serve((tasks) =>
      tasks.registerTool('ask', {}, async (_args, task) => {
        const answer = await task.ask('ok', { message: 'Sure?', schema: z.object({ ok: z.boolean() }) });
        return { content: [{ type: 'text', text: answer.action }] };
      }),
    );
    const remote = await remoteOf(served, { protocol: '2025-11-25', abilities, onQuestion: async () => yes });
    const task = await startTask(remote, 'ask');
    const outcome = remote.outcome(task.taskId);
    expect(await ended(remote, task, outcome)).toMatchObject({ result: { content: [{ text: 'accept' }] } });
  });
});
