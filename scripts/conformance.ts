// `npm run conformance`: the official conformance suite against servers made of Longcall's public API, and against the same
// servers behind a gateway. All scenarios for 2026-07-28 run, the `tasks-*` scenarios among them; test/conformance/left-out.ts
// names those that do not count.
// `--only NAME` runs one scenario and shows all that the suite says about it.
import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { leftOut, leftOutThroughGateway } from '../test/conformance/left-out.ts';
import { type Fixture, startFixture, startGateway } from './conformance/fixture.ts';
import {
  type Check,
  installedSuite,
  listScenarios,
  type Outcome,
  runScenario,
  type Scenario,
  type Suite,
} from './conformance/suite.ts';
import { endAll } from './support/children.ts';

/** What the ten `tasks-*` scenarios have; fewer means that something was silently not tested. */
const TASKS_CHECKS = 44;
const TASKS_CHECKS_THROUGH_GATEWAY = 42;
/** Scenarios about a server that is all Longcall's, its listener included; the others want prompts and resources. */
const COMPLETE_SERVER = /^(tasks-|dns-rebinding-protection$)/;

const { values: flags } = parseArgs({ options: { only: { type: 'string' } } });
const folder = await mkdtemp(join(tmpdir(), 'longcall-conformance-'));

let passed = 0;
let failed = 0;
/** Servers that are tested, and what was found. */
interface Site {
  /** Put after the names of scenarios. */
  label: string;
  tested: Fixture;
  /** All that has to be closed, in this order. */
  parts: Fixture[];
  leftOut: Readonly<Record<string, string>>;
  tasksChecks: number;
  tasksPassed: number;
}

const sites: Site[] = [];
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
try {
  await main();
  for (const { parts } of sites) for (const part of parts) await part.close();
} catch (error) {
  problem((error as Error).message);
} finally {
  await endAll();
  await rm(folder, { recursive: true, force: true });
}
console.log(`conformance: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function main(): Promise<void> {
  const suite = await installedSuite(join(import.meta.dirname, '../.cache'));
  const scenarios = await listScenarios(suite);
  const chosen = flags.only === undefined ? scenarios : scenarios.filter(({ name }) => name === flags.only);
  if (chosen.length === 0) {
    throw new Error(`there is no scenario ${flags.only}; there are ${scenarios.map(({ name }) => name).join(', ')}`);
  }
  await open();
  for (const scenario of chosen) {
    // One does not disturb the other: they share nothing.
    const outcomes = await Promise.all(sites.map((site) => run(suite, scenario, site)));
    if (interrupted) throw new Error('interrupted');
    if (sites.some(({ parts }) => parts.some((part) => !part.alive()))) break; // Closing them tells what happened.
    for (const [index, site] of sites.entries()) {
      const { outcome, log } = outcomes[index] as Ran;
      if (site.leftOut[scenario.name] === undefined) count(site, scenario, outcome, log);
      else confirmLeftOut(site, scenario, outcome);
      if (flags.only !== undefined && log !== '') console.log(log);
    }
  }
  if (flags.only !== undefined) return;
  for (const name of Object.keys({ ...leftOut, ...leftOutThroughGateway })) {
    if (!scenarios.some((scenario) => scenario.name === name))
      problem(`${name} is left out, but does not exist any more`);
  }
  for (const { label, tasksPassed, tasksChecks } of sites) {
    if (tasksPassed < tasksChecks)
      problem(`only ${tasksPassed} of ${tasksChecks} checks of the tasks-* scenarios passed${label}`);
  }
}

async function open(): Promise<void> {
  const servers = (name: string): Promise<Fixture> => {
    mkdirSync(join(folder, name));
    return startFixture(join(folder, name));
  };
  const [direct, behind] = await Promise.all([servers('direct'), servers('behind')]);
  sites.push({ label: '', tested: direct, parts: [direct], leftOut, tasksChecks: TASKS_CHECKS, tasksPassed: 0 });
  const gateway = await startGateway(folder, behind);
  sites.push({
    label: ' through the gateway',
    tested: gateway,
    parts: [gateway, behind],
    leftOut: leftOutThroughGateway,
    tasksChecks: TASKS_CHECKS_THROUGH_GATEWAY,
    tasksPassed: 0,
  });
}

interface Ran {
  outcome: Outcome;
  /** What the servers said meanwhile. */
  log: string;
}

async function run(suite: Suite, scenario: Scenario, { label, tested, parts }: Site): Promise<Ran> {
  const url = COMPLETE_SERVER.test(scenario.name) ? tested.urls.tasks : tested.urls.everything;
  const before = parts.map((part) => part.log().length);
  const results = join(folder, `results${label.replaceAll(' ', '-')}`);
  const outcome = await runScenario(suite, scenario, url, { folder: results, show: flags.only !== undefined });
  return { outcome, log: parts.map((part, index) => part.log().slice(before[index])).join('') };
}

function count(site: Site, scenario: Scenario, { checks, ms, output, problem: trouble }: Outcome, log: string): void {
  const name = `${scenario.name}${site.label}`;
  const good = checks.filter(({ status }) => status === 'SUCCESS');
  // A warning is a SHOULD that was not met. None is left unmet today, and none is to be lost unnoticed.
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  passed += good.length;
  failed += bad.length;
  if (name.startsWith('tasks-')) site.tasksPassed += good.length;
  line(name, `${String(good.length).padStart(3)} passed ${String(bad.length).padStart(2)} failed ${time(ms)}`);
  for (const check of bad) console.log(`  ${check.status} ${check.id}: ${check.errorMessage ?? check.name}`);
  if (trouble !== undefined) problem(`${name} ${trouble}\n${output}`);
  else if (!good.some(isOwn)) problem(`${name} has checked nothing`);
  if (bad.length > 0 && log !== '') console.log(`  the server said meanwhile:\n${log}`);
}

/** A left-out scenario is run to see whether it still has to be. */
function confirmLeftOut(site: Site, scenario: Scenario, { checks, ms }: Outcome): void {
  const name = `${scenario.name}${site.label}`;
  line(name, `          left out ${time(ms)}  it ${site.leftOut[scenario.name]}`);
  const good = checks.some((check) => isOwn(check) && check.status === 'SUCCESS');
  const bad = checks.some(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (good && !bad) problem(`${name} is left out, but passes: take it from the list`);
}

/** The suite checks every message against the schema too; that alone says nothing about the scenario. */
function isOwn({ id }: Check): boolean {
  return !id.startsWith('wire-schema-');
}

function line(name: string, text: string): void {
  console.log(`${name.padEnd(68)}${text}`);
}

function time(ms: number): string {
  return `${String(ms).padStart(6)} ms`;
}

function problem(message: string): void {
  failed += 1;
  console.log(`conformance: ${message}`);
}

/** Ends what is running; nothing more is started, and `main` finds out. */
function interrupt(): void {
  interrupted = true;
  void endAll();
}
