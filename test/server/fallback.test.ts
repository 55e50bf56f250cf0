import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type FallbackOptions, type Tasks, text } from '../../src/engine/index.ts';
import { CallerLimits, KNOWN_CLIENTS } from '../../src/server/limits.ts';
import type { TaskServerOptions } from '../../src/server/task-server.ts';
import { registerFixtureTools, said } from '../hosts/fixture.ts';
import { answered } from '../hosts/waiting.ts';
import { someTasks } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Reply, serve } from './peer.ts';

const SECOND = 1_000;
const plain = { capabilities: {} };
const named = (name: string) => ({
  ...plain,
  meta: { 'io.modelcontextprotocol/clientInfo': { name, version: '1.0.0' } },
});

function slowFor(server: TaskServerOptions = {}, fallback?: FallbackOptions) {
  const served = serve(
    (tasks: Tasks) => {
      const config = { inputSchema: z.object({ seconds: z.number() }), ...(fallback && { task: { fallback } }) };
      tasks.registerTool('slow', config, async ({ seconds }, task) => {
        await task.sleep(seconds * SECOND);
        return text(`took ${seconds} s`);
      });
    },
    { server },
  );
  const call = (seconds: number, sending: object = plain) =>
    answered<Reply>(served.clock, served.peer.call('slow', { seconds }, sending));
  return { ...served, call };
}

describe('a call from a client without tasks', () => {
  it('is answered with its result if that comes in time, and with a note if not [C-111]', async () => {
    const { call, peer, clock } = slowFor();
    for (const seconds of [0.05, 3]) {
      expect(said((await call(seconds)).answer.result)).toBe(`took ${seconds} s`);
    }
    const { answer, tookMs } = await call(60);
    expect(tookMs).toBe(20 * SECOND);
    const { taskId } = answer.result['structuredContent'] as { taskId: string };
    expect(answer.result).toMatchObject({
      resultType: 'complete',
      content: [
        { type: 'text' },
        {
          type: 'resource_link',
          uri: `longcall://tasks/${taskId}`,
          name: 'task of slow',
          mimeType: 'application/json',
        },
      ],
      structuredContent: { taskId, status: 'working', pollAfterMs: 2_000 },
    });
    const waited = await answered(clock, peer.call('task_wait', { taskId, maxWaitSec: 60 }, plain));
    expect(said(waited.answer.result)).toBe('took 60 s');
    // Who asks for the choice to be made for tasks gets it made for tasks.
    expect((await call(60, {})).answer.result).toMatchObject({ resultType: 'task' });
  });

  it('is told plainly that it is not finished, what to call next, and with which id [C-112] [C-114]', async () => {
    const { call } = slowFor();
    const { result } = (await call(60)).answer;
    const { taskId } = result['structuredContent'] as { taskId: string };
    const [first, ...rest] = said(result).split('\n');
    expect(first).toBe(`NOT finished: slow is still running, as task ${taskId}.`);
    expect(rest.join('\n')).toContain(`Next: call task_wait with {"taskId":"${taskId}"} to wait for the result.`);
    expect(said(result)).not.toMatch(/\b(done|success|succeeded|completed|ok)\b/i);
    expect(result).not.toHaveProperty('isError');
  });

  it('is told how to read the log, where there is one, by whatever means it has', async () => {
    const logging = (server: TaskServerOptions = {}) =>
      serve(
        (tasks) => {
          tasks.registerTool('build', {}, async (_args, task) => {
            task.log('compiling');
            for (let naps = 0; naps < 6; naps += 1) await task.sleep(10_000);
            return { content: [{ type: 'text', text: 'built' }] };
          });
        },
        { server },
      );
    const detached = async ({ peer, clock }: ReturnType<typeof logging>) => {
      const { result } = (await answered(clock, peer.call('build', {}, plain))).answer;
      return { taskId: (result['structuredContent'] as { taskId: string }).taskId, result };
    };
    const full = logging();
    const { taskId, result } = await detached(full);
    const means = JSON.stringify({ taskId });
    expect(said(result).split('\n').slice(2)).toEqual([
      `Its log: call task_logs with ${means}.`,
      `Next: call task_wait with ${means} to wait for the result.`,
    ]);
    const links = (result['content'] as Json[]).slice(1);
    expect(links.map(({ type, uri, mimeType }) => [type, uri, mimeType])).toEqual([
      ['resource_link', `longcall://tasks/${taskId}`, 'application/json'],
      ['resource_link', `longcall://tasks/${taskId}/log`, 'text/plain'],
    ]);
    const status = (await answered(full.clock, full.peer.call('task_status', { taskId }, plain))).answer;
    expect(said(status.result)).toBe(
      `build is still running. Its log: call task_logs with ${means}. Next: call task_wait with ${means} to wait for the result.`,
    );
    const bare = await detached(logging({ companions: false }));
    expect(said(bare.result)).toContain(`\nIts log is the resource longcall://tasks/${bare.taskId}/log.\nNext: `);
    const without = await detached(logging({ companions: false, resources: false }));
    expect(said(without.result)).not.toContain('log');
  });

  it('says how far it is', async () => {
    const { peer, clock } = serve(registerFixtureTools);
    const { answer } = await answered(clock, peer.call('slow_progress', { seconds: 60, every: 5 }, plain));
    expect(said(answer.result)).toMatch(/still running, as task \S+ \(1[05]\/60 step 1[05]\)\./);
  });

  it.each([
    ['2025-11-25', true],
    ['2025-06-18', true],
    ['2025-03-26', false],
    ['2024-11-05', false],
  ])('on %s links the resource: %s', async (version, links) => {
    const { peer, clock } = serve(registerFixtureTools);
    const legacy = await LegacyPeer.connect({ peer }, { version });
    const { answer } = await answered(clock, legacy.call('slow_compute', { seconds: 60 }));
    expect(said(answer.result)).toContain('task_wait');
    expect((answer.result['content'] as Json[]).some(({ type }) => type === 'resource_link')).toBe(links);
  });

  it('names no tool and no resource that there is not', async () => {
    const { call } = slowFor({ companions: false });
    const linked = said((await call(60)).answer.result);
    expect(linked).toMatch(/Next: in a minute, read the resource longcall:\/\/tasks\/\S+\/result\./);
    expect(linked).not.toContain('task_wait');
    const { call: callAgain } = slowFor({ companions: false, resources: false });
    const { result } = (await callAgain(60)).answer;
    expect(said(result)).toContain('This client has no means to fetch the result.');
    expect(result['content']).toHaveLength(1);
  });
});

