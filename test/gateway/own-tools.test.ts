// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the file and a shell's, none of JavaScript's
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { isAlive, type ProcessIdentity } from '../../src/adapters/processes/process-table.ts';
import { type ConnectedServer, openTaskClient } from '../../src/client/index.ts';
import { createTasks } from '../../src/engine/index.ts';
import { parseConfig } from '../../src/gateway/config/load.ts';
import type { GatewayConfig } from '../../src/gateway/config/types.ts';
import { type Gateway, openGateway } from '../../src/gateway/gateway.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { encodeIdempotencyKey } from '../../src/wire/idempotency.ts';
import { recordingLogger } from '../support/engine.ts';
import { type Json, request } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { type ClientKind, clientKinds, type Reach } from './support/clients.ts';
import { guest, plainServer, standing, stateFolder, upstream, words } from './support.ts';

const NODE = process.execPath;
const PATH = process.env['PATH'] ?? '';
const SECRET = 'hush-1234567';
/** What a command was given, as it sees it. */
const TELLS = `const { argv, env } = process;
process.stdin.setEncoding('utf8').on('data', (text) => (stdin += text)).on('end', () => {
  console.log(JSON.stringify({ args: argv.slice(1), env, stdin, cwd: process.cwd() }));
});
let stdin = '';`;

const tells = {
  title: 'Tells',
  description: 'Says what it was given',
  command: [
    NODE,
    '-e',
    TELLS,
    'first',
    { input: 'bail', flag: '--bail' },
    { input: 'grep', option: '--grep' },
    { input: 'files' },
  ],
  input: {
    type: 'object',
    properties: {
      bail: { type: 'boolean' },
      grep: { type: 'string', minLength: 2 },
      files: { type: 'array', items: { type: 'string' } },
      label: { type: 'string' },
    },
    required: ['label'],
  },
  env: { CI: 1, API_TOKEN: '${env:API_TOKEN}', LABEL: { input: 'label' } },
  stdin: { input: 'files' },
  inheritEnv: ['PATH', 'LANGUAGE'],
  output: 'json',
  annotations: { readOnlyHint: true },
};

/** The configuration of a file that has these commands, in a folder of its own. */
function configOf(shell: Json, more: Json = {}): GatewayConfig {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const env = { PATH, API_TOKEN: SECRET, LANGUAGE: 'de', OTHER_SECRET: 'never passed on' };
  return parseConfig(stringify({ ...more, shell }), 'longcall.yaml', { env, folder: folder.path }).config;
}

const front = join(import.meta.dirname, 'support', 'front-process.ts');
const fronts: Record<string, (config: GatewayConfig) => Promise<Reach>> = {
  http: async (config) => ({ url: (await standing(config)).url }),
  stdio: async (config) => {
    return { command: NODE, args: ['--import', 'tsx', front, stateFolder(), JSON.stringify(config)] };
  },
};

async function peer(kind: ClientKind, front: string, config: GatewayConfig) {
  const folder = scratchFolder();
  const connected = await kind.connect(await fronts[front]!(config), folder.path);
  onTestFinished(async () => {
    await connected.close();
    folder.remove();
  });
  return connected;
}

/** A client of ours, which follows tasks of every generation. */
async function host(url: string, protocol = '2026-07-28'): Promise<ConnectedServer> {
  const client = await openTaskClient({ journal: ':memory:', minPollMs: 10 });
  onTestFinished(() => client.close());
  return client.connect('gateway', { url, protocol });
}

