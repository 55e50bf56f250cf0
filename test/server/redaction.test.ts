import { inspect } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, type TasksOptions, text } from '../../src/engine/index.ts';
import { bearerTokens } from '../../src/server/index.ts';
import { type StoreBackend, sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { mortal } from '../../src/testing/mortal.ts';
import { pass, recordingLogger, settle, someTasks, start } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import { scratchFolder } from '../support/stores.ts';
import { guarded } from './auth/guarded.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// Promised: payloads and secrets are not logged, and the timeline of a task is about it and not of it.
const NEEDLE = 'n33dle-5f0c1a7be0d24586b1c7a9e0';

/** Everything there is of an error or an object, and not only what JSON shows. */
const everything = (value: unknown): string => inspect(value, { depth: null, showHidden: true, maxStringLength: null });

function leaky(message = `refused ${NEEDLE}`): Error {
  const cause = Object.assign(new TypeError(`caused by ${NEEDLE}\n    at ${NEEDLE} (file.js:1:1)`), {
    code: 'ECONNRESET',
  });
  const config = { headers: { authorization: NEEDLE } }; // As HTTP clients like to attach.
  return Object.assign(new Error(message, { cause }), { config, name: `${NEEDLE}Error` });
}

function register(tasks: Tasks): void {
  const inputSchema = z.object({ text: z.string({ error: ({ input }) => `no text: ${JSON.stringify(input)}` }) });
  tasks.registerTool('works', { inputSchema }, async ({ text: given }, task) => {
    task.log(given);
    task.progress(1, 2, given);
    await task.step('one', () => given);
    return text(`${given} done`);
  });
  tasks.registerTool('throws', { inputSchema }, () => {
    throw leaky();
  });
  tasks.registerTool('chooses', { inputSchema }, () => {
    throw Object.assign(leaky(), { code: -32050, data: { NEEDLE } });
  });
  tasks.registerTool('retries', { inputSchema, task: { retry: { backoffMs: 1 }, maxAttempts: 2 } }, () => {
    throw leaky('again');
  });
  tasks.registerTool('odd', {}, () => ({ content: [{ type: NEEDLE, NEEDLE }] }) as never);
  const outputSchema = z.object({ n: z.number({ error: ({ input }) => `no number: ${String(input)}` }) });
  tasks.registerTool('misfit', { outputSchema }, () => ({ content: [], structuredContent: { n: NEEDLE } }) as never);
  tasks.registerTool('inline', { task: { support: 'forbidden' } }, () => {
    throw Object.assign(leaky(), { code: -32603 });
  });
  tasks.registerTool('prepares', { task: { prepare: () => Promise.reject(leaky()) } } as never, () => text('never'));
  tasks.registerTool('asks', {}, async (_args, task) => {
    const schema = z.object({ word: z.string() });
    const { content } = (await task.ask('word', { message: `say ${NEEDLE}`, schema })) as {
      content?: { word: string };
    };
    return text(`you said ${content?.word}`);
  });
  tasks.registerTool('samples', {}, async (_args, task) => {
    await task.sample('model', { messages: [{ role: 'user', content: { type: 'text', text: NEEDLE } }], maxTokens: 1 });
    return text('sampled');
  });
}

const TOOLS = ['works', 'throws', 'chooses', 'retries', 'odd', 'misfit', 'inline', 'prepares'];

/** Lets time pass until it is there. */
async function during<Value>(clock: ManualClock, awaited: Promise<Value>): Promise<Value> {
  let there = false;
  const done = awaited.finally(() => {
    there = true;
  });
  for (const deadline = performance.now() + 10_000; !there; await settle(2)) {
    if (performance.now() > deadline) throw new Error('it does not come');
    clock.advance(500);
  }
  return done;
}

/** Calls that succeed, fail, are invalid and are refused, on every face. */
async function usage({ peer, server, clock, when, trouble }: Served & { trouble: { on: boolean } }): Promise<void> {
  const headers = { 'x-secret': NEEDLE, cookie: NEEDLE };
  const send = (name: string, sending: object) =>
    during(clock, peer.call(name, { text: NEEDLE }, { headers, ...sending }));
  for (const name of TOOLS) {
    const { result } = await send(name, { meta: { traceparent: NEEDLE, 'longcall/idempotencyKey': NEEDLE } });
    await send(name, { capabilities: {} });
    const taskId = result?.['taskId'];
    if (typeof taskId !== 'string') continue;
    await during(
      clock,
      when(taskId, ({ status }) => status === 'completed' || status === 'failed'),
    );
  }
  await peer.call('works', { text: { [NEEDLE]: NEEDLE } });
  await peer.call('works', { other: NEEDLE }, { capabilities: {} });
  await peer.call(NEEDLE);
  await peer.get(NEEDLE);
  await peer.cancel(NEEDLE);
  for (const body of [`{"jsonrpc": "2.0", ${NEEDLE}`, NEEDLE, JSON.stringify({ jsonrpc: NEEDLE }), `["${NEEDLE}"]`]) {
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    await server.fetch(new Request('http://127.0.0.1/mcp', { method: 'POST', body, headers: json }));
    await server.fetch(new Request(`http://127.0.0.1/mcp?${NEEDLE}`, { method: 'PUT', body, headers: json }));
  }
  const { taskId } = await peer.start('asks');
  await when(taskId, ({ status }) => status === 'input_required');
  await peer.update(taskId, { word: { action: 'accept', content: { word: { NEEDLE } } } });
  await peer.update(taskId, { word: { action: NEEDLE } });
  await peer.update(taskId, { word: { action: 'accept', content: { word: NEEDLE } } });
  await when(taskId, ({ status }) => status === 'completed');
  trouble.on = true;
  await peer.get(taskId);
  trouble.on = false;
  await onSessions({ peer, clock, trouble }, taskId);
}

type Faces = Pick<Served, 'peer' | 'clock'> & { trouble: { on: boolean } };

async function onSessions({ peer, clock, trouble }: Faces, taskId: string): Promise<void> {
  const capabilities = { elicitation: {}, sampling: {} };
  const session = await LegacyPeer.connect({ peer }, { capabilities, client: NEEDLE });
  session.onQuestion = () => ({ error: { code: -32000, message: NEEDLE } });
  await during(clock, session.call('samples', { text: NEEDLE }));
  session.onQuestion = () => ({ result: { action: 'accept', content: { word: 7, [NEEDLE]: NEEDLE } } });
  await during(clock, session.call('asks', { text: NEEDLE }));
  for (const name of ['throws', 'odd', 'works']) await during(clock, session.call(name, { text: NEEDLE }));
  const task = (await session.start('works', { text: NEEDLE })) as { taskId: string };
  await session.send('tasks/result', { taskId: task.taskId });
  await session.send('resources/read', { uri: `longcall://tasks/${taskId}/result` });
  await session.send('resources/read', { uri: `longcall://tasks/${NEEDLE}` });
  trouble.on = true;
  await session.send('resources/read', { uri: `longcall://tasks/${taskId}` });
  trouble.on = false;
  await session.send('tasks/cancel', { taskId, reason: NEEDLE });
  await session.send(`tasks/${NEEDLE}`, { NEEDLE });
}

async function timelines(tasks: Tasks): Promise<string> {
  const { tasks: all } = await tasks.inspect.list({ limit: 1_000 });
  const found = await Promise.all(all.map(({ taskId }) => tasks.inspect.timeline(taskId)));
  return everything(found);
}

function served(options: Partial<TasksOptions> = {}) {
  const trouble = { on: false };
  const store = interceptedStore((_method, call) => (trouble.on ? Promise.reject(leaky()) : call()));
  return { ...serve(register, { tasks: { store, ...options } }), trouble };
}

it('no payload is in any log line of any level, nor in any timeline, whatever happens [G2-S-67]', async () => {
  const all = served();
  await usage(all);
  expect(all.log.length).toBeGreaterThan(40);
  expect(new Set(all.log.map(({ level }) => level))).toEqual(new Set(['debug', 'info', 'error']));
  expect(all.log.map(({ message }) => message)).toEqual(
    expect.arrayContaining([
      'a tool failed',
      'a request could not be served',
      'a task is over',
      'an attempt failed and is tried again',
    ]),
  );
  const told = await timelines(all.tasks);
  expect(told).toMatch(/'failed'[\s\S]*code: -32603/);
  expect(everything(all.log)).not.toContain(NEEDLE);
  expect(told).not.toContain(NEEDLE);
  expect(everything(all.log)).not.toMatch(/tsk_[\w-]{20}/);
});

it('where messages of errors are asked for, they are logged: so this test would see them', async () => {
  const all = served({ logErrorMessages: true });
  await usage(all);
  expect(everything(all.log)).toContain(NEEDLE);
});

it('what a tool failed by is told without its words: class, code, place and causes', async () => {
  const { tasks, log, peer, reaches } = served();
  const { taskId } = await peer.start('throws', { text: NEEDLE });
  await reaches(taskId, 'failed');
  const line = log.find(({ message }) => message === 'a tool failed') as { fields: { error: Record<string, unknown> } };
  const { error } = line.fields;
  expect(error).toMatchObject({ type: 'Error', cause: { type: 'TypeError', code: 'ECONNRESET' } });
  expect(String(error['stack'])).toMatch(/^ {4}at leaky .*redaction\.test\.ts:\d+:\d+\)\n/);
  expect((await tasks.inspect.get(taskId)).error?.message).toBe(`refused ${NEEDLE}`); // Where it is read.
});

