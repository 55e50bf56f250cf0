import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serve } from '../../src/cli/gateway/serve.ts';
import { configSchema } from '../../src/gateway/config/schema.ts';
import type { GatewayOptions } from '../../src/gateway/gateway.ts';
import { ListenError } from '../../src/server/listen.ts';
import { scratchFolder } from '../support/stores.ts';
import { kept, longcall } from './setup/command.ts';

let folder: ReturnType<typeof scratchFolder>;
let file: string;
beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'longcall.yaml');
});
afterEach(() => folder.remove());

const cli = (...args: string[]) => longcall('serve', ...args);

const good = 'state: tasks\nupstreams: { ci: { command: ci }, docs: { url: "https://docs.example/mcp" } }\n';
const bad = 'upstreams:\n  ci: { comand: ci, env: { TOKEN: s3cr3t } }\n';

describe('longcall serve --check', () => {
  it('says that a file can be served', async () => {
    writeFileSync(file, good);
    expect(await cli(file, '--check')).toEqual({ code: 0, stdout: `${file}: ok: ci, docs\n`, stderr: '' });
    const { code, stdout } = await cli(file, '--check', '--json', '--listen', '[::1]:0');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      {
        ok: true,
        file,
        upstreams: ['ci', 'docs'],
        tools: [],
        listen: { host: '::1', port: 0 },
        state: join(folder.path, 'tasks'),
      },
    ]);
  });

  it('knows tools of its own, with upstreams or without', async () => {
    const shell = 'shell: { build: { command: make }, test: { script: "npm test" } }\n';
    writeFileSync(file, `${good}${shell}`);
    expect((await cli(file, '--check')).stdout).toBe(`${file}: ok: ci, docs, build, test\n`);
    writeFileSync(file, `${good}${shell}http: { deploy: { start: { url: "https://api.test/deploys" } } }\n`);
    expect((await cli(file, '--check')).stdout).toBe(`${file}: ok: ci, docs, build, test, deploy\n`);
    writeFileSync(file, `state: tasks\n${shell}`);
    const { code, stdout } = await cli(file, '--check', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, upstreams: [], tools: ['build', 'test'] }]);
    writeFileSync(file, 'state: tasks\nshell: { build: { command: make, env: { PATH: { input: path } } } }\n');
    expect(await cli(file, '--check')).toMatchObject({
      code: 2,
      stderr: `${file}:2:41: shell.build.env.PATH: cannot be set from the input: it decides which programs and libraries are loaded\n`,
    });
  });

  it('says all that is wrong with one', async () => {
    writeFileSync(file, bad);
    expect(await cli(file, '--check')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `${file}:2:3: upstreams.ci: expected either command or url, got neither\n` +
        `${file}:2:9: upstreams.ci.comand: unknown; did you mean "command"?\n` +
        `${file}:2:21: upstreams.ci.env: goes with command, which is not there\n`,
    });
    const { code, stdout, stderr } = await cli(file, '--check', '--json');
    expect([code, stderr]).toEqual([2, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      file,
      problems: [
        { line: 2, column: 3, field: 'upstreams.ci' },
        { field: 'upstreams.ci.comand' },
        { line: 2, column: 21 },
      ],
    });
  });

  it.each([
    [['--listen', 'localhost'], '--listen: expected HOST:PORT, such as 127.0.0.1:7717, got "localhost"'],
    [['--listen', 'localhost:99999'], '--listen: expected HOST:PORT'],
    [['--listen', '0.0.0.0:80'], '--listen: 0.0.0.0 can be reached by others: auth in '],
  ])('checks what is said beside the file: %j', async (args, message) => {
    writeFileSync(file, good);
    const { code, stderr } = await cli(file, '--check', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('wants to know where tasks are kept', async () => {
    writeFileSync(file, 'upstreams: { ci: { command: ci } }');
    expect(await cli(file, '--check')).toMatchObject({
      code: 2,
      stderr: `${file}:1:1: state: expected a folder for the tasks, got nothing; or give --state FOLDER\n`,
    });
    expect((await cli(file, '--check', '--state', folder.path)).code).toBe(0);
  });

  it('looks for no file', async () => {
    expect(await cli('--check')).toMatchObject({ code: 2, stderr: expect.stringContaining('name the configuration') });
    expect(await cli(join(folder.path, 'none.yaml'), '--check')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no file'),
    });
  });
});

it('prints the schema', async () => {
  expect(await cli('--print-schema')).toEqual({ code: 0, stdout: configSchema(), stderr: '' });
});

describe('longcall serve', () => {
  it('opens nothing for a file that is bad', async () => {
    writeFileSync(file, bad);
    const { output } = kept();
    const never = () => Promise.reject(new Error('opened'));
    expect(await serve(file, {}, output, never)).toBe(2);
  });

  it('closes what it opened when the port is taken', async () => {
    writeFileSync(file, good);
    const opened: GatewayOptions[] = [];
    let closed = 0;
    const before = process.listenerCount('SIGTERM');
    const serving = serve(file, { listen: '127.0.0.1:1' }, kept().output, async (options) => {
      opened.push(options);
      return {
        listen: () => Promise.reject(new ListenError(`port ${options.config.listen?.port} is in use`)),
        reload: () => Promise.reject(new Error('never')),
        close: async () => {
          closed += 1;
        },
      };
    });
    await expect(serving).rejects.toMatchObject({ message: 'port 1 is in use', exitCode: 5 });
    expect(opened.map(({ stateFolder }) => stateFolder)).toEqual([join(folder.path, 'tasks')]);
    expect([closed, process.listenerCount('SIGTERM')]).toEqual([1, before]);
  });
});
