import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTasks, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import type { TaskLogPage } from '../../src/wire/task-log.ts';
import { deferred, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { silent } from '../support/stores.ts';
import { OUTPUT, writes } from '../support/writes.ts';
import { draftPeer, startDraft } from './draft-peer.ts';
import type { LegacyPeer } from './legacy-peer.ts';
import { closing, Peer, type Reply, serve, validated } from './peer.ts';

const read = (peer: Peer, uri: string): Promise<Reply> =>
  peer.send('resources/read', { uri }, { headers: { 'mcp-name': uri } });

const contents = ({ result }: Reply) => (result['contents'] as { uri: string; mimeType: string; text: string }[])[0];
const json = (reply: Reply) => JSON.parse(contents(reply)?.text ?? '') as unknown;

const go = deferred();
function tools(tasks: Tasks): void {
  tasks.registerTool('quick', { inputSchema: z.object({ name: z.string() }) }, ({ name }, task) => {
    task.log(`hello ${name}`, 'warning');
    if (name === 'nobody') throw new Error('nobody there');
    return {
      content: [{ type: 'text', text: `hello ${name}` }],
      _meta: { kept: 1, 'io.modelcontextprotocol/related-task': {} },
    };
  });
  tasks.registerTool('asking', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    task.progress(1, 3, 'asking');
    await task.ask('sure', { message: 'Sure?', schema: z.object({ pin: z.string() }) });
    return text('done');
  });
  tasks.registerTool('writes', {}, (_args, task) => {
    writes(task, ...OUTPUT);
    return text('written');
  });
  tasks.registerTool('chatty', {}, async (_args, task) => {
    for (let n = 0; n < 3_000; n += 1) task.log(`line ${n} ${'.'.repeat(40)}`);
    await go.promise;
    return text('done');
  });
}