it('tokens are in no log line, whether they are known, unknown, or no tokens', async () => {
  const auth = bearerTokens({ tokens: [{ token: NEEDLE, subject: 'alice' }] });
  const { as, attempt, log } = await guarded(auth);
  expect(await (await attempt(`Bearer ${NEEDLE}`)).status).toBe(200);
  await as(NEEDLE).start('slow', { NEEDLE });
  for (const header of [`Bearer ${NEEDLE}x`, `Basic ${NEEDLE}`, NEEDLE]) {
    expect((await attempt(header)).status).toBeGreaterThanOrEqual(400);
  }
  expect(log.map(({ message }) => message)).toContain('a token was refused');
  expect(everything(log)).not.toContain(NEEDLE);
});

it('a crash, its recovery, and a store in trouble tell nothing of what tasks hold', async () => {
  const folder = scratchFolder();
  const clock = new ManualClock();
  const { logger, lines } = recordingLogger();
  const backend = () => sqliteStore(`${folder.path}/tasks.db`);
  const doomed = mortal(backend());
  const troubled: StoreBackend = {
    async open(environment) {
      const { store, dispatcher } = await backend().open(environment);
      const history = () => Promise.reject(leaky());
      return { store: Object.assign(store, { history }), dispatcher };
    },
  };
  const tools = (tasks: Tasks) => {
    for (const onWorkerLost of ['rerun', 'fail'] as const) {
      tasks.registerTool(onWorkerLost, { task: { onWorkerLost } }, async (_args, task) => {
        await task.step(`step ${NEEDLE}`, () => NEEDLE);
        task.log(NEEDLE);
        return task.attempt === 1 ? new Promise<never>(() => {}) : text(NEEDLE);
      });
    }
  };
  const { tasks: first } = someTasks({ store: doomed, clock, logger });
  tools(first);
  const ids = [];
  for (const name of ['rerun', 'fail']) ids.push((await start(first, name, { NEEDLE })).taskId);
  await settle(40);
  doomed.kill();
  const { tasks: second } = someTasks({ store: troubled, clock, logger });
  tools(second);
  onTestFinished(async () => {
    await Promise.race([first.close(), settle(50)]); // A process that was killed has nothing left to drain.
    await during(clock, second.close());
    folder.remove();
  });
  await second.start();
  await pass(clock, 5_000);
  const said = lines.map(({ message }) => message);
  expect(said).toEqual(
    expect.arrayContaining([
      'a worker was lost; its task runs again',
      'a worker was lost; its task is not run again',
      'a run broke off',
    ]),
  );
  expect(everything(lines)).not.toContain(NEEDLE);
  // A step's name is what its author calls it; what it returned is not there.
  const events = everything(await Promise.all(ids.map((id) => second.inspect.timeline(id))));
  expect(events.replaceAll(`step ${NEEDLE}`, '')).not.toContain(NEEDLE);
});