/** Looks again whenever something has happened here: nothing tells when a process has done something. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

const run = clientKinds.flatMap((kind) => Object.keys(fronts).map((front) => ({ kind, front, name: kind.name })));

describe.each(run)('a command as a tool, to $name over $front', { timeout: 60_000 }, ({ kind, front }) => {
  it('is listed, called, and refused where its input does not fit', async () => {
    const client = await peer(kind, front, configOf({ tells }));
    const listed = (await client.request('tools/list', {})) as { result: { tools: Json[] } };
    const tool = listed.result.tools.find(({ name }) => name === 'tells');
    expect(tool).toMatchObject({
      title: 'Tells',
      description: expect.stringContaining('Says what it was given'),
      inputSchema: { ...tells.input, additionalProperties: false },
      annotations: { readOnlyHint: true },
    });
    const good = await client.call('tells', { label: 'a', bail: true, grep: 'x y', files: ['a.ts', 'b c'] });
    expect(good).toMatchObject({
      result: {
        structuredContent: {
          args: ['first', '--bail', '--grep', 'x y', '--', 'a.ts', 'b c'],
          stdin: '["a.ts","b c"]',
          env: { CI: '1', LABEL: 'a' },
        },
      },
    });
    expect(JSON.stringify(good)).not.toContain(SECRET);
    expect(client.tasks).toBe(kind.tasks ? 1 : 0);
    const bad = await client.call('tells', { label: 'a', files: ['a', '-rf'] });
    const problem = 'files.1: expected a value that does not begin with "-", which could be read as an option';
    const refused = `Input validation error: Invalid arguments for tool tells: ${problem}`;
    // Who asked for a task, in a session, takes no result in place of one.
    if (kind.name.includes('v1 on 2025-11-25 with tasks')) {
      expect(bad).toMatchObject({ error: { code: -32602, message: refused } });
    } else {
      expect(bad).toMatchObject({ result: { isError: true, content: [{ text: refused }] } });
    }
    expect(client.tasks).toBe(kind.tasks ? 1 : 0);
  });
});

describe('a command as a tool', () => {
  it.each<[string, Json, string]>([
    ['nothing that is needed', {}, 'label: missing'],
    ['what is unknown', { label: 'a', grp: 'x' }, 'grp: unknown'],
    ['another type', { label: 1 }, 'label: must be string'],
    ['another type within', { label: 'a', files: ['x', 1] }, 'files.1: must be string'],
    ['too little', { label: 'a', grep: 'x' }, 'grep: must NOT have fewer than 2 characters'],
    ['a NUL character', { label: 'a\0b' }, 'label: expected a text without a NUL character'],
    ['an option', { label: 'a', grep: '--help' }, 'grep: expected a value that does not begin with "-"'],
    ['too much', { label: 'x'.repeat(200_000) }, 'label: expected at most 131071 bytes in a word, got 200006'],
  ])('starts nothing and makes no task of an input with %s', async (_what, args, problem) => {
    const folder = stateFolder();
    const { url, gateway } = await standing(configOf({ tells }), { stateFolder: folder });
    const result = await (await guest(url, 'auto')).callTool({ name: 'tells', arguments: args });
    expect(result.isError).toBe(true);
    expect(words(result)).toContain(`Invalid arguments for tool tells: ${problem}`);
    expect((await gateway.tasks.inspect.list({})).tasks).toEqual([]);
    expect(existsSync(join(folder, 'jobs'))).toBe(false);
  });

  it('gets the environment that the file allows, and nothing else', async () => {
    const config = configOf({ tells });
    const { url } = await standing(config);
    const result = await (await guest(url, 'auto')).callTool({
      name: 'tells',
      arguments: { label: '$(touch x) `id` "$HOME"\n; rm' },
    });
    const { env, cwd } = result.structuredContent as { env: Record<string, string>; cwd: string };
    const { LONGCALL_ASK_URL, LONGCALL_ASK_TOKEN, LONGCALL_JOB, ...given } = env;
    expect([LONGCALL_ASK_URL, LONGCALL_ASK_TOKEN, LONGCALL_JOB].every((value) => typeof value === 'string')).toBe(true);
    expect(given).toEqual({
      ...{ PATH, LANGUAGE: 'de', CI: '1', LABEL: '$(touch x) `id` "$HOME"\n; rm' },
      API_TOKEN: expect.not.stringContaining(SECRET), // Which it has, and cannot show.
    });
    expect(cwd).toBe(config.shell?.[0]?.recipe.cwd);
  });

  it('has its secrets, and none of them is said or kept', async () => {
    const script = `[ "$API_TOKEN" = ${SECRET} ] && echo "it is $API_TOKEN"; echo "$API_TOKEN" >&2; cat`;
    const shell = {
      says: {
        script,
        env: { API_TOKEN: '${env:API_TOKEN}' },
        input: { properties: { text: { type: 'string' } } },
        stdin: { input: 'text' },
      },
    };
    const folder = stateFolder();
    const gateway = await openGateway({ stateFolder: folder, config: configOf(shell) });
    onTestFinished(() => gateway.close());
    const { url } = await gateway.listen({ port: 0 });
    const result = await (await guest(url, 'auto')).callTool({ name: 'says', arguments: { text: 'some input' } });
    expect(words(result)).toMatch(/^it is .*some input.*exit code 0/s);
    expect(JSON.stringify(result)).not.toContain(SECRET);
    await gateway.close();
    const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const holding = (text: string) =>
      kept
        .filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(text))
        .map(({ name }) => name);
    expect(holding('some input')).not.toEqual([]); // It is where a secret would be found.
    expect(holding(SECRET)).toEqual([]);
  });

  it('never has its PATH from the input', () => {
    const input = { properties: { x: { type: 'string' } } };
    expect(() => configOf({ a: { command: 'a', input, env: { PATH: { input: 'x' } } } })).toThrow(
      'shell.a.env.PATH: cannot be set from the input',
    );
  });

  it('may be a script, of which the input is only in the environment', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const shell = {
      greet: {
        script: 'printf "%s|" "hello $NAME" "${HOME-unset}"',
        input: { properties: { name: { type: 'string' } } },
        env: { NAME: { input: 'name' } },
        cwd: folder.path,
      },
    };
    const { url } = await standing(configOf(shell));
    const name = `"; touch '${folder.path}/made'; $(touch ${folder.path}/made)`;
    const result = await (await guest(url, 'auto')).callTool({ name: 'greet', arguments: { name } });
    expect(words(result)).toContain(`hello ${name}|unset|`);
    expect(existsSync(join(folder.path, 'made'))).toBe(false);
  });

  it('runs as often at once as the file says, and as long', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const here = join(folder.path, 'here');
    const script = `mkdir -p '${here}'; : > '${here}/'$$; ls '${here}' | wc -l; sleep 0.1; rm '${here}/'$$`;
    const { url } = await standing(
      configOf({ counts: { script, concurrency: 1 }, waits: { script: 'sleep 60', timeout: '1s' } }),
    );
    const server = await host(url);
    const calls = await Promise.all(Array.from({ length: 4 }, () => server.callTool({ name: 'counts' })));
    const results = await Promise.all(calls.map((call) => call.result()));
    expect(results.map((result) => words(result).trim()[0])).toEqual(['1', '1', '1', '1']);
    const late = await (await server.callTool({ name: 'waits' })).result();
    expect(words(late)).toMatch(/timed out: it was stopped/);
  });

  it('is one task, however often its call comes again with its key [C-083]', async () => {
    const { url, gateway } = await standing(configOf({ tells }));
    const client = await guest(url, 'auto');
    const call = () =>
      client.callTool({ name: 'tells', arguments: { label: 'a' }, _meta: encodeIdempotencyKey('once') as Json });
    expect((await call()).structuredContent).toEqual((await call()).structuredContent);
    expect((await gateway.tasks.inspect.list({})).tasks).toHaveLength(1);
  });
});

describe('a gateway with tools of its own', () => {
  it('presents itself, where there is nothing else', async () => {
    const { url } = await standing(configOf({ tells }));
    const client = await guest(url, 'legacy');
    expect(client.getServerVersion()).toMatchObject({ name: 'longcall-gateway' });
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['tells', 'task_wait']));
    expect((await client.listPrompts().catch(() => ({ prompts: [] }))).prompts).toEqual([]);
    await expect(client.callTool({ name: 'nothing' })).rejects.toThrow('Unknown tool: nothing');
  });

  it('serves them beside those of upstreams, and where none of those can be reached', async () => {
    const make = () => {
      const server = new McpServer({ name: 'plain', version: '1' });
      server.registerTool('tells', {}, () => ({ content: [{ type: 'text', text: 'the upstream' }] }));
      return server;
    };
    const { target } = await plainServer(make);
    const { lines, logger } = recordingLogger();
    const own = configOf({ tells });
    const config = { ...own, upstreams: [upstream(target, { prefix: 'up_' })] };
    const { url, gateway } = await standing(config, { logger });
    const client = await guest(url, 'legacy');
    expect(client.getServerVersion()).toMatchObject({ name: 'longcall-gateway' });
    expect(words(await client.callTool({ name: 'up_tells' }))).toBe('the upstream');
    expect((await client.callTool({ name: 'tells', arguments: { label: 'a' } })).structuredContent).toBeDefined();
    // A file that could lead to this is refused; a program may say it.
    await gateway.reload({ ...own, upstreams: [upstream(target)] });
    expect((await client.callTool({ name: 'tells', arguments: { label: 'a' } })).structuredContent).toBeDefined();
    expect(lines.filter(({ message }) => message.includes('a tool of the same name'))).toHaveLength(1);
    const gone = { url: 'http://127.0.0.1:1/mcp', headers: {}, forwardAuthorization: false };
    await gateway.reload({ ...own, upstreams: [upstream(gone)] });
    const { tools } = await (await guest(url, 'auto')).listTools();
    expect(tools.map(({ name }) => name)).toContain('tells');
  });
});

/** A command that waits for a file, and ends with an exit code that is read out of it. */
function waiting() {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  const [began, go] = [join(folder.path, 'began'), join(folder.path, 'go')];
  const script = (word: string) =>
    `: > '${began}'; while [ ! -e '${go}' ]; do sleep 0.05; done; echo ${word}; exit "$(cat '${go}')"`;
  return { script, began: () => existsSync(began), end: (code: number) => writeFileSync(go, `${code}`) };
}

