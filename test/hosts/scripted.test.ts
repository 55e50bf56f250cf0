import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { ServingOptions } from '../../src/server/serving.ts';
import { serve } from '../server/peer.ts';
import { pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { overConnection } from './connection.ts';
import { registerFixtureTools, said } from './fixture.ts';
import { overHttp } from './peer.ts';
import { byHand, type Habits, recorded, type Script } from './script.ts';
import { type Outcome, ScriptedHost } from './scripted.ts';
import { answered } from './waiting.ts';

const SECOND = 1_000;
const timedOut = 'McpError: MCP error -32001: Request timed out';
const declined = { result: { action: 'decline' } };
const cancelled = { result: { action: 'cancel' } };
const unknown = { error: { code: -32601, message: 'Method not found' } };
const habits = (patienceSec: number, more: Partial<Habits>): Habits => ({
  patienceMs: patienceSec * SECOND,
  waitsOnProgress: false,
  stops: ['cancels'],
  asked: unknown,
  ...more,
});

interface Expected {
  /** What the tool learns from its question; `undefined`: the host cannot be asked. */
  answer: string | undefined;
  /** What becomes of the work of a call that a person stops, and that the host gives up on. */
  afterStop: 'cancelled' | 'working';
}

// Limits, tokens and signals as they were recorded, or as vendors and users tell them.
const hosts: [string, Script, Expected][] = [
  [
    'Claude Code over HTTP',
    recorded('claude-code.http', habits(300, { waitsOnProgress: true, stops: ['closes'], asked: cancelled })),
    { answer: 'cancel', afterStop: 'cancelled' },
  ],
  [
    'Claude Code over stdio',
    recorded('claude-code.stdio', habits(Number.POSITIVE_INFINITY, { asked: cancelled, reason: 'user interrupt' })),
    { answer: 'cancel', afterStop: 'cancelled' },
  ],
  [
    'Copilot CLI',
    recorded('copilot-cli.http', habits(180, { waitsOnProgress: true, stops: ['closes'], asked: declined })),
    { answer: 'decline', afterStop: 'cancelled' },
  ],
  [
    'Codex',
    recorded(
      'codex.http',
      habits(300, { stops: ['closes', 'cancels'], reason: 'MCP request cancelled by caller', asked: declined }),
    ),
    { answer: 'decline', afterStop: 'cancelled' },
  ],
  [
    'OpenCode',
    recorded('opencode.http', habits(60, { waitsOnProgress: true, reason: timedOut, cancelsWhatIsOver: true })),
    { answer: undefined, afterStop: 'working' },
  ],
  [
    'Gemini CLI, which never names its version',
    recorded('gemini-cli.http', habits(600, { reason: timedOut })),
    { answer: undefined, afterStop: 'working' },
  ],
  [
    'Cursor',
    byHand(
      {
        transport: 'http',
        name: 'cursor-vscode',
        version: '2025-06-18',
        capabilities: { roots: {}, elicitation: {} },
        token: true,
      },
      habits(60, {
        asked: { result: { action: 'accept', content: { confirm: true } } },
        reason: 'the user pressed stop',
      }),
    ),
    { answer: 'accept', afterStop: 'cancelled' },
  ],
  [
    'Cursor over stdio',
    byHand(
      {
        transport: 'stdio',
        name: 'cursor-vscode',
        version: '2025-11-25',
        capabilities: { elicitation: {} },
        token: true,
      },
      habits(60, { asked: declined, reason: 'the user pressed stop' }),
    ),
    { answer: 'decline', afterStop: 'cancelled' },
  ],
  [
    'Claude Desktop',
    byHand(
      { transport: 'stdio', name: 'claude-ai', version: '2025-06-18', capabilities: {}, token: false },
      habits(60, { reason: timedOut }),
    ),
    { answer: undefined, afterStop: 'working' },
  ],
];

async function opened(script: Script, options: ServingOptions = {}) {
  const served = serve(registerFixtureTools, { server: options });
  const { server, tasks, clock, validator, peer } = served;
  await peer.send('tools/list', {});
  const fetch = validator.wrapFetch((request: Request) => server.fetch(request));
  const host = await ScriptedHost.connect(
    script,
    script.transport === 'http' ? overHttp(fetch) : overConnection(tasks, options),
    clock,
  );
  onTestFinished(() => host.end());
  const call = async (tool: string, args: Json = {}) => {
    const { answer, tookMs } = await answered<Outcome>(clock, host.call(tool, args));
    return { ...answer, tookMs, text: said(answer.result) };
  };
  const newest = async () => (await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 1 })).tasks[0]!;
  return { ...served, host, call, newest };
}

