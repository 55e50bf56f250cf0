import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

// What clients before 2026-07-28 see of tasks: those of 2025-11-25 what that revision says, all earlier ones nothing.

const OLDER = ['2025-06-18', '2025-03-26', '2024-11-05'];
/** Everything another revision might take for a request for a task. */
const stray = {
  tasks: { requests: { tools: { call: {} } } },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

function register(tasks: Tasks): void {
  tasks.registerTool('optional', { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(`${n}`));
  tasks.registerTool('required', { task: { support: 'required' } }, () => text('ran'));
  tasks.registerTool('forbidden', { task: { support: 'forbidden' } }, () => text('ran'));
}

const content = (said: string) => ({ content: [{ type: 'text', text: said }] });

describe('a session of 2025-11-25', () => {
  it('is told of tasks down to the innermost member [G2-S-01] [G2-S-02] [C-013]', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    expect(peer.hello).toMatchObject({ protocolVersion: '2025-11-25' });
    const { tasks } = peer.hello['capabilities'] as { tasks: unknown };
    expect(tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
    expect(peer.hello['capabilities']).not.toHaveProperty('extensions');
  });

  it('is told of none where no tool can be one, and then `task` means nothing [G2-S-06] [C-013]', async () => {
    const onlyQuick = (tasks: Tasks) =>
      tasks.registerTool('forbidden', { task: { support: 'forbidden' } }, () => text('ran'));
    const peer = await LegacyPeer.connect(serve(onlyQuick));
    expect(peer.hello['capabilities']).not.toHaveProperty('tasks');
    expect((await peer.call('forbidden', {}, { task: {} })).result).toEqual(content('ran'));
    for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel']) {
      expect((await peer.send(method, { taskId: 'x' })).error.code).toBe(-32601);
    }
  });

  it('sees of each tool whether it can be a task [G2-S-70]', async () => {
    const peer = await LegacyPeer.connect(serve(register), { capabilities: { tasks: {} } });
    const { tools } = (await peer.send('tools/list')).result as { tools: Json[] };
    expect(Object.fromEntries(tools.map(({ name, execution }) => [name, execution]))).toEqual({
      optional: { taskSupport: 'optional' },
      required: { taskSupport: 'required' },
      forbidden: { taskSupport: 'forbidden' },
    });
  });

  it('gets by tool and `task` what the revision says [G2-S-04] [G2-S-05] [G2-S-08]', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    for (const name of ['optional', 'required']) await peer.start(name, { n: 1 });
    const refused = (await peer.call('forbidden', {}, { task: {} })).error;
    expect(refused).toEqual({ code: -32601, message: expect.stringContaining('call it without a task') });
    expect((await peer.call('optional', { n: 1 })).result).toEqual(content('1'));
    expect((await peer.call('forbidden')).result).toEqual(content('ran'));
  });

  it('is told what to do about a tool that runs only as a task [G2-S-05] [G2-S-52] [C-015]', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    const { status, error } = await peer.call('required');
    expect(status).toBe(200);
    expect(error).toEqual({ code: -32601, message: expect.stringMatching(/^tool required .*"task": \{\}/) });
  });

  it('gains nothing by declaring the later extension, or by the key of the first draft [G3-S-68]', async () => {
    const peer = await LegacyPeer.connect(serve(register), { capabilities: stray });
    const _meta = { 'modelcontextprotocol.io/task': { taskId: 'mine' } };
    expect((await peer.call('optional', { n: 1 }, { _meta })).result).toEqual(content('1'));
    expect((await peer.send('tasks/update', { taskId: 'x', inputResponses: {} })).error.code).toBe(-32601);
    expect((await peer.send('server/discover')).error.code).toBe(-32601);
  });

  it('gets a wrong `task` refused before there is a task [G2-S-52]', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    for (const task of [null, 'yes', [], 5]) {
      const { error } = await peer.call('optional', { n: 1 }, { task });
      expect({ task, code: error?.code }).toEqual({ task, code: -32602 });
    }
    expect((await peer.call('optional', { n: 'one' }, { task: {} })).error).toMatchObject({ code: -32602 });
    expect((await peer.send('tasks/list')).result['tasks']).toEqual([]);
  });

  it('is the newest there is where the client asks for a later one, or for one nobody knows', async () => {
    const served = serve(register);
    for (const version of ['2026-07-28', '2099-01-01', 'whatever']) {
      const peer = await LegacyPeer.connect(served, { version });
      expect(peer.hello).toMatchObject({ protocolVersion: '2025-11-25' });
      await peer.start('required');
    }
  });
});