describe('the resources of a task', () => {
  it('are where it stands, its result and its log', async () => {
    const { peer, reaches } = serve(tools);
    const { taskId } = await peer.start('quick', { name: 'Ann' });
    await reaches(taskId, 'completed');
    const task = await read(peer, `longcall://tasks/${taskId}`);
    expect(contents(task)).toMatchObject({ uri: `longcall://tasks/${taskId}`, mimeType: 'application/json' });
    expect(json(task)).toEqual({
      taskId,
      tool: 'quick',
      status: 'completed',
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: expect.any(String),
      expiresAt: '2026-01-08T00:00:00.000Z',
      attempt: 1,
    });
    const result = await read(peer, `longcall://tasks/${taskId}/result`);
    expect(contents(result)?.mimeType).toBe('application/json');
    expect(json(result)).toEqual({ content: [{ type: 'text', text: 'hello Ann' }], _meta: { kept: 1 } });
    const log = await read(peer, `longcall://tasks/${taskId}/log`);
    expect(contents(log)).toMatchObject({
      mimeType: 'text/plain',
      text: '2026-01-01T00:00:00.000Z warning hello Ann\n',
    });
    expect(log.result).toMatchObject({ cacheScope: 'private', ttlMs: 0 });
  });

  it('tell of questions and progress, of errors, and of a reason', async () => {
    const { peer, reaches, clock } = serve(tools);
    const asking = await peer.start('asking');
    await reaches(asking.taskId, 'input_required');
    clock.advance(100);
    await settle();
    expect(json(await read(peer, `longcall://tasks/${asking.taskId}`))).toMatchObject({
      status: 'input_required',
      progress: { progress: 1, total: 3, message: 'asking' },
      questions: [{ key: 'sure', message: 'Sure?' }],
    });
    await peer.cancel(asking.taskId);
    const cancelled = await read(peer, `longcall://tasks/${asking.taskId}`);
    expect(json(cancelled)).toMatchObject({ status: 'cancelled', reason: 'cancelled by the client' });
    const failing = await peer.start('quick', { name: 'nobody' });
    await reaches(failing.taskId, 'failed');
    const failed = await read(peer, `longcall://tasks/${failing.taskId}`);
    expect(json(failed)).toMatchObject({ status: 'failed', error: { code: -32603, message: 'nobody there' } });
  });

  it('show the end of a long log, and say that there is more', async () => {
    const { peer, clock } = serve(tools);
    const { taskId } = await peer.start('chatty');
    await settle();
    clock.advance(100);
    await settle();
    const log = contents(await read(peer, `longcall://tasks/${taskId}/log`))?.text ?? '';
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(64 * 1024 + 100);
    expect(Buffer.byteLength(log)).toBeGreaterThan(60 * 1024);
    const [marker, ...lines] = log.trimEnd().split('\n');
    expect(marker).toMatch(/^… of \d+ bytes logged, only the last are shown here$/);
    expect(lines.at(-1)).toMatch(/info line 2999 \.+$/);
    expect(lines.every((line) => /^2026-01-01T00:00:00.000Z info line \d+ \.{40}$/.test(line))).toBe(true);
    go.resolve();
  });

  it('show what a command wrote as text, one stream or its last lines, and hand it to programs as it was', async () => {
    const { peer, reaches } = serve(tools);
    const { taskId } = await peer.start('writes');
    await reaches(taskId, 'completed');
    const log = async (rest = '') => contents(await read(peer, `longcall://tasks/${taskId}/log${rest}`))?.text ?? '';
    const shown = async (rest = '') =>
      (await log(rest))
        .replaceAll(/^2026-\S+ /gm, '')
        .trimEnd()
        .split('\n');
    expect(await shown()).toEqual(['stdout  ok one.test', 'stderr FAIL two.test', 'stdout 30%', 'warning half way']);
    expect(await shown('/all/10')).toEqual(await shown());
    expect(await shown('/stderr/10')).toEqual(['stderr FAIL two.test']);
    expect(await shown('/stdout/1')).toEqual([expect.stringMatching(/^… of \d+ bytes logged/), 'stdout 30%']);
    const page = JSON.parse(await log('/0')) as TaskLogPage;
    expect(page).toEqual({
      lines: OUTPUT.map((line) => ({ level: 'info', ...line, at: expect.any(Number) })),
      cursor: expect.any(Number),
      atEnd: true,
    });
    expect(JSON.parse(await log(`/${page.cursor}`))).toEqual({ lines: [], cursor: page.cursor, atEnd: true });
  });

  it('are there for nobody but its owner: unknown, foreign and unfinished are answered alike', async () => {
    const principal = { current: 'alice' };
    const { peer, reaches } = serve(tools, { server: { principal: () => ({ subject: principal.current }) } });
    const { taskId } = await peer.start('quick', { name: 'Ann' });
    await reaches(taskId, 'completed');
    principal.current = 'mallory';
    const unknown = taskId.replace(/.{4}$/, 'AAAA');
    for (const rest of ['', '/log', '/log/0', '/log/all/10', '/result']) {
      const foreign = await read(peer, `longcall://tasks/${taskId}${rest}`);
      expect(foreign.error).toEqual({
        code: -32602,
        message: `Resource not found: longcall://tasks/${taskId}${rest}`,
        data: { uri: `longcall://tasks/${taskId}${rest}` },
      });
      const missing = await read(peer, `longcall://tasks/${unknown}${rest}`);
      const normal = (body: string) => body.replaceAll(/tsk_[\w-]+/g, 'ID').replace(/"id":\d+/, '"id":0');
      expect(normal(missing.body)).toBe(normal(foreign.body));
    }
    const asking = await peer.start('asking');
    await reaches(asking.taskId, 'input_required');
    expect((await read(peer, `longcall://tasks/${asking.taskId}/result`)).error.message).toMatch(/^Resource not found/);
    const oddLogs = ['x', 'all/0', 'all/10001', 'all/x', 'all/-1', 'stdin/10', 'all/1/2'].map(
      (rest) => `${taskId}/log/${rest}`,
    );
    for (const rest of ['tasks/', 'tasks/a/b', 'tasks/a/log/x', 'other/a', ...oddLogs.map((log) => `tasks/${log}`)]) {
      const odd = `longcall://${rest}`;
      expect((await read(peer, odd)).error.message, odd).toMatch(/^Resource not found/);
    }
  });

  it('are found by the id that the requestor of a task has made, on the first draft, and by nobody else', async () => {
    const principal = { current: 'alice' };
    const server = { principal: () => ({ subject: principal.current }), firstDraft: true };
    const served = serve(tools, { server });
    const uri = 'longcall://tasks/all%20of%20mine/log';
    const logIn = async (session: LegacyPeer): Promise<Json> => (await session.send('resources/read', { uri })).message;
    const own = await draftPeer(served);
    await startDraft(own, 'chatty', 'all of mine');
    expect(await logIn(own)).toMatchObject({ result: { contents: [{ uri, text: expect.any(String) }] } });
    expect((await own.send('resources/subscribe', { uri })).message).toMatchObject({ result: {} });
    principal.current = 'mallory';
    const foreign = await draftPeer(served);
    const error = { code: -32602, message: `Resource not found: ${uri}` };
    expect(await logIn(foreign)).toMatchObject({ error });
    expect((await foreign.send('resources/subscribe', { uri })).message).toMatchObject({ error });
  });

  it('are offered as templates: which tasks there are is not for everybody to know', async () => {
    const { peer } = serve(tools);
    await peer.start('quick', { name: 'Ann' });
    const { result } = await peer.send('resources/templates/list', {});
    expect((result['resourceTemplates'] as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate)).toEqual([
      'longcall://tasks/{id}',
      'longcall://tasks/{id}/log',
      'longcall://tasks/{id}/log/{stream}/{lines}',
      'longcall://tasks/{id}/log/{cursor}',
      'longcall://tasks/{id}/result',
    ]);
    expect((await peer.send('resources/list', {})).result['resources']).toEqual([]);
    const { result: discovered } = await peer.send('server/discover', {});
    expect(discovered['capabilities']).toMatchObject({ resources: { listChanged: false, subscribe: true } });
  });

  it('can be left out', async () => {
    const { peer } = serve(tools, { server: { resources: false } });
    const { result } = await peer.send('server/discover', {});
    expect(result['capabilities']).not.toHaveProperty('resources');
    expect((await peer.send('resources/templates/list', {})).error.code).toBe(-32601);
  });

  it('leave the resources of the server itself alone, and give way to them', async () => {
    const clock = new ManualClock();
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, drainMs: 0, clock });
    tools(tasks);
    const handler = createTaskHandler(tasks, () => {
      const mcp = new McpServer({ name: 'mine', version: '1.0.0' });
      const mine = (uri: URL) => ({ contents: [{ uri: uri.href, text: 'mine' }] });
      mcp.registerResource('motd', 'app://motd', {}, mine);
      mcp.registerResource('longcall-task', new ResourceTemplate('app://tasks/{id}', { list: undefined }), {}, mine);
      mcp.registerResource('logs', new ResourceTemplate('longcall://tasks/{id}/log', { list: undefined }), {}, mine);
      return mcp;
    });
    const peer = new Peer((request) => handler.fetch(request), validated());
    try {
      for (const uri of ['app://motd', 'app://tasks/1', 'longcall://tasks/1/log']) {
        expect(contents(await read(peer, uri))?.text, uri).toBe('mine');
      }
      const { taskId } = await peer.start('quick', { name: 'Ann' });
      expect((await read(peer, `longcall://tasks/${taskId}`)).error.message).toMatch(/^Resource not found/);
    } finally {
      await handler.close();
      await closing(tasks, clock);
    }
  });
});