describe('when the configuration changes', () => {
  it('tools come, change and go, and what was begun goes on as it was begun', async () => {
    const { script, began, end } = waiting();
    const { url, gateway } = await standing(configOf({ work: { script: script('one'), okCodes: [3] }, tells }));
    const client = await guest(url, 'auto');
    const names = async () =>
      (await client.listTools()).tools.map(({ name }) => name).filter((name) => !/^task_/.test(name));
    expect(await names()).toEqual(['work', 'tells']);
    const server = await host(url);
    const call = await server.callTool({ name: 'work' });
    await until(began);
    const changed = { description: 'other', script: 'echo two', input: { required: ['x'], properties: { x: {} } } };
    const { tools } = await gateway.reload(configOf({ work: changed, more: tells }));
    expect(tools).toEqual({ added: ['more'], removed: ['tells'], changed: ['work'], kept: [] });
    expect(await names()).toEqual(['work', 'more']);
    await expect(client.callTool({ name: 'tells', arguments: { label: 'a' } })).rejects.toThrow('Unknown tool: tells');
    expect(await gateway.busy()).toBe(true);
    expect((await gateway.reload(configOf({ more: tells }))).tools).toEqual({
      ...{ added: [], removed: ['work'], changed: [], kept: [] },
      changed: ['more'], // Its folder is that of its file.
    });
    end(3);
    const result = await call.result();
    expect(result.isError).not.toBe(true);
    expect(words(result)).toContain('one');
    await until(async () => !(await gateway.busy()));
  });

  it('clients are told that the list is another', async () => {
    const { url, gateway } = await standing(configOf({ tells }));
    let told = (): void => {};
    const heard = new Promise<void>((resolve) => {
      told = resolve;
    });
    const client = await guest(url, 'legacy', {
      prepare: (one) => one.setNotificationHandler('notifications/tools/list_changed', () => told()),
    });
    await client.listTools();
    await gateway.reload(configOf({ other: tells }));
    await heard;
  });
});