describe.each(hosts)('%s', (_, script, { answer, afterStop }) => {
  it('gets the result of a quick call, and one that takes a while', async () => {
    const { call } = await opened(script);
    expect((await call('greet', { name: 'Ada' })).text).toBe('Hello, Ada!');
    expect((await call('slow_compute', { seconds: 15, label: 'a' })).text).toBe('computed a in 15s');
  });

  it('gets the result of a slow call, however long, and never has to give up', async () => {
    const { call, host } = await opened(script);
    expect(host.tools.map(({ name }) => name)).toContain('task_wait');
    let reply = await call('slow_compute', { seconds: 900, label: 'a' });
    for (let turns = 0; reply.text.includes('task_wait'); turns += 1) {
      expect(turns).toBeLessThan(50);
      const [, args] = /call task_wait with (\{.*?\})/.exec(reply.text)!;
      reply = await call('task_wait', { ...(JSON.parse(args!) as Json), ...(turns > 1 && { maxWaitSec: 600 }) });
      expect(reply).not.toHaveProperty('stopped');
    }
    expect(reply.text).toBe('computed a in 900s');
    const token = (script.call.message['params'] as { _meta?: Json })._meta?.['progressToken'];
    expect(host.progress > 0).toBe(token !== undefined);
  });

  it('is asked, or its model is', async () => {
    const { call, host } = await opened(script);
    const reply = await call('confirm_delete', { filename: 'x' });
    if (answer !== undefined) {
      expect(host.asked).toMatchObject([{ method: 'elicitation/create', params: { message: 'Delete x?' } }]);
      expect(reply.text).toContain(`confirm={"action":"${answer}"`);
      return;
    }
    expect(host.asked).toEqual([]);
    const [, args] = /call task_answer with (\{.*\}), content filled in/.exec(reply.text)!;
    const question = JSON.parse(args!) as { taskId: string };
    expect((await call('task_answer', { ...question, content: { confirm: true } })).text).toContain('Answered');
    const done = await call('task_wait', { taskId: question.taskId });
    expect(done.text).toBe('confirm={"action":"accept","content":{"confirm":true}}');
  });

  it('gets a failure with all that its tool said', async () => {
    const { call } = await opened(script);
    const { result } = await call('failing_optional');
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'job failed' }],
      structuredContent: { exitCode: 3 },
    });
  });

  it('stops what it began, in its own way, and nothing else', async () => {
    const { host, clock, newest, call } = await opened(script);
    const stopped = host.call('slow_compute', { seconds: 900, label: 'a' });
    await settle();
    await pass(clock, 5 * SECOND);
    host.stop();
    expect(await stopped).toEqual({ stopped: true });
    await settle(40);
    expect((await newest()).state.status).toBe(afterStop);
    expect((await call('greet', { name: 'Ada' })).text).toBe('Hello, Ada!');
  });

  it('that gives up all the same, since it was set up to, finds its work again or has ended it', async () => {
    if (!Number.isFinite(script.habits.patienceMs)) return;
    const impatient = { ...script, habits: { ...script.habits, patienceMs: 10 * SECOND, waitsOnProgress: false } };
    const { call, clock, newest } = await opened(impatient);
    expect(await call('slow_compute', { seconds: 19, label: 'a' })).toMatchObject({ stopped: true });
    await settle(40);
    expect((await newest()).state.status).toBe(afterStop);
    if (afterStop !== 'working') return;
    await pass(clock, 2 * SECOND);
    expect((await call('slow_compute', { seconds: 19, label: 'a' })).text).toBe('computed a in 19s');
  });
});
