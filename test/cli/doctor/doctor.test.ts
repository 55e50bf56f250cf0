import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Ajv } from 'ajv';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { processTable } from '../../../src/adapters/processes/process-table.ts';
import type { UpstreamFacts } from '../../../src/cli/gateway/doctor/facts.ts';
import type { Finding } from '../../../src/cli/gateway/doctor/finding.ts';
import { openGateway } from '../../../src/gateway/gateway.ts';
import { guest, plainServer, upstream } from '../../gateway/support.ts';
import { scratchFolder } from '../../support/stores.ts';
import { longcall } from '../setup/command.ts';
import { reportSchema } from './report-schema.ts';

const fixture = fileURLToPath(new URL('../../gateway/fixtures/upstream.mjs', import.meta.url));
const everything = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const isReport = new Ajv({ strict: true, allowUnionTypes: true }).compile(reportSchema);
const SECRET = 'b4f1c0de-secret';

interface Report {
  findings: Finding[];
  upstreams: UpstreamFacts[];
  state: { store?: { open: unknown[] } };
}

function place(): { folder: string; file(name: string, text: string): string } {
  const scratch = scratchFolder();
  onTestFinished(scratch.remove);
  return {
    folder: scratch.path,
    file(name, text) {
      const path = join(scratch.path, name);
      writeFileSync(path, text);
      return path;
    },
  };
}

async function doctor(...args: string[]): Promise<{ code: number; report: Report; stdout: string }> {
  const { code, stdout, stderr } = await longcall('doctor', '--json', ...args);
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as Report;
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
  return { code, report, stdout };
}

const codesOf = ({ findings }: Report, about: Finding['about']): string[] =>
  findings.filter((one) => one.about === about).map(({ code }) => code);

/** Processes with this in their environment, wherever they went; where the system does not tell: none. */
function marked(mark: string): number[] {
  return [...processTable().keys()].filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
    } catch {
      return false; // Gone, or not ours to look at.
    }
  });
}