describe('how long a call may take', () => {
  it.each<[string, TaskServerOptions, FallbackOptions | undefined, string, number]>([
    ['by default', {}, undefined, 'nobody knows me', 20],
    ['of the server', { fallback: { detachAfterMs: 5_000 } }, undefined, 'nobody knows me', 5],
    [
      'of the client',
      { fallback: { detachAfterMs: 5_000 }, clients: { me: { detachAfterMs: 9_000 } } },
      undefined,
      'me',
      9,
    ],
    ['of the tool', { clients: { me: { detachAfterMs: 9_000 } } }, { detachAfterMs: 12_000 }, 'me', 12],
    ['not at all', {}, { detachAfterMs: 0 }, 'me', 0],
    ['of a known host', {}, undefined, 'opencode', 40],
    ['of a patient host', {}, undefined, 'gemini-cli-mcp-client', 120],
    [
      'of a known host that was set up otherwise',
      { clients: { opencode: { detachAfterMs: 7_000 } } },
      undefined,
      'opencode',
      7,
    ],
    ['of a host that is called like a member of every object', {}, undefined, 'constructor', 20],
  ])('is that %s', async (_, server, fallback, client, seconds) => {
    const { call } = slowFor(server, fallback);
    const { answer, tookMs } = await call(300, named(client));
    expect({ tookMs, said: said(answer.result) }).toEqual({
      tookMs: seconds * SECOND,
      said: expect.stringContaining('still running'),
    });
  });

  it('is well below what each known host waits', () => {
    const { tasks } = someTasks();
    tasks.registerTool('slow', {}, () => text(''));
    const limits = new CallerLimits();
    for (const client of KNOWN_CLIENTS) {
      for (const hearsProgress of [true, false]) {
        const detached = limits.of(tasks.tools[0]!, { client, hearsProgress });
        const blocked = new CallerLimits({ mode: 'block' }).of(tasks.tools[0]!, { client, hearsProgress });
        expect(detached.waitMs).toBeLessThanOrEqual((client.patienceMs * 2) / 3);
        if (!(hearsProgress && client.waitsOnProgress)) {
          expect(blocked.waitMs).toBeLessThanOrEqual((client.patienceMs * 2) / 3);
        }
      }
    }
  });

  it.each<[FallbackOptions, string]>([
    [{ mode: 'wait' as never }, "mode must be 'detach', 'block' or 'refuse', got wait"],
    [{ detachAfterMs: -1 }, 'detachAfterMs must be a whole number of milliseconds of at least 0, got -1'],
    [{ maxBlockMs: 1.5 }, 'maxBlockMs must be a whole number of milliseconds of at least 0, got 1.5'],
  ])('cannot be %j, whoever says it', (options, problem) => {
    const { tasks } = someTasks();
    const register = () => tasks.registerTool('slow', { task: { fallback: options } }, () => text(''));
    expect(register).toThrow(`registerTool "slow": task.fallback.${problem}`);
    expect(() => new CallerLimits(options)).toThrow(`fallback.${problem}`);
    expect(() => new CallerLimits({}, { me: options })).toThrow(`clients["me"].${problem}`);
  });
});

