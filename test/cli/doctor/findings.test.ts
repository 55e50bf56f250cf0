import { describe, expect, it } from 'vitest';
import { apiFindings } from '../../../src/cli/gateway/doctor/api-findings.ts';
import { clientFindings, servedClient } from '../../../src/cli/gateway/doctor/client-findings.ts';
import { commandFindings } from '../../../src/cli/gateway/doctor/command-findings.ts';
import type {
  CommandFacts,
  DaemonFacts,
  MachineFacts,
  ReachedFacts,
  StateFacts,
} from '../../../src/cli/gateway/doctor/facts.ts';
import { exitCodeOf, judge } from '../../../src/cli/gateway/doctor/judge.ts';
import { daemonFindings, machineFindings } from '../../../src/cli/gateway/doctor/machine-findings.ts';
import { stateFindings } from '../../../src/cli/gateway/doctor/state-findings.ts';
import { upstreamFindings } from '../../../src/cli/gateway/doctor/upstream-findings.ts';
import { KNOWN_CLIENTS } from '../../../src/server/limits.ts';
import { api, client, command, daemon, facts, machine, reached, state, upstream } from './facts.ts';

const own = machine.longcall;
/** What was found, in few words. */
const levels = (found: readonly { level: string; code: string }[]): string[] =>
  found.map(({ level, code }) => `${level} ${code}`);

describe('findings on an upstream', () => {
  it.each<[string, Partial<Record<keyof ReachedFacts, unknown>>, string[]]>([
    ['has no tasks', {}, ['ok upstream-served', 'ok upstream-no-tasks']],
    ['has the extension', { generation: '2026-07-28' }, ['ok upstream-served', 'ok upstream-tasks']],
    ['has tasks of 2025-11-25', { generation: '2025-11-25' }, ['ok upstream-served', 'ok upstream-tasks']],
    ['has companions', { generation: 'companions' }, ['ok upstream-served', 'ok upstream-tasks']],
    ['speaks the first draft', { generation: 'SEP-1686' }, ['ok upstream-served', 'warn upstream-tasks-draft']],
    ['is asked by it', { generation: 'SEP-1686', firstDraft: true }, ['ok upstream-served', 'ok upstream-tasks']],
    ['declares too little', { generation: 'misdeclared' }, ['ok upstream-served', 'warn upstream-tasks-misdeclared']],
    ['has no tools', { tools: 0 }, ['warn upstream-without-tools', 'ok upstream-no-tasks']],
    [
      'shows none of its tools',
      { served: { task: 0, direct: 0, auto: 0, hidden: 2 } },
      ['warn upstream-all-hidden', 'ok upstream-no-tasks'],
    ],
    ['does not answer requests', { requestMs: undefined }, ['warn upstream-no-answer']],
    ['is slow', { requestMs: 1_000 }, ['warn upstream-slow']],
    ['is nearly slow', { requestMs: 999 }, []],
    ['is slow to start', { connectMs: 10_000 }, ['warn upstream-slow-start']],
    ['leaves the probe open', { silentOnProbe: true, connectMs: 15_000 }, ['warn upstream-silent-on-probe']],
    ['ends on the probe', { endsOnProbe: true }, ['warn upstream-ends-on-probe']],
    ['prints among its messages', { noise: 3 }, ['warn upstream-noise']],
    ['leaves processes', { escaped: 1 }, ['warn upstream-leaves-processes']],
  ])('that %s', (_what, more, expected) => {
    const found = upstreamFindings({ ...upstream, reached: { ...reached, ...more } as ReachedFacts }, own);
    expect(levels(found)).toEqual(expect.arrayContaining(expected));
    if (expected.length > 1) expect(found).toHaveLength(expected.length);
    else expect(found).toHaveLength(2 + expected.length);
    for (const { level, advice } of found) if (level !== 'ok') expect(advice).toBeTruthy();
  });

  it('says how many tools are served how, and what a legacy handshake means', () => {
    const served = { task: 3, direct: 2, auto: 1, hidden: 1 };
    const messages = upstreamFindings({ ...upstream, reached: { ...reached, tools: 7, served, failWhenLost: 3 } }, own);
    expect(messages[0]?.message).toBe('7 tools, served as 3 task, 2 direct, 1 auto, 1 hidden');
    expect(messages[1]?.message).toBe(
      'legacy handshake (2025-06-18): no tasks of its own: the gateway makes them; calls of 3 of them fail if it dies meanwhile',
    );
    expect(messages[1]?.advice).toContain('--on-lost rerun');
  });

  it.each([
    ['cannot be started: there is no such program', 'node', 'install node'],
    ['cannot be started: the program may not be run', 'x.sh', 'chmod +x x.sh'],
    ['mcp.json: a.env.T: the environment variable T is not set', '?', 'set it'],
    ['https://x/mcp: HTTP 401', 'https://x/mcp', 'credentials'],
    ['node: not connected within 100 ms', 'node', '--timeout'],
    ['https://x/mcp: fetch failed', 'https://x/mcp', 'address'],
    ['node: the server ended by itself (exit code 3); it said last: no', 'node', 'terminal'],
  ])('that is not reached: %s', (trouble, target, advice) => {
    const { reached: _none, ...rest } = upstream;
    const [found, ...more] = upstreamFindings({ ...rest, target, trouble, stderr: ['last words'] }, own);
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      level: 'fail',
      code: 'upstream-unreachable',
      advice: expect.stringContaining(advice),
    });
    expect(found?.message).toContain(
      trouble.includes('it said last') ? trouble : `${trouble}; it said last: last words`,
    );
  });

  it('tells apart what a host reaches without the gateway, and entries of another version', () => {
    const entry = { ...upstream, from: 'mcp.json' };
    expect(upstreamFindings({ ...entry, named: 'host' }, own)[0]).toMatchObject({
      code: 'upstream-not-wrapped',
      advice: 'longcall wrap-config mcp.json shows how to put it there',
    });
    expect(levels(upstreamFindings({ ...entry, longcall: '1.1.0' }, own))).toContain('warn entry-version');
    expect(levels(upstreamFindings({ ...entry, longcall: own }, own))).not.toContain('warn entry-version');
  });
});