describe('longcall doctor', () => {
  it('looks at good, dead and slow upstreams of a gateway, and leaves nothing behind [C-106]', async () => {
    const mark = randomUUID();
    vi.stubEnv('DOCTOR_TOKEN', SECRET);
    vi.stubEnv('DOCTOR_MARK', mark);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { file, folder } = place();
    const state = join(folder, 'state');
    mkdirSync(state, { mode: 0o700 });
    const node = (...args: string[]): string => JSON.stringify([process.execPath, fixture, ...args]);
    const config = file(
      'longcall.yaml',
      `state: state
upstreams:
  good: { command: ${node('--child', '--daemon', '--ignore-sigterm', '--banner')}, env: { MARK: "\${env:DOCTOR_MARK}" }, deny: [die], tools: { echo: { mode: direct } } }
  dead: { command: ${node('--die=3', `--words=${SECRET}`)}, env: { TOKEN: "\${env:DOCTOR_TOKEN}" } }
  slow: { command: ${node('--silent')} }
  none: { command: [${JSON.stringify(join(folder, 'no-such-program'))}] }
shell:
  fine: { command: [${JSON.stringify(process.execPath)}] }
  gone: { command: no-such-program, cwd: nowhere }
http:
  near: { start: { url: "http://127.0.0.1:9/jobs" } }
  meta: { start: { url: "http://169.254.169.254/jobs" } }
`,
    );
    const looking = doctor(config, '--timeout', '9s');
    if (process.platform === 'linux')
      await vi.waitFor(() => expect(marked(mark)).toHaveLength(3), { timeout: 20_000, interval: 5 });
    const { code, report, stdout } = await looking;
    expect(code).toBe(1);
    expect(marked(mark)).toEqual([]);
    expect(stdout).not.toContain(SECRET);
    const [good, dead, slow, none] = report.upstreams;
    expect(good).toMatchObject({
      name: 'good',
      named: 'gateway',
      reached: {
        protocol: '2025-06-18',
        server: { name: 'fixture', version: '1' },
        generation: 'none',
        tools: 16,
        served: { task: 14, direct: 1, auto: 0, hidden: 1 },
        failWhenLost: 14,
        silentOnProbe: false,
      },
    });
    expect(good?.reached?.noise).toBeGreaterThan(0);
    expect(dead).toMatchObject({ trouble: expect.stringContaining('exit code 3'), stderr: expect.any(Array) });
    expect(dead?.stderr.at(-1)).toBe('cannot work: [redacted]');
    expect(slow?.trouble).toContain('within 9000 ms');
    expect(none?.trouble).toContain('there is no such program');
    for (const one of [dead, slow, none]) expect(one).not.toHaveProperty('reached');
    expect(report.findings.filter(({ level }) => level === 'fail').map(({ name }) => name)).toEqual([
      'dead',
      'slow',
      'none',
      'gone',
      'gone',
      'meta',
    ]);
    const apis = report.findings.filter(({ about }) => about === 'api').map(({ name, code }) => [name, code]);
    expect(apis).toEqual([
      ['near', 'api-found'],
      ['meta', 'api-not-reached'],
    ]);
    const commands = report.findings.filter(({ about }) => about === 'command').map(({ name, code }) => [name, code]);
    expect(commands).toEqual([
      ['fine', 'command-found'],
      ['gone', 'command-missing'],
      ['gone', 'command-folder-missing'],
    ]);
    expect(codesOf(report, 'state')).toContain('state-file-system');
    expect(readdirSync(state)).toEqual([]);
  }, 60_000);

  it('looks at what a host has, also behind our own command, and tells what is not set', async () => {
    const { file, folder } = place();
    const wrapped = ['-y', 'longcall@0.0.9', 'wrap', '--tool', 'echo=direct', '--', process.execPath, fixture];
    const server = await plainServer(() => new McpServer({ name: 'plain', version: '2' }));
    const { url } = server.target as { url: string };
    const config = file(
      'mcp.json',
      JSON.stringify({
        mcpServers: {
          plain: { command: process.execPath, args: [fixture] },
          wrapped: { command: 'npx', args: wrapped },
          http: { url, headers: { Authorization: `Bearer ${SECRET}` } },
          wrong: { command: 'longcall', args: ['wrap', '--mode', 'fast', '--', 'x'] },
          unset: { command: 'x', env: { A: '$'.concat('{DOCTOR_NOT_SET}') } },
        },
      }),
    );
    const { code, report, stdout } = await doctor('--config', config, '--state', join(folder, 'state'));
    expect(code).toBe(1);
    expect(stdout).not.toContain(SECRET);
    const [plain, wrap, http, wrong, unset] = report.upstreams;
    expect(plain).toMatchObject({ named: 'host', reached: { tools: 16, served: { task: 16 } } });
    expect(wrap).toMatchObject({ named: 'gateway', longcall: '0.0.9', reached: { served: { task: 15, direct: 1 } } });
    expect(http).toMatchObject({ target: url, reached: { server: { name: 'plain', version: '2' }, tools: 0 } });
    expect(server.headers[0]).toMatchObject({ authorization: `Bearer ${SECRET}` });
    expect(wrong?.trouble).toContain("'fast' is invalid");
    expect(unset?.trouble).toContain('DOCTOR_NOT_SET is not set');
    expect(codesOf(report, 'upstream')).toEqual(
      expect.arrayContaining([
        'upstream-not-wrapped',
        'entry-version',
        'upstream-without-tools',
        'upstream-unreachable',
      ]),
    );
    expect(() => statSync(join(folder, 'state'))).toThrow(); // No daemon was started, and no folder made.
  }, 60_000);

  it('looks at a command, which may have tasks of its own', async () => {
    const { folder } = place();
    const run = await doctor('--state', join(folder, 'state'), '--', process.execPath, everything, 'stdio');
    expect(run.code).toBe(0);
    expect(run.report.upstreams).toMatchObject([
      { from: 'command line', named: 'gateway', reached: { protocol: '2025-11-25', generation: '2025-11-25' } },
    ]);
    expect(codesOf(run.report, 'upstream')).toContain('upstream-tasks');
  }, 60_000);

  it.each([
    ['--silent-on-probe', 'upstream-silent-on-probe'],
    ['--exit-on-probe', 'upstream-ends-on-probe'],
    ['--banner', 'upstream-noise'],
    ['--draft', 'upstream-tasks-draft'],
  ])('tells what is odd of a server: %s', async (flag, code) => {
    const { folder } = place();
    const run = await doctor('--timeout', '6s', '--state', join(folder, 's'), '--', process.execPath, fixture, flag);
    expect(run.code).toBe(0);
    expect(codesOf(run.report, 'upstream')).toContain(code);
    expect(run.report.upstreams[0]?.reached?.tools).toBe(16);
  });

  it('tells why an address is not reached, and nothing of what is secret in it', async () => {
    const { folder } = place();
    const http = createServer((_request, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const look = (): ReturnType<typeof doctor> =>
      doctor('--state', join(folder, 's'), '--url', `http://127.0.0.1:${port}/mcp?token=${SECRET}`);
    const refused = await look();
    http.close();
    await once(http, 'close');
    const nobody = await look();
    expect(refused.report.findings[0]).toMatchObject({ level: 'fail', advice: expect.stringContaining('credentials') });
    expect(nobody.report.upstreams[0]?.trouble).toContain('(ECONNREFUSED)');
    expect(nobody.report.upstreams[0]?.target).toBe(`http://127.0.0.1:${port}/mcp`);
    for (const { code, stdout } of [refused, nobody]) {
      expect(code).toBe(1);
      expect(stdout).not.toContain(SECRET);
    }
  });

  it('reads a store beside its owner and after it, without a trace, and tells which tasks wait for whom', async () => {
    const { file, folder } = place();
    const state = join(folder, 'state');
    const target = { command: process.execPath, args: [fixture], env: {} };
    const gateway = await openGateway({
      stateFolder: state,
      config: { upstreams: [upstream(target, { name: 'gone' })] },
    });
    onTestFinished(() => gateway.close());
    const { url } = await gateway.listen({ port: 0 });
    const client = await guest(url, 'legacy');
    const never = client.callTool({ name: 'never' }).catch(() => undefined); // It is closed below.
    await vi.waitFor(async () => expect((await gateway.status()).openTasks).toBe(1), { timeout: 20_000 });
    const open = [{ tool: 'gone/never', count: 1 }];
    const config = file(
      'longcall.yaml',
      `state: state\nupstreams: { here: { command: [${JSON.stringify(process.execPath)}, ${JSON.stringify(fixture)}] } }\n`,
    );
    const during = await doctor(config);
    expect(during.report.state.store).toMatchObject({ open });
    await client.close();
    await never;
    await gateway.close();

    const files = (): unknown[] =>
      readdirSync(state).map((name) => [name, statSync(join(state, name)).size, statSync(join(state, name)).mtimeMs]);
    const before = files();
    const { code, report } = await doctor(config);
    expect(code).toBe(0);
    expect(report.state.store).toMatchObject({ open });
    expect(report.findings).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        code: 'tasks-wait-for-upstream',
        message: '1 task waits for the upstream "gone", which the file does not name',
      }),
    );
    expect(files()).toEqual(before);
    expect((await doctor(config, '--strict')).code).toBe(1);
  }, 90_000);

  it('says with its exit code what kind of trouble there is', async () => {
    const { file, folder } = place();
    const state = join(folder, 'state');
    mkdirSync(state, { mode: 0o700 });
    expect((await doctor('--state', state)).code).toBe(0);
    expect((await longcall('doctor', file('bad.yaml', 'upstreams: { a: { comand: x } }'))).code).toBe(2);
    expect((await longcall('doctor', '--url', 'https://x.example', '--', 'x')).code).toBe(2);
    expect((await longcall('doctor', '--timeout', 'soon')).code).toBe(2);
    writeFileSync(join(state, 'tasks.db'), 'this is no database, whatever it is called');
    const damaged = await doctor('--state', state);
    expect(damaged.code).toBe(5);
    expect(codesOf(damaged.report, 'state')).toContain('state-unreadable');
  });

  it.runIf(process.platform !== 'win32')('refuses a folder of the daemon that others can open', async () => {
    const { folder } = place();
    const state = join(folder, 'state');
    mkdirSync(state);
    chmodSync(state, 0o755);
    const { code, report } = await doctor('--state', state);
    expect(code).toBe(5);
    expect(report.findings).toContainEqual(
      expect.objectContaining({
        level: 'fail',
        code: 'state-unreadable',
        message: expect.stringContaining('chmod 700'),
      }),
    );
    expect(readdirSync(state)).toEqual([]);
  });

  it('prints for people what is wrong and what to do, and no control characters of servers', async () => {
    const { folder } = place();
    const words = '--words=\u001b[31mred';
    const { code, stdout } = await longcall(
      'doctor',
      '--state',
      join(folder, 's'),
      '--',
      process.execPath,
      fixture,
      '--die=1',
      words,
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^upstreams\n {2}\S+ \(.*\)\n {2}fail {2}.*exit code 1.*\n {8}-> /);
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/\d+ ok, \d+ to look at, 1 failed\n$/);
  });
});