describe('after a restart', () => {
  const theTask = async ({ tasks }: Gateway): Promise<string> => (await tasks.inspect.list({})).tasks[0]?.taskId ?? '';

  const ways: Record<string, (folder: string, config: GatewayConfig, began: () => boolean) => Promise<void>> = {
    'of a gateway that handed over': async (folder, config, began) => {
      const gateway = await openGateway({ stateFolder: folder, config });
      const { url } = await gateway.listen({ port: 0 });
      await (await host(url)).callTool({ name: 'work', arguments: { x: 'y' } });
      await until(began);
      await gateway.close();
    },
    'of a gateway that was killed': async (folder, config, began) => {
      const args = ['--import', 'tsx', front, folder, JSON.stringify(config)];
      const child = spawn(NODE, args, { stdio: ['pipe', 'ignore', 'inherit'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      const call = request(1, 'tools/call', { name: 'work', arguments: { x: 'y' } });
      child.stdin.write(`${JSON.stringify(call)}\n`);
      await until(began);
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };

  it.each(Object.entries(ways))(
    'a command %s is followed on, though its tool is in the file no more, and judged as it was begun [P16]',
    async (_way, work) => {
      const { script, began, end } = waiting();
      const folder = stateFolder();
      const input = { properties: { x: { type: 'string' } } };
      await work(folder, configOf({ work: { script: script('done'), okCodes: [3], input } }), began);
      const { gateway } = await standing({ upstreams: [] }, { stateFolder: folder });
      expect(await gateway.busy()).toBe(true);
      end(3);
      const taskId = await theTask(gateway);
      await until(async () => (await gateway.tasks.inspect.get(taskId)).status === 'completed');
      const { result } = await gateway.tasks.inspect.payloads(taskId);
      expect(JSON.stringify(result)).toContain('done');
      expect(result).not.toHaveProperty('isError');
      await until(async () => !(await gateway.busy()));
    },
  );

  it('a command that waited for its turn fails, where its tool is in the file no more', async () => {
    const { script, began, end } = waiting();
    const folder = stateFolder();
    const config = configOf({ work: { script: script('done'), concurrency: 1, okCodes: [0] } });
    const first = await openGateway({ stateFolder: folder, config });
    const { url } = await first.listen({ port: 0 });
    const server = await host(url);
    await server.callTool({ name: 'work' });
    await until(began);
    for await (const { phase } of (await server.callTool({ name: 'work' })).updates()) if (phase === 'following') break;
    await first.close();
    const { gateway } = await standing({ upstreams: [] }, { stateFolder: folder });
    end(0);
    const statuses = async () => (await gateway.tasks.inspect.list({})).tasks.map(({ status }) => status).sort();
    await until(async () => !(await gateway.busy()));
    expect(await statuses()).toEqual(['completed', 'failed']);
    const failed = (await gateway.tasks.inspect.list({ status: ['failed'] })).tasks[0]?.taskId ?? '';
    const { error } = await gateway.tasks.inspect.payloads(failed);
    expect(error).toMatchObject({ message: 'work was not started: it is not in the configuration any more' });
  });

  it.each(['cancelled', 'deleted'])(
    'a command whose task was %s meanwhile is ended, though its tool is in the file no more',
    async (how) => {
      const { began, end, script } = waiting();
      onTestFinished(() => end(0));
      const folder = stateFolder();
      const first = await openGateway({ stateFolder: folder, config: configOf({ work: { script: script('done') } }) });
      const { url } = await first.listen({ port: 0 });
      await (await host(url)).callTool({ name: 'work' });
      await until(began);
      const taskId = await theTask(first);
      await first.close();
      const [job = ''] = readdirSync(join(folder, 'jobs'));
      const command = JSON.parse(readFileSync(join(folder, 'jobs', job, 'command.json'), 'utf8')) as ProcessIdentity;
      expect(isAlive(command)).toBe(true);
      const operator = createTasks({ store: sqliteStore(join(folder, 'tasks.db')), slots: 0 });
      await operator.inspect.cancel(taskId);
      if (how === 'deleted') await operator.inspect.remove(taskId);
      await operator.close();
      await standing({ upstreams: [] }, { stateFolder: folder });
      await until(() => !isAlive(command) && readdirSync(join(folder, 'jobs')).length === 0);
    },
  );
});
