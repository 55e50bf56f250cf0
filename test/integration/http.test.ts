import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { overHttp, validated } from './host.ts';
import { aPlace, listening, run } from './processes.ts';

const isTerminal = ({ status }: Record<string, unknown>) => !['working', 'input_required'].includes(String(status));
const content = (text: string) => ({ content: [{ type: 'text', text }] });

describe('over HTTP, a server that is killed and started again', () => {
  it('goes on with a task from its last step, for the same client [G3-S-11] [G3-S-76] [C-008]', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const host = await overHttp(first.url, validator);
    const handle = await host.start('count', { to: 5, waitAt: 3 });
    const { taskId } = handle;
    const half = await host.when(taskId, 'is half-way', ({ statusMessage }) => statusMessage === '2/5');
    await first.kill();
    place.go();
    await listening(place, first.port);
    const done = await host.when(taskId, 'is over', isTerminal);
    expect(done).toMatchObject({
      status: 'completed',
      createdAt: handle['createdAt'],
      result: { resultType: 'complete', ...content('sum 15'), structuredContent: { sum: 15 } },
    });
    expect(Date.parse(String(done['lastUpdatedAt']))).toBeGreaterThan(Date.parse(String(half['lastUpdatedAt'])));
    expect(await host.get(taskId)).toEqual(done);
    // Only the step that was cut ran twice.
    expect(place.ran()).toEqual([1, 2, 3, 3, 4, 5].map((n) => `step ${n}`));
  });

  it('still asks what it asked, and takes the answer', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const host = await overHttp(first.url, validator);
    const { taskId } = await host.start('ask');
    const asked = await host.when(taskId, 'asks', ({ status }) => status === 'input_required');
    await first.kill();
    await listening(place, first.port);
    const again = await host.when(taskId, 'asks', ({ status }) => status === 'input_required');
    expect(again['inputRequests']).toEqual(asked['inputRequests']);
    const [key] = Object.keys(again['inputRequests'] as object);
    await host.update(taskId, { [key!]: { action: 'accept', content: { colour: 'red' } } });
    expect(await host.when(taskId, 'is over', isTerminal)).toMatchObject({ result: content('painted red') });
  });

  it('knows every task whose handle it sent, the last one too [G3-S-11] [C-010]', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const host = await overHttp(first.url, validator);
    const handles = await Promise.all(Array.from({ length: 20 }, () => host.start('wait')));
    await first.kill();
    await listening(place, first.port);
    for (const { taskId, createdAt } of handles) {
      const task = await host.when(taskId, 'is there', () => true);
      expect(task).toMatchObject({ taskId, createdAt });
    }
  });

  it('keeps what was cancelled cancelled', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const host = await overHttp(first.url, validator);
    const { taskId } = await host.start('count', { to: 2, waitAt: 1 });
    await host.when(taskId, 'works', () => place.ran().length > 0);
    await host.cancel(taskId);
    const before = await host.get(taskId);
    expect(before['status']).toBe('cancelled');
    await first.kill();
    place.go();
    await listening(place, first.port);
    expect(await host.when(taskId, 'is there', () => true)).toEqual(before);
    expect(place.ran()).toEqual(['step 1']);
  });
});