describe.each(OLDER)('a session of %s', (version) => {
  it('sees no trace of tasks [G2-S-06]', async () => {
    const peer = await LegacyPeer.connect(serve(register), { version, capabilities: stray });
    expect(peer.hello).toMatchObject({ protocolVersion: version });
    expect(peer.hello['capabilities']).not.toHaveProperty('tasks');
    expect(peer.hello['capabilities']).not.toHaveProperty('extensions');
    const { tools } = (await peer.send('tools/list')).result as { tools: Json[] };
    expect(tools.length).toBeGreaterThanOrEqual(3);
    for (const tool of tools) expect(tool).not.toHaveProperty('execution');
    for (const method of ['get', 'result', 'list', 'cancel', 'update', 'delete']) {
      expect((await peer.send(`tasks/${method}`, { taskId: 'x' })).error.code).toBe(-32601);
    }
  });

  it('is answered without a task, whatever it asks for [G2-S-06] [C-015]', async () => {
    const peer = await LegacyPeer.connect(serve(register), { version });
    const opted = [{}, { task: { ttl: 60_000 } }, { _meta: { 'modelcontextprotocol.io/task': { taskId: 'x' } } }];
    for (const extra of opted) {
      expect((await peer.call('optional', { n: 1 }, extra)).result).toEqual(content('1'));
      expect((await peer.call('required', {}, extra)).result).toEqual(content('ran'));
      expect((await peer.call('forbidden', {}, extra)).result).toEqual(content('ran'));
    }
  });

  it('is told nothing of tasks on its channel, nor by a question', async () => {
    const asks = (tasks: Tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) =>
        text((await task.ask('go', { message: 'Go on?', schema: z.object({}) })).action),
      );
    const capabilities = { elicitation: {} };
    const peer = await LegacyPeer.connect(serve(asks), { version, capabilities });
    const leave = new AbortController();
    const channel = await peer.channel(leave.signal);
    peer.onQuestion = ({ params }) => {
      expect(params).toEqual({ message: 'Go on?', requestedSchema: expect.anything() });
      return { result: { action: 'accept', content: {} } };
    };
    const { result, others } = await peer.call('asks', {}, { task: {} });
    expect(result).toEqual(content('accept'));
    expect(others).toHaveLength(1);
    await settle();
    leave.abort();
    await channel.ended;
    expect(channel.seen).toEqual([]);
  });
});

describe('without a session', () => {
  it('the header alone says that it is 2025-11-25', async () => {
    const peer = LegacyPeer.stateless(serve(register), '2025-11-25');
    const { taskId } = await peer.start('required');
    expect((await peer.send('tasks/result', { taskId })).result).toMatchObject(content('ran'));
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'completed' });
    expect((await peer.send('tasks/list')).result['tasks']).toMatchObject([{ taskId }]);
    expect((await peer.send('tasks/cancel', { taskId })).error.code).toBe(-32602);
  });

  it.each<[string | undefined]>([[undefined], ...OLDER.map((version): [string] => [version])])(
    'and with %s for a header, there are no tasks',
    async (version) => {
      const peer = LegacyPeer.stateless(serve(register), version);
      expect((await peer.call('required', {}, { task: {} })).result).toEqual(content('ran'));
      expect((await peer.send('tasks/list')).error.code).toBe(-32601);
      for (const tool of (await peer.send('tools/list')).result['tools'] as Json[])
        expect(tool).not.toHaveProperty('execution');
    },
  );
});

it('a client that goes away has cancelled nothing: its plain call goes on [G2-S-69]', async () => {
  const running = deferred();
  const goOn = deferred();
  const ended = deferred<boolean>();
  const served = serve((tasks) =>
    tasks.registerTool('slow', {}, async (_args, task) => {
      running.resolve();
      await goOn.promise;
      ended.resolve(task.signal.aborted);
      return text('done');
    }),
  );
  const peer = await LegacyPeer.connect(served);
  const request = new AbortController();
  const reply = peer.call('slow', {}, {}, { signal: request.signal });
  await running.promise;
  request.abort();
  await reply;
  await settle();
  goOn.resolve();
  expect(await ended.promise).toBe(false);
});
