// `npm run conformance`: the official conformance suite against servers made of Longcall's public API. All scenarios for
// 2026-07-28 run, the `tasks-*` scenarios among them; test/conformance/left-out.ts names those that do not count.
// `--only NAME` runs one scenario and shows all that the suite says about it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { leftOut } from '../test/conformance/left-out.ts';
import { type Fixture, startFixture } from './conformance/fixture.ts';
import {
  type Check,
  installedSuite,
  listScenarios,
  type Outcome,
  runScenario,
  type Scenario,
} from './conformance/suite.ts';
import { endAll } from './support/children.ts';

/** What the ten `tasks-*` scenarios have; fewer means that something was silently not tested. */
const TASKS_CHECKS = 44;
/** Scenarios about a server that is all Longcall's, its listener included; the others want prompts and resources. */
const COMPLETE_SERVER = /^(tasks-|dns-rebinding-protection$)/;

const { values: flags } = parseArgs({ options: { only: { type: 'string' } } });
const folder = await mkdtemp(join(tmpdir(), 'longcall-conformance-'));

let passed = 0;
let failed = 0;
let tasksPassed = 0;
let fixture: Fixture | undefined;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
try {
  await main();
  await fixture?.close();
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
  fixture = await startFixture(folder);
  for (const scenario of chosen) {
    const url = COMPLETE_SERVER.test(scenario.name) ? fixture.urls.tasks : fixture.urls.everything;
    const logged = fixture.log().length;
    const outcome = await runScenario(suite, scenario, url, { folder, show: flags.only !== undefined });
    if (interrupted) throw new Error('interrupted');
    if (!fixture.alive()) break; // Closing it tells what happened.
    if (leftOut[scenario.name] === undefined) count(scenario, outcome, fixture.log().slice(logged));
    else confirmLeftOut(scenario, outcome);
    if (flags.only !== undefined && fixture.log() !== '') console.log(fixture.log());
  }
  if (flags.only !== undefined) return;
  for (const name of Object.keys(leftOut)) {
    if (!scenarios.some((scenario) => scenario.name === name))
      problem(`${name} is left out, but does not exist any more`);
  }
  if (tasksPassed < TASKS_CHECKS)
    problem(`only ${tasksPassed} of ${TASKS_CHECKS} checks of the tasks-* scenarios passed`);
}

function count({ name }: Scenario, { checks, ms, output, problem: trouble }: Outcome, log: string): void {
  const good = checks.filter(({ status }) => status === 'SUCCESS');
  // A warning is a SHOULD that was not met. None is left unmet today, and none is to be lost unnoticed.
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  passed += good.length;
  failed += bad.length;
  if (name.startsWith('tasks-')) tasksPassed += good.length;
  line(name, `${String(good.length).padStart(3)} passed ${String(bad.length).padStart(2)} failed ${time(ms)}`);
  for (const check of bad) console.log(`  ${check.status} ${check.id}: ${check.errorMessage ?? check.name}`);
  if (trouble !== undefined) problem(`${name} ${trouble}\n${output}`);
  else if (!good.some(isOwn)) problem(`${name} has checked nothing`);
  if (bad.length > 0 && log !== '') console.log(`  the server said meanwhile:\n${log}`);
}

/** A left-out scenario is run to see whether it still has to be. */
function confirmLeftOut({ name }: Scenario, { checks, ms }: Outcome): void {
  line(name, `          left out ${time(ms)}  it ${leftOut[name]}`);
  const good = checks.some((check) => isOwn(check) && check.status === 'SUCCESS');
  const bad = checks.some(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (good && !bad) problem(`${name} is left out, but passes: take it from the list`);
}

/** The suite checks every message against the schema too; that alone says nothing about the scenario. */
function isOwn({ id }: Check): boolean {
  return !id.startsWith('wire-schema-');
}

function line(name: string, text: string): void {
  console.log(`${name.padEnd(48)}${text}`);
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