describe('over HTTP, the official client', () => {
  it('calls what is no task, and meets errors it knows [G3-S-04] [G3-S-80]', async () => {
    const server = await listening(aPlace());
    const host = await overHttp(server.url, validated());
    const { tools } = await host.client.listTools();
    expect(tools.map(({ name }) => name)).toContain('greet');
    expect(await host.client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject(
      content('hello Ada'),
    );
    expect(host.client.getServerCapabilities()).toMatchObject({ extensions: { 'io.modelcontextprotocol/tasks': {} } });
    await expect(host.get('tsk_AAAAAAAAAAAAAAAAAAAAAAAA')).rejects.toMatchObject({ code: -32602 });
    const refused = await host.raw('tools/call', { name: 'must', arguments: {} }, {});
    expect(refused).toMatchObject({ kind: 'error', error: { code: -32021 } });
    await expect(host.raw('tasks/list', {})).rejects.toThrow('-32601');
  });

  it.each([
    ['one that negotiates', { versionNegotiation: { mode: 'auto' as const } }, 'modern'],
    ['one of 2025-11-25', {}, 'legacy'],
  ])('is answered inline without the extension: %s [C-015]', async (_, options, era) => {
    const place = aPlace();
    const server = await listening(place);
    place.go();
    const { client } = await overHttp(server.url, validated(), options);
    expect(client.getProtocolEra()).toBe(era);
    const progress: number[] = [];
    const result = await client.callTool(
      { name: 'count', arguments: { to: 3 } },
      { onprogress: (news) => void progress.push(news.progress) },
    );
    expect(result).toMatchObject({ ...content('sum 6'), structuredContent: { sum: 6 } });
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    const refused = client.callTool({ name: 'must', arguments: {} });
    await expect(refused).rejects.toMatchObject({ code: era === 'modern' ? -32021 : -32601 });
    await expect(refused).rejects.toThrow(era === 'modern' ? /tasks extension/ : /params\.task/);
    await expect(client.callTool({ name: 'broken', arguments: {} })).rejects.toMatchObject({
      code: -32050,
      data: { reel: 3 },
    });
  });
});

describe('over HTTP, a session of ext-tasks', () => {
  it('follows a task to its result, its failure or its end, and answers what it asks', async () => {
    const place = aPlace();
    place.go();
    const server = await listening(place);
    const host = await overHttp(server.url, validated());
    await using session = host.session(() => ({ colour: 'green', name: 'Ada' }));
    const outcome = async (name: string, args = {}) => (await session.callTool(name, args)).result();

    expect(await outcome('greet', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      result: content('hello Ada'),
    });
    expect(await outcome('count', { to: 3 })).toMatchObject({ status: 'completed', result: content('sum 6') });
    expect(await outcome('report')).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(await outcome('broken')).toMatchObject({ status: 'failed', error: { code: -32050, data: { reel: 3 } } });
    expect(await outcome('ask')).toMatchObject({ status: 'completed', result: content('painted green') });
    expect(await outcome('greetLater')).toMatchObject({ status: 'completed', result: content('hello Ada') });

    const execution = await session.callTool('wait');
    await execution.cancel();
    expect(await execution.result()).toMatchObject({ status: 'cancelled' });
  });

  it('finds its task again after a restart, by the reference it kept', async () => {
    const place = aPlace();
    const validator = validated();
    const first = await listening(place);
    const host = await overHttp(first.url, validator);
    const session = host.session();
    const execution = await session.callTool('count', { to: 3, waitAt: 2 });
    if (execution.kind !== 'task') throw new Error('expected a task');
    const reference = execution.serializeReference();
    await host.when(execution.handle.taskId, 'is under way', () => place.ran().includes('step 2'));
    await execution.detach();
    await session.close();
    await first.kill();
    place.go();
    const second = await listening(place);
    const later = await overHttp(second.url, validator);
    await using resumed = later.session();
    const again = await resumed.resumeTask(reference);
    expect(await again.result()).toMatchObject({ status: 'completed', result: content('sum 6') });
  });
});

describe('a server that cannot start', () => {
  it('since its port is in use ends with an error that says so', async () => {
    const place = aPlace();
    const first = await listening(place);
    const second = run('http', ':memory:', place.folder, String(first.port));
    expect(await second.ended).not.toBe(0);
    expect(second.stderr).toContain(`127.0.0.1:${first.port} is in use`);
    const host = await overHttp(first.url, validated());
    expect(await host.client.callTool({ name: 'greet', arguments: { name: 'Ada' } })).toMatchObject(
      content('hello Ada'),
    );
  });

  it('since its database is none ends with an error that says so, and leaves the file alone', async () => {
    const place = aPlace();
    const precious = 'my shopping list\n'.repeat(300);
    writeFileSync(place.database, precious);
    const server = run('http', place.database, place.folder);
    expect(await server.ended).not.toBe(0);
    expect(server.stdout).toBe('');
    expect(server.stderr).toContain(`${place.database} is not a SQLite database`);
    expect(readFileSync(place.database, 'utf8')).toBe(precious);
  });
});
