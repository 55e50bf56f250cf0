// `npm run interop`: clients and hosts we did not write, in exact versions, against a server made of Longcall's public API,
// over HTTP and stdio, with a SQLite file. Each plays every scenario of scripts/interop/scenarios.ts; test/interop/cannot.ts
// names what a client cannot do. Then the same clients through a gateway before that server, and servers we did not write, called by a client of ours. `--peer TEXT` and `--only SCENARIO` choose some of them.
import { parseArgs } from 'node:util';
import { cannot, type Inability } from '../test/interop/cannot.ts';
import type { Peer, PeerKind } from './interop/peer.ts';
import { extTasks, extTasksLegacy } from './interop/peers/ext-tasks.ts';
import { gemini } from './interop/peers/gemini.ts';
import { goSdk, goSdkLegacy } from './interop/peers/go.ts';
import { inspector, inspectorLegacy } from './interop/peers/inspector.ts';
import { aiSdk, langchain, openAiAgents } from './interop/peers/libraries.ts';
import { fastMcp, fastMcpNaming, pythonSdkV1, pythonSdkV2, pythonSdkV2Legacy } from './interop/peers/python.ts';
import { rmcp } from './interop/peers/rust.ts';
import { sdkV1 } from './interop/peers/sdk-v1.ts';
import { sdkV2, sdkV2Declaring, sdkV2Legacy } from './interop/peers/sdk-v2.ts';
import { play, SCENARIOS, type ScenarioName } from './interop/scenarios.ts';
import { everything, fastMcpServer, SERVER_SCENARIOS, type ServerKind, visitServer } from './interop/servers.ts';
import { Site, type TransportName } from './interop/site.ts';
import { endAll } from './support/children.ts';
import { NotInstallableError } from './support/fetched.ts';

const TRANSPORTS: readonly TransportName[] = ['http', 'stdio'];
const KINDS: readonly PeerKind[] = [
  sdkV2,
  sdkV2Declaring,
  sdkV2Legacy,
  sdkV1,
  extTasks,
  extTasksLegacy,
  inspector,
  inspectorLegacy,
  aiSdk,
  openAiAgents,
  langchain,
  gemini,
  pythonSdkV1,
  pythonSdkV2,
  pythonSdkV2Legacy,
  fastMcp,
  fastMcpNaming,
  goSdk,
  goSdkLegacy,
  rmcp,
];
/**
 * Those that pass through a gateway as well, each on one wire. The others start a program for each call, or want to be told how
 * failures are reported, which is a server's to say.
 */
const THROUGH_GATEWAY: ReadonlySet<PeerKind> = new Set([
  sdkV2,
  sdkV2Legacy,
  sdkV1,
  extTasks,
  aiSdk,
  openAiAgents,
  langchain,
  pythonSdkV1,
  pythonSdkV2,
  fastMcpNaming,
  goSdk,
  goSdkLegacy,
  rmcp,
]);
const SERVERS: readonly ServerKind[] = [everything, fastMcpServer];
/** No scenario takes longer, and no client takes longer to leave, in milliseconds. */
const SCENARIO_PATIENCE_MS = 45_000;
const CLOSE_PATIENCE_MS = 10_000;

const { values: flags } = parseArgs({ options: { peer: { type: 'string' }, only: { type: 'string' } } });
const kinds = KINDS.filter(({ name }) => name.includes(flags.peer ?? ''));
const servers = SERVERS.filter(({ name }) => name.includes(flags.peer ?? '') && flags.only === undefined);
const chosen = SCENARIOS.filter((name) => flags.only === undefined || name === flags.only);

let passed = 0;
let failed = 0;
let skipped = 0;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
if (kinds.length + servers.length === 0) {
  problem(`there is no such peer; there are ${[...KINDS, ...SERVERS].map(({ name }) => name).join(', ')}`);
}
if (chosen.length === 0) problem(`there is no such scenario; there are ${SCENARIOS.join(', ')}`);
for (const name of Object.keys(cannot)) {
  if (!KINDS.some((kind) => kind.name === name)) problem(`test/interop/cannot.ts speaks of ${name}, which is no peer`);
}
void prepareAll();
for (const kind of kinds) {
  for (const transport of kind.transports ?? TRANSPORTS) {
    if (interrupted) break;
    await visit(kind, transport).catch((error: Error) => problem(`${kind.name} over ${transport}: ${error.message}`));
  }
}
for (const kind of kinds.filter((one) => THROUGH_GATEWAY.has(one))) {
  if (interrupted) break;
  const where = `${kind.name} over http, through the gateway`;
  await visit(kind, 'http', { gateway: true }).catch((error: Error) => problem(`${where}: ${error.message}`));
}
for (const kind of servers) {
  for (const transport of kind.transports) {
    if (interrupted) break;
    await call(kind, transport).catch((error: Error) => problem(`${kind.name} over ${transport}: ${error.message}`));
  }
}
for (const kind of servers) {
  if (interrupted) break;
  const where = `${kind.name} over stdio, through the gateway`;
  await call(kind, 'stdio', { gateway: true }).catch((error: Error) => problem(`${where}: ${error.message}`));
}
await endAll();
if (interrupted) problem('interrupted');
console.log(`interop: ${passed} passed, ${failed} failed, ${skipped} skipped`);
// Not left to what clients may have forgotten to close.
process.exit(failed === 0 ? 0 : 1);

