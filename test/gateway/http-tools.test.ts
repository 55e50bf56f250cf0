import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTaskClient } from '../../src/client/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { parseConfig } from '../../src/gateway/config/load.ts';
import type { GatewayConfig } from '../../src/gateway/config/types.ts';
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts';
import { serving } from '../adapters/http/support.ts';
import type { FakeRequest } from '../fakes/fake-service.ts';
import { GenericService } from '../fakes/generic-service.ts';
import { stateFolder, words } from './support.ts';

const HOOK = 'this signs the hooks';
const TOKEN = 'token-of-the-api';

function configOf(service: GenericService, { tool = 'build', listen = '' } = {}): GatewayConfig {
  const text = `
publicUrl: https://tasks.example.com/longcall
${listen}
http:
  ${tool}:
    description: Builds a branch
    input: { properties: { branch: { type: string } }, required: [branch] }
    start:
      url: ${service.origin}/repos/{branch}/builds
      body: { branch: { input: branch }, callback: { job: webhook } }
    headers: { Authorization: "Bearer $\{env:API_TOKEN}" }
    webhook: { secret: "$\{env:HOOK_SECRET}" }
`;
  const env = { API_TOKEN: TOKEN, HOOK_SECRET: HOOK };
  return parseConfig(text, 'longcall.yaml', { env, folder: '/' }).config;
}

async function gateway(config: GatewayConfig, folder = stateFolder()) {
  const opened = await openGateway({ stateFolder: folder, config });
  onTestFinished(() => opened.close());
  const listening = await opened.listen({ port: 0 });
  return { opened, listening, folder, origin: new URL(listening.url).origin };
}

async function client(url: string) {
  const opened = await openTaskClient({ journal: ':memory:' });
  onTestFinished(() => opened.close());
  return opened.connect('gateway', { url });
}

const signed = (body: string): string => createHmac('sha256', HOOK).update(body).digest('hex');

describe('an API as a tool of the gateway', () => {
  it('is listed, called with credentials, woken by a hook from outside, and gives its result', async () => {
    const service = await serving(new GenericService(systemClock));
    service.retryAfter = '3600'; // Nobody would look again within this test.
    const { origin, listening } = await gateway(configOf(service));
    const server = await client(listening.url);
    const tools = await server.listTools();
    expect(tools).toMatchObject([
      { name: 'build', description: 'Builds a branch', inputSchema: { required: ['branch'] } },
    ]);
    const call = await server.callTool({ name: 'build', arguments: { branch: 'main' } });
    await service.until('start');
    const [begun] = service.about('start') as [FakeRequest];
    expect(begun).toMatchObject({ path: '/repos/main/builds', headers: { authorization: `Bearer ${TOKEN}` } });
    const { callback } = begun.body as { callback: string };
    expect(callback).toMatch(/^https:\/\/tasks\.example\.com\/longcall\/hooks\/build\?job=[\w-]{24}$/);

    service.finish({ artifact: `made with ${TOKEN}` });
    const post = (path: string, body: string, headers: Record<string, string> = {}) =>
      fetch(`${origin}${path}`, { method: 'POST', body, headers });
    const path = `/hooks/build${new URL(callback).search}`;
    const answers = [
      await post(path, '{}'),
      await post(path, '{}', { 'x-signature-256': signed('{ }') }),
      await post('/hooks/nothing', '{}', { 'x-signature-256': signed('{}') }),
    ];
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]))).toEqual([
      [404, ''],
      [404, ''],
      [404, ''],
    ]);
    expect((await fetch(`${origin}${path}`)).status).toBe(404);
    // As its way here names it: no rule for Host or Origin, which are about web pages.
    const foreign = { origin: 'https://ci.example', 'x-signature-256': signed('{"done":true}') };
    let woken = 0;
    while (woken !== 202) woken = (await post(path, '{"done":true}', foreign)).status;
    expect(await call.result()).toMatchObject({ structuredContent: { artifact: 'made with [redacted]' } });
  });

  it('refuses an input of which no request could be made before there is a task', async () => {
    const service = await serving(new GenericService(systemClock));
    const { listening, opened } = await gateway(configOf(service));
    const server = await client(listening.url);
    const call = await server.callTool({ name: 'build', arguments: { branch: '..' } });
    expect(words(await call.result())).toContain('{branch} must not make a part of the path empty');
    expect((await opened.status()).openTasks).toBe(0);
    expect(service.requests).toEqual([]);
  });

  it('is followed on after a restart, and by nobody while it is not configured', async () => {
    const service = await serving(new GenericService(systemClock));
    const config = configOf(service);
    const first = await gateway(config);
    await (await client(first.listening.url)).callTool({ name: 'build', arguments: { branch: 'main' } });
    await service.until('status');
    await first.opened.close();
    const without = await openGateway({ stateFolder: first.folder, config: { upstreams: [] } });
    await without.tasks.start();
    expect((await without.status()).openTasks).toBe(1);
    expect(await without.busy()).toBe(true);
    await without.close();
    const again = await gateway(config, first.folder);
    service.finish({ artifact: 'a' });
    await service.until('result');
    await over(again.opened);
    expect(service.jobs.size).toBe(1);
  });
});

/** Resolves once no task is open. */
async function over({ tasks }: Gateway): Promise<void> {
  const { tasks: all } = await tasks.inspect.list({ limit: 10 });
  for (const { taskId, principal } of all) await tasks.engine.wait(taskId, principal).catch(() => {});
  const { byStatus } = await tasks.inspect.counts();
  expect(byStatus).toMatchObject({ working: 0, completed: 1 });
}