describe('findings on a client', () => {
  it.each([
    [{ tasks: 'extension', protocol: '2026-07-28' }, 'native 2026-07-28', 'ok', undefined],
    [{ tasks: 'session', protocol: '2025-11-25' }, 'native 2025-11-25', 'ok', undefined],
    [{ name: 'claude-code', protocol: '2025-11-25' }, 'detach', 'warn', 'MCP_PROTOCOL_NEGOTIATION=auto'],
    [{ name: 'claude-code', protocol: '2026-07-28' }, 'detach', 'warn', 'CLAUDE_CODE_DISABLE_MCP_TASKS'],
    [{ name: 'Visual Studio Code', protocol: '2025-06-18' }, 'detach', 'warn', 'update VS Code'],
    [{ name: 'codex-mcp-client', protocol: '2025-06-18' }, 'detach', 'ok', undefined],
    [{ name: 'cursor-vscode', protocol: '2025-06-18' }, 'detach', 'ok', undefined],
    [{}, 'detach', 'ok', undefined],
  ] as const)('%o', (more, mode, level, advice) => {
    const seen = { ...client, ...more };
    expect(servedClient(seen).mode).toBe(mode);
    const [found, ...rest] = clientFindings(seen);
    expect(rest).toEqual([]);
    expect(found?.level).toBe(level);
    if (advice === undefined) expect(found).not.toHaveProperty('advice');
    else expect(found?.advice).toContain(advice);
  });

  it('says after how long a call is answered, as the server itself reckons', () => {
    expect(servedClient(client).why).toBe(
      'legacy handshake (2025-06-18): no tasks; a call that takes longer than 20 s is answered with how to go on',
    );
    expect(servedClient({ ...client, name: 'opencode' }).why).toContain('longer than 40 s');
    expect(clientFindings({ ...client, asks: ['form', 'url'] })[0]?.message).toContain('can be asked: form, url');
    expect(clientFindings(client)[0]?.message).toContain('cannot be asked anything');
  });

  it('knows the limits of every client that the server knows', () => {
    for (const { name, patienceMs } of KNOWN_CLIENTS) {
      const { limits } = servedClient({ ...client, name });
      expect(limits[0]).toContain(`after ${patienceMs / 1_000} s`);
    }
    expect(servedClient({ ...client, name: 'codex-mcp-client' }).limits.join()).toContain('tool_timeout_sec');
    expect(servedClient(client).limits).toEqual([]);
  });
});

