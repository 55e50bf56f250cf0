// One server in each runtime, and the same clients for all of them.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Clients, type HttpServer, onServer } from '../any-client/clients.ts';
import type { TaskView } from '../support/task-client.ts';

const runtimes = ['hono', 'express', 'fastify', 'node-http'];
const { values } = parseArgs({ options: { variant: { type: 'string' } } });

for (const runtime of values.variant === undefined ? runtimes : [values.variant]) {
  assert(runtimes.includes(runtime), `--variant must be one of ${runtimes.join(', ')}, got ${runtime}`);
  console.log(`in ${runtime}`);
  await onServer(new URL(`${runtime}/server.ts`, import.meta.url), async (clients, server) => {
    await takesTasks(clients);
    await asksForTasks(clients);
    await knowsNoTasks(clients);
    await listens(clients, server);
    await isGuarded(server);
    await leaves(clients, server);
    await isStopped(clients, server);
  });
}

/** MCP 2026-07-28: a task, polls, a question and its answer, the result. */
async function takesTasks({ modern }: Clients): Promise<void> {
  const called = await modern.call('report', { year: 2023 });
  assert('task' in called);
  const { taskId } = called.task;
  const asked = await until(modern, taskId, 'input_required');
  assert.equal(asked.inputRequests?.print?.params.message, 'Print it?');
  await modern.update(taskId, { print: { action: 'accept', content: { copies: 1 } } });
  const { result } = await until(modern, taskId, 'completed');
  assert.equal(result?.content[0]?.text, '3 pages of 2023, printed');
  console.log('  2026-07-28: a task, a question, 3 pages');
}

/** MCP 2025-11-25, as SDK v1 speaks it; its session hears of its tasks on the channel it opens with GET. */
async function asksForTasks({ sdkV1 }: Clients): Promise<void> {
  await sdkV1.listTools();
  const heard = new Set<unknown>();
  sdkV1.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/tasks/status') heard.add(params?.status);
  };
  const call = { name: 'watch', arguments: {} };
  const stream = sdkV1.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 60_000 } });
  for await (const message of stream) {
    if (message.type === 'taskCreated') await sdkV1.experimental.tasks.cancelTask(message.task.taskId);
    if (message.type === 'error') break; // The end of a task that was cancelled.
  }
  for (let time = 0; !heard.has('cancelled'); time += 1) {
    assert(time < 100, 'the channel says nothing');
    await setTimeout(50);
  }
  console.log('  2025-11-25: a task, its end told on the channel of the session');
}

/** Any other client: the model is told what is asked, and answers by a tool. */
async function knowsNoTasks({ plain }: Clients): Promise<void> {
  await plain.listTools();
  const asked = await plain.callTool({ name: 'report', arguments: { year: 2025 } });
  const [note] = asked.content;
  assert(note?.type === 'text');
  const [, args = ''] = /call task_answer with (\{.*\}), content/.exec(note.text) ?? [];
  const answer = { ...JSON.parse(args), content: { copies: 2 } };
  await plain.callTool({ name: 'task_answer', arguments: answer });
  const { content } = await plain.callTool({ name: 'task_wait', arguments: { taskId: answer.taskId } });
  assert.match(JSON.stringify(content), /3 pages of 2025, printed/);
  console.log('  no tasks: a note, task_answer, task_wait, 3 pages');
}

/** A stream of news: what was written is there at once, nothing on the way keeps it back. */
async function listens({ modern }: Clients, { url }: HttpServer): Promise<void> {
  const called = await modern.call('watch', {});
  assert('task' in called);
  const { taskId } = called.task;
  const { body } = await post(url, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
  const news = reading(body);
  await news('"status":"working"');
  await modern.cancel(taskId);
  await news('"status":"cancelled"');
  await news('"resultType":"complete"');
  console.log('  a subscription: working, cancelled, and its end');
}

/** Pages from elsewhere reach nothing, what is no JSON neither, and the rest of the application is untouched. */
async function isGuarded({ url }: HttpServer): Promise<void> {
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const from = (headers: Record<string, string>, body: string) => fetch(url, { method: 'POST', headers, body });
  assert.equal((await from({ ...json, origin: 'http://evil.example' }, '{}')).status, 403);
  assert.equal((await from(json, '{"nope')).status, 400);
  assert.equal((await fetch(new URL('/health', url))).status, 200);
  console.log('  refused: a page from elsewhere, what is no JSON');
}

/** A client of 2026-07-28 that closes its connection has called its call off. */
async function leaves({ sdkV1 }: Clients, { url }: HttpServer): Promise<void> {
  const before = (await sdkV1.experimental.tasks.listTasks()).tasks.length;
  const gone = new AbortController();
  const call = post(url, 'tools/call', { name: 'watch', arguments: {} }, gone.signal, {});
  const { body } = await call; // Its headers come after a second, long before its result.
  await reading(body)(': open');
  gone.abort();
  for (let time = 0; ; time += 1) {
    const { tasks } = await sdkV1.experimental.tasks.listTasks();
    assert.equal(tasks.length, before + 1);
    if (tasks[0]?.status === 'cancelled') break;
    assert(time < 100, 'the call goes on');
    await setTimeout(50);
  }
  console.log('  a connection that is closed: its call is cancelled');
}

/** Streams end with a last word, and the process with 0. */
async function isStopped({ modern }: Clients, { url, stop }: HttpServer): Promise<void> {
  const called = await modern.call('watch', {});
  assert('task' in called);
  const { body } = await post(url, 'subscriptions/listen', { notifications: { taskIds: [called.task.taskId] } });
  const news = reading(body);
  await news('"status":"working"');
  const stopped = stop();
  await news('"resultType":"complete"');
  assert.equal(await stopped, 0);
  console.log('  SIGTERM: the stream is ended, the task handed over, exit code 0');
}

async function until(client: Clients['modern'], taskId: string, status: TaskView['status']): Promise<TaskView> {
  for (let time = 0; time < 100; time += 1) {
    const task = await client.get(taskId);
    if (task.status === status) return task;
    await setTimeout(100);
  }
  throw new Error(`the task is not ${status}`);
}

/** A request of 2026-07-28, spelled out. */
function post(
  url: string,
  method: string,
  params: { name?: string; [key: string]: unknown },
  signal?: AbortSignal,
  capabilities: object = { extensions: { 'io.modelcontextprotocol/tasks': {} } },
): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(params.name !== undefined && { 'mcp-name': params.name }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  return fetch(url, { method: 'POST', headers, body, ...(signal && { signal }) });
}

/** Reads on until some words have come. */
function reading(body: Response['body']): (words: string) => Promise<void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return async (words) => {
    while (!text.includes(words)) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      assert(!done, `the stream ended without ${words}`);
      text += value;
    }
    text = text.slice(text.indexOf(words) + words.length);
  };
}
