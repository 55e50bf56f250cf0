import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { deferred } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { events, type Peer, readReply, serve } from './peer.ts';

const inline = (peer: Peer, name: string, meta?: Json) =>
  peer.call(name, {}, { capabilities: {}, ...(meta && { meta }) });

describe.each(['optional', 'forbidden'] as const)('an %s tool called without tasks', (support) => {
  it('is answered with its result [G3-S-03] [G3-S-74]', async () => {
    const told = {
      content: [{ type: 'text', text: '42' }],
      structuredContent: { n: 42 },
      _meta: { 'example.com/a': 1 },
    };
    const { peer } = serve((tasks) => tasks.registerTool('tool', { task: { support } }, () => told));
    const { status, result } = await inline(peer, 'tool');
    expect({ status, result }).toMatchObject({ status: 200, result: { ...told, resultType: 'complete' } });
    expect(result['_meta']).toEqual({ 'example.com/a': 1, 'io.modelcontextprotocol/serverInfo': expect.anything() });
  });

  it('that reports a failure is answered with that report, whatever its output schema says [C-005]', async () => {
    const report = { content: [], structuredContent: { why: 'of another shape' }, isError: true };
    const config = { outputSchema: z.object({ frames: z.number() }), task: { support } };
    const { peer } = serve((tasks) => tasks.registerTool('tool', config, () => report));
    expect((await inline(peer, 'tool')).result).toMatchObject(report);
  });

  it('that throws is answered with a failure the model can read, without its stack', async () => {
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', { task: { support } }, () => {
        throw new Error('no such film');
      }),
    );
    const { body, result } = await inline(peer, 'tool');
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'no such film' }] });
    expect(body).not.toMatch(/\.ts|node_modules/);
  });

  it('that throws a JSON-RPC error of its own choosing is answered with it, as a task would end with it', async () => {
    const error = { code: -32050, message: 'no such film', data: { film: 'a' } };
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', { task: { support } }, () => {
        throw Object.assign(new Error(error.message), error);
      }),
    );
    const reply = await inline(peer, 'tool');
    expect({ status: reply.status, error: reply.error }).toEqual({ status: 200, error });
  });

  it.each<[string, object]>([
    ['a block of no known type', { content: [{ type: 'film' }] }],
    ['a block that lacks what its type has', { content: [{ type: 'text' }] }],
    ['an error flag that is none', { content: [], isError: 'yes' }],
  ])(
    'that returned %s is an internal error that names it, and no fault of the caller [G3-S-49] [C-011]',
    async (_, result) => {
      const { peer, log } = serve((tasks) => tasks.registerTool('tool', { task: { support } }, () => result));
      const { status, error } = await inline(peer, 'tool');
      expect({ status, error }).toEqual({
        status: 200,
        error: expect.objectContaining({ code: -32603, message: expect.stringContaining('tool tool returned') }),
      });
      expect(log).toContainEqual(
        expect.objectContaining({ level: 'error', fields: expect.objectContaining({ tool: 'tool' }) }),
      );
    },
  );

  /** A call that is under way: reports of its tool go out as soon as the clock moves. */
  async function underWay(progressToken?: string | number) {
    const running = deferred<TaskContext>();
    const goOn = deferred();
    const { peer, clock } = serve((tasks) =>
      tasks.registerTool('tool', { task: { support } }, async (_args, task) => {
        running.resolve(task);
        await goOn.promise;
        return text('done');
      }),
    );
    const meta = progressToken === undefined ? {} : { progressToken };
    const response = peer.stream('tools/call', { name: 'tool', arguments: {} }, { capabilities: {}, meta });
    const task = await running.promise;
    const report = (...news: Parameters<TaskContext['progress']>): void => {
      task.progress(...news);
      clock.advance(100); // Reports of a task are gathered for a moment.
    };
    return { response, report, goOn };
  }

  it('whose promised output does not fit is an internal error, as its task would be [G3-S-49]', async () => {
    const config = { outputSchema: z.object({ frames: z.number() }), task: { support } };
    const { peer } = serve((tasks) => tasks.registerTool('tool', config, () => ({ structuredContent: {} })));
    const { error } = await inline(peer, 'tool');
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('outputSchema refuses: frames') });
  });

  it('reports progress under the token of the call, rising only [G3-S-87]', async () => {
    const { response, report, goOn } = await underWay('p1');
    report(1, 4, 'one');
    const messages = events(await response);
    const next = async () => (await messages.next()).value as Json;
    expect((await next())['params']).toEqual({ progressToken: 'p1', progress: 1, total: 4, message: 'one' });
    report(1, 4, 'still one');
    report(0, 4);
    report(2.5, 4);
    expect((await next())['params']).toEqual({ progressToken: 'p1', progress: 2.5, total: 4 });
    report(2);
    report(4, 4);
    expect((await next())['params']).toEqual({ progressToken: 'p1', progress: 4, total: 4 });
    goOn.resolve();
    expect(await next()).toMatchObject({ result: { content: [{ text: 'done' }] } });
    expect((await messages.next()).done).toBe(true);
  });

  it.each([[7], [''], ['p']])('takes any token that is one: %j', async (progressToken) => {
    const { response, report, goOn } = await underWay(progressToken);
    report(1);
    const messages = events(await response);
    expect((await messages.next()).value).toMatchObject({ params: { progressToken, progress: 1 } });
    goOn.resolve();
    expect((await messages.next()).value).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });

  it('reports nothing without a token', async () => {
    const { response, report, goOn } = await underWay();
    report(1);
    goOn.resolve();
    const { notifications, result } = await readReply(await response);
    expect(notifications).toEqual([]);
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
  });

  it.each([[{}], [[]], [true], [null], [1.5]])(
    'is refused with a token that can be none: %j',
    async (progressToken) => {
      let runs = 0;
      const { peer } = serve((tasks) =>
        tasks.registerTool('tool', { task: { support } }, () => {
          runs += 1;
          return text('done');
        }),
      );
      const { status, error } = await inline(peer, 'tool', { progressToken });
      expect({ status, code: error.code }).toEqual({ status: 400, code: -32600 });
      expect(runs).toBe(0);
    },
  );
});