describe('findings on the daemon', () => {
  it.each<[DaemonFacts, StateFacts['of'], string]>([
    [daemon, 'daemon', 'ok daemon-runs'],
    [{ ...daemon, version: '1.1.0' }, 'daemon', 'warn daemon-version'],
    [{ running: false }, 'daemon', 'ok daemon-none'],
    [{ running: false }, 'gateway', 'ok daemon-none'],
    [{ running: false, trouble: 'it hangs' }, 'daemon', 'fail daemon-untrusted'],
  ])('%#', (seen, of, expected) => {
    expect(levels(daemonFindings(seen, own, { ...state, of }))).toEqual([expected]);
  });
});

describe('findings on the machine', () => {
  it.each<[Partial<MachineFacts>, number | undefined, string]>([
    [{}, undefined, ''],
    [{ node: 'v20.19.0' }, undefined, ''],
    [{ node: 'v20.18.9' }, undefined, 'fail node-too-old'],
    [{ node: 'v18.20.0' }, undefined, 'fail node-too-old'],
    [{ now: Date.UTC(1970, 0, 1) }, undefined, 'fail clock-wrong'],
    [{ now: Date.UTC(2101, 0, 1) }, undefined, 'fail clock-wrong'],
    [{ clockJumpMs: 999 }, undefined, ''],
    [{ clockJumpMs: -1_000 }, undefined, 'warn clock-jumped'],
    [{}, machine.now + 60_000, ''],
    [{}, machine.now + 60_001, 'warn clock-set-back'],
  ])('%o with a newest task at %s: %s', (more, newestAt, bad) => {
    const found = levels(machineFindings({ ...machine, ...more }, newestAt));
    expect(found).toHaveLength(2);
    expect(found.filter((one) => !one.startsWith('ok'))).toEqual(bad === '' ? [] : [bad]);
  });
});

