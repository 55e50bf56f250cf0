import type {
  ApiFacts,
  ClientFacts,
  CommandFacts,
  DaemonFacts,
  Facts,
  MachineFacts,
  ReachedFacts,
  StateFacts,
  UpstreamFacts,
} from '../../../src/cli/gateway/doctor/facts.ts';

// Facts with which nothing is wrong, to be changed in one thing.

export const machine: MachineFacts = {
  node: 'v22.19.0',
  wantedNode: '>=20.19',
  longcall: '1.2.0',
  sqlite: '3.50.0',
  platform: 'linux x64',
  now: Date.UTC(2026, 10, 30),
  clockJumpMs: 0,
};

export const state: StateFacts = {
  folder: '/state',
  exists: true,
  of: 'daemon',
  writable: true,
  freeBytes: 50 * 1024 ** 3,
  locks: 'kept',
  fsync: { ms: 1 },
  sizes: { tasks: 4_096, calls: 4_096, log: 100 },
  store: { schema: 3, ownSchema: 3, open: [], newestAt: machine.now - 5_000 },
};

export const daemon: Extract<DaemonFacts, { running: true }> = {
  running: true,
  pid: 7,
  version: machine.longcall,
  startedAt: machine.now - 60_000,
  hosts: 1,
  openTasks: 0,
  upstreams: ['up-1'],
  clients: [],
};

export const reached: ReachedFacts = {
  protocol: '2025-06-18',
  server: { name: 'fixture', version: '1' },
  generation: 'none',
  tools: 2,
  served: { task: 2, direct: 0, auto: 0, hidden: 0 },
  firstDraft: false,
  failWhenLost: 0,
  connectMs: 100,
  requestMs: 1,
  silentOnProbe: false,
  endsOnProbe: false,
  noise: 0,
  escaped: 0,
};

export const upstream: UpstreamFacts = {
  name: 'up',
  from: 'longcall.yaml',
  target: 'node',
  named: 'gateway',
  reached,
  stderr: [],
};

export const client: ClientFacts = {
  name: 'some-host',
  protocol: '2025-06-18',
  tasks: 'none',
  asks: [],
  lastSeenAt: machine.now,
};

export const command: CommandFacts = { name: 'build', from: 'longcall.yaml', program: 'make', found: '/bin/make' };

export const api: ApiFacts = { name: 'deploy', from: 'longcall.yaml', origin: 'https://ci.example' };

export const facts: Facts = { upstreams: [upstream], commands: [command], apis: [api], daemon, machine, state };