describe('a task', () => {
  it('sends no progress on the stream of the call that created it, though it had a token', async () => {
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', {}, (_args, task) => {
        task.progress(1);
        return new Promise(() => {});
      }),
    );
    const { notifications, result } = await peer.call('tool', {}, { meta: { progressToken: 'p' } });
    expect(notifications).toEqual([]);
    expect(result['resultType']).toBe('task');
  });
});

describe('a forbidden tool', () => {
  it('is inline for everybody, and never a task [G3-S-02]', async () => {
    const seen: unknown[] = [];
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', { task: { support: 'forbidden' } }, async (_args, task) => {
        const stepped = await task.step('once', () => ({ n: 1 }));
        seen.push(stepped, task.attempt, task.principal);
        task.log('nobody keeps this');
        return text('done');
      }),
    );
    expect((await peer.call('tool')).result).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
    expect(seen).toEqual([{ n: 1 }, 1, { subject: 'local' }]);
  });

  it('cannot ask in the middle, and says so', async () => {
    const { peer } = serve((tasks) =>
      tasks.registerTool('tool', { task: { support: 'forbidden' } }, async (_args, task) => {
        await task.ask('go', { message: 'Go?', schema: z.object({ ok: z.boolean() }) });
        return text('');
      }),
    );
    expect((await peer.call('tool')).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('cannot ask "go"') }],
    });
  });

  it.each<[string, unknown]>([
    ['a handle', { resultType: 'task', taskId: 'x', status: 'working', ttlMs: null }],
    ['nothing', undefined],
    ['no content', {}],
  ])(
    'that returned %s is an internal error for the caller and a line for the operator [G3-S-09] [G3-S-49] [C-011]',
    async (_, result) => {
      const { peer, log } = serve((tasks: Tasks) =>
        tasks.registerTool('tool', { task: { support: 'forbidden' } }, () => result as never),
      );
      const { status, error } = await peer.call('tool');
      expect({ status, error }).toEqual({
        status: 200,
        error: expect.objectContaining({ code: -32603, message: expect.stringContaining('tool tool returned') }),
      });
      expect(log).toContainEqual({
        level: 'error',
        message: expect.any(String),
        fields: expect.objectContaining({ tool: 'tool' }),
      });
    },
  );
});