describe('a client that has to wait', () => {
  it('waits for the end, and is told after all when that is too long', async () => {
    const { call } = slowFor({ fallback: { mode: 'block', maxBlockMs: 200_000 } });
    const waited = await call(150);
    expect(said(waited.answer.result)).toBe('took 150 s');
    const { answer, tookMs } = await call(300);
    expect({ tookMs, text: said(answer.result) }).toMatchObject({
      tookMs: 200_000,
      text: expect.stringContaining('NOT finished'),
    });
  });

  it('cannot be asked, if it cannot show a form, and its tool is told so', async () => {
    const { peer } = serve(registerFixtureTools, { server: { fallback: { mode: 'block' } } });
    const { result } = await peer.call('confirm_delete', { filename: 'x' }, plain);
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('cannot ask') }] });
  });

  it('is one that knows tasks and asked for none', async () => {
    const { peer, clock } = serve((tasks) => {
      registerFixtureTools(tasks);
      const config = { inputSchema: z.object({ seconds: z.number() }), outputSchema: z.object({ n: z.number() }) };
      tasks.registerTool('typed', config, async ({ seconds }, task) => {
        await task.sleep(seconds * SECOND);
        return { structuredContent: { n: 1 } };
      });
    });
    const legacy = await LegacyPeer.connect({ peer }, { capabilities: { tasks: {} } });
    const { answer } = await answered(clock, legacy.call('slow_compute', { seconds: 100, label: 'a' }));
    expect(said(answer.result)).toBe('computed a in 100s');
    // Its schema is not widened: what cannot fit it may not claim to.
    const late = await answered(clock, legacy.call('typed', { seconds: 700 }));
    expect(late.tookMs).toBe(600 * SECOND);
    expect(late.answer.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('NOT finished') }, {}],
    });
    expect(late.answer.result).not.toHaveProperty('structuredContent');
    expect(said(late.answer.result)).not.toContain('task_wait');
  });
});

describe('a client that is refused', () => {
  const refusing: TaskServerOptions = { fallback: { mode: 'refuse' }, clients: { friend: { mode: 'detach' } } };

  it('is told what to enable, and nothing runs', async () => {
    const { peer, call, tasks } = slowFor(refusing);
    const modern = await call(1);
    expect({ status: modern.answer.status, error: modern.answer.error }).toMatchObject({
      status: 400,
      error: { code: -32021 },
    });
    for (const [version, hint] of [
      ['2025-11-25', 'call it with params.task'],
      ['2025-06-18', 'call it with MCP 2026-07-28 and the tasks extension declared'],
    ] as const) {
      const legacy = await LegacyPeer.connect({ peer }, { version });
      const { error } = await legacy.call('slow', { seconds: 1 });
      expect(error).toMatchObject({ code: -32601, message: expect.stringContaining(hint) });
    }
    expect((await tasks.engine.list(LOCAL_PRINCIPAL, { limit: 1 })).tasks).toEqual([]);
  });

  it('unless its name or the tool says otherwise', async () => {
    expect(said((await slowFor(refusing).call(1, named('friend'))).answer.result)).toBe('took 1 s');
    expect(said((await slowFor(refusing, { mode: 'detach' }).call(1)).answer.result)).toBe('took 1 s');
    const { answer } = await slowFor({}, { mode: 'refuse' }).call(1, named('friend'));
    expect(answer.error).toMatchObject({ code: -32021 });
  });
});