describe('findings on the state', () => {
  const GB = 1024 ** 3;
  const MB = 1024 ** 2;
  const open = [
    { tool: 'up-1/build', count: 2 },
    { tool: 'gone-2/build', count: 1 },
    { tool: 'gone-2/test', count: 2 },
  ];
  it.each<[string, Partial<StateFacts>, string[]]>([
    ['nothing', {}, []],
    ['a folder that is not there', { exists: false }, []],
    ['a folder that cannot be made', { exists: false, writable: false }, ['fail state-not-writable']],
    ['a folder that cannot be written', { writable: false }, ['fail state-not-writable']],
    ['a folder that others can open', { refused: 'open to others' }, ['fail state-unreadable']],
    ['the same of a gateway', { refused: 'open to others', of: 'gateway' }, ['warn state-open']],
    ['a network', { fileSystem: { name: 'NFS', kind: 'network' } }, ['fail state-on-network']],
    ['memory', { fileSystem: { name: 'tmpfs', kind: 'memory' } }, ['warn state-in-memory']],
    ['a container', { fileSystem: { name: 'overlayfs', kind: 'container' } }, ['warn state-in-container']],
    ['locks that do not hold', { locks: 'ignored' }, ['fail state-locks-ignored']],
    ['no locks', { locks: { failed: 'no locks available' } }, ['fail state-locks-failed']],
    ['no flush', { fsync: { failed: 'EINVAL' } }, ['fail state-fsync-failed']],
    ['a slow flush', { fsync: { ms: 100 } }, ['warn state-fsync-slow']],
    ['a disk that is low', { freeBytes: GB - 1 }, ['warn disk-low']],
    ['a disk that is just not low', { freeBytes: GB }, []],
    ['a disk that is full', { freeBytes: 100 * MB - 1 }, ['fail disk-full']],
    ['a disk that is just not full', { freeBytes: 100 * MB }, ['warn disk-low']],
    ['a store that cannot be read', { unreadable: 'it is damaged' }, ['fail state-unreadable']],
    ['a store of a later release', { store: { ...state.store!, schema: 4 } }, ['warn store-newer']],
    ['a store of an earlier release', { store: { ...state.store!, schema: 2 } }, []],
    ['tasks of an upstream that is not there', { store: { ...state.store!, open } }, ['warn tasks-wait-for-upstream']],
  ])('%s', (_what, more, bad) => {
    const found = stateFindings({ state: { ...state, ...more }, daemon });
    expect(levels(found).filter((one) => !one.startsWith('ok'))).toEqual(bad);
    for (const { level, advice } of found) if (level !== 'ok') expect(advice).toBeTruthy();
  });

  it('counts tasks that wait, by the daemon if one runs, else by the file', () => {
    const store = { ...state.store!, open };
    const messages = (more: Partial<Parameters<typeof stateFindings>[0]>): string[] =>
      stateFindings({ state: { ...state, store }, daemon, ...more })
        .filter(({ code }) => code === 'tasks-wait-for-upstream')
        .map(({ message }) => message);
    expect(messages({})).toEqual([
      '3 tasks wait for the upstream "gone-2", which no host has named since the daemon started',
    ]);
    expect(messages({ daemon: { running: false }, configured: ['gone-2'] })).toEqual([
      '2 tasks wait for the upstream "up-1", which the file does not name',
    ]);
    expect(messages({ daemon: { running: false } })).toEqual([]); // Whoever starts may name any.
    const commands = [{ tool: 'shell:build', count: 1 }]; // They go on, whoever is there.
    expect(messages({ state: { ...state, store: { ...store, open: commands } } })).toEqual([]);
  });
});

describe('a command of the gateway’s own', () => {
  it('is there, or is told as missing, and so is its folder', () => {
    const codes = (change: Partial<CommandFacts>) =>
      commandFindings({ ...command, ...change }).map(({ level, code }) => `${level} ${code}`);
    expect(codes({})).toEqual(['ok command-found']);
    const { found: _, ...nowhere } = command;
    expect(commandFindings({ ...nowhere, missingFolder: '/gone' })).toEqual([
      expect.objectContaining({ level: 'fail', code: 'command-missing', message: 'make is no program in its PATH' }),
      expect.objectContaining({ level: 'fail', code: 'command-folder-missing', message: 'there is no folder /gone' }),
    ]);
  });
});

describe('an API of the gateway’s own', () => {
  it('may be reached, or is told why not', () => {
    expect(apiFindings(api)).toMatchObject([{ level: 'ok', code: 'api-found' }]);
    const trouble = 'the address of ci.example cannot be found (ENOTFOUND)';
    expect(apiFindings({ ...api, trouble })).toMatchObject([
      { level: 'fail', code: 'api-not-reached', message: trouble },
    ]);
  });
});

describe('all findings', () => {
  it('are about something, and end in an exit code', () => {
    const seen = judge({ ...facts, daemon: { ...daemon, clients: [client, { ...client, name: 'claude-code' }] } });
    expect(new Set(seen.map(({ about }) => about))).toEqual(
      new Set(['upstream', 'command', 'api', 'client', 'daemon', 'state', 'machine']),
    );
    expect(seen.filter(({ about }) => about === 'client')).toMatchObject([
      { name: 'some-host', at: 0 },
      { name: 'claude-code', at: 1 },
    ]);
    expect(exitCodeOf(seen)).toBe(0);
    expect(exitCodeOf(seen, { strict: true })).toBe(1);
    expect(exitCodeOf(judge(facts), { strict: true })).toBe(0);
    expect(exitCodeOf(judge({ ...facts, state: { ...state, freeBytes: 0 } }))).toBe(1);
    expect(exitCodeOf(judge({ ...facts, state: { ...state, freeBytes: 0, unreadable: 'damaged' } }))).toBe(5);
  });
});