/** While the first clients play, what the others need is fetched and built; why it cannot be is told when they are to play. */
async function prepareAll(): Promise<void> {
  for (const { prepare } of kinds) {
    if (!interrupted) await prepare?.().catch(() => {});
  }
}

/** One client and one server play all scenarios. */
async function visit(kind: PeerKind, transport: TransportName, { gateway = false } = {}): Promise<void> {
  const label = gateway ? ' through the gateway' : '';
  console.log(`\n${kind.name} over ${transport}${label}`);
  const scenarios = chosen.filter((name) => kind.scenarios?.includes(name) ?? true);
  const site = await Site.open(transport, kind.server, { gateway });
  let peer: Peer | undefined;
  const leave = async (): Promise<void> => {
    const leaving = peer;
    peer = undefined;
    if (leaving !== undefined) await within(CLOSE_PATIENCE_MS, leaving.close()).catch(() => {}); // Its server is ended below.
  };
  const join = async (): Promise<Peer> => {
    peer ??= await within(SCENARIO_PATIENCE_MS, kind.connect(site));
    return peer;
  };
  try {
    await kind.prepare?.(); // Takes as long as it takes.
    await join();
    for (const name of scenarios) {
      if (interrupted) return;
      const unable = inability(kind, name, transport);
      if (unable !== undefined && unable.triedForMs === undefined) {
        skip(`${name}${label}`, unable.reason);
        continue;
      }
      const stage = { kind, site, peer: await join(), gate: name, reconnect };
      const started = performance.now();
      const error = await within(unable?.triedForMs ?? SCENARIO_PATIENCE_MS, play[name](stage)).then(
        () => undefined,
        (reason: Error) => reason,
      );
      report(`${name}${label}`, error, unable, performance.now() - started);
      if (error !== undefined) await leave(); // Whatever it is still busy with, it is not to be in the way.
    }
    if (site.validator.violations.length > 0) site.validator.assertClean();
  } catch (error) {
    if (!(error instanceof NotInstallableError)) throw error;
    for (const name of scenarios) skip(`${name}${label}`, error.message);
  } finally {
    await leave();
    await site.close();
  }

  async function reconnect(): Promise<Peer> {
    // Its connection has died with the server, unless that is behind a gateway.
    if (!gateway && (transport === 'stdio' || kind.endsWithServer)) await leave();
    return join();
  }
}

/** A client of ours plays all of its scenarios on one server. */
async function call(kind: ServerKind, transport: TransportName, { gateway = false } = {}): Promise<void> {
  const label = gateway ? ' through the gateway' : '';
  console.log(`\nour client to ${kind.name} over ${transport}${label}`);
  try {
    const each = async (name: string, scenario: () => Promise<void>): Promise<void> => {
      if (interrupted) return;
      const started = performance.now();
      const error = await within(SCENARIO_PATIENCE_MS, scenario()).then(
        () => undefined,
        (reason: Error) => reason,
      );
      report(`${name}${label}`, error, undefined, performance.now() - started);
    };
    await visitServer(kind, transport, each, { gateway });
  } catch (error) {
    if (!(error instanceof NotInstallableError)) throw error;
    for (const name of Object.keys(SERVER_SCENARIOS)) skip(`${name}${label}`, error.message);
  }
}

function inability({ name }: PeerKind, scenario: ScenarioName, transport: TransportName): Inability | undefined {
  const found = cannot[name]?.[scenario];
  return found?.over === undefined || found.over === transport ? found : undefined;
}

function report(name: string, error: Error | undefined, unable: Inability | undefined, ms: number): void {
  const time = `${ms.toFixed(0).padStart(6)} ms`;
  if (error === undefined && unable === undefined) {
    passed += 1;
    console.log(`  ${name.padEnd(35)} ok     ${time}`);
  } else if (error === undefined) {
    problem(`${name} is in test/interop/cannot.ts, but works: take it from there`);
  } else if (unable === undefined) {
    failed += 1;
    console.log(`  ${name.padEnd(35)} FAILED ${time}\n${error.stack ?? error.message}`);
  } else {
    skip(name, unable.reason);
    if (flags.only !== undefined) console.log(error.message);
  }
}

function skip(name: string, reason: string): void {
  skipped += 1;
  console.log(`  ${name.padEnd(35)} skipped: ${reason}`);
}

function problem(message: string): void {
  failed += 1;
  console.log(`interop: ${message}`);
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Nothing more is begun, and what runs is ended. */
function interrupt(): void {
  interrupted = true;
  void endAll();
}
