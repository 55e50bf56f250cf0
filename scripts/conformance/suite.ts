// The official conformance suite: where it comes from, what it has, and how one of its scenarios is run.
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ended, track } from '../support/children.ts';
import { installed } from '../support/installed.ts';

const SUITE = '@modelcontextprotocol/conformance';
const SUITE_VERSION = '0.2.0-alpha.12';

/** The revision that scenarios are run on, where they know it. */
const REVISION = '2026-07-28';
/** No scenario takes longer, in milliseconds; the suite's own limit is 30 s. */
const SCENARIO_PATIENCE_MS = 60_000;

export interface Suite {
  node: string;
  cli: string;
}

export interface Scenario {
  name: string;
  /** The revisions it knows; `extension` for those outside of them. */
  revisions: string[];
}

export interface Check {
  id: string;
  name: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  errorMessage?: string;
}

export interface Outcome {
  checks: Check[];
  ms: number;
  /** What the suite printed, unless it was shown at once. */
  output: string;
  /** Why the outcome cannot be trusted. */
  problem: string | undefined;
}

/** The suite and a Node that runs it: no dependencies of the project, since nobody else needs them. */
export async function installedSuite(cache: string): Promise<Suite> {
  const { node, folder } = await installed(SUITE, SUITE_VERSION, cache);
  return { node, cli: join(folder, 'dist/index.js') };
}

/** All scenarios that test a server. */
export async function listScenarios({ node, cli }: Suite): Promise<Scenario[]> {
  const { status, output } = await collected(node, [cli, 'list', '--server']);
  const scenarios = [...output.matchAll(/^ +- (\S+) \[([^\]]+)\]$/gm)].map(([, name = '', revisions = '']) => ({
    name,
    revisions: revisions.split(','),
  }));
  if (status === 0 && scenarios.length > 0) return scenarios;
  throw new Error(`the suite does not list its scenarios as expected:\n${output}`);
}

/**
 * Runs one scenario against a server.
 * @param options `folder` for its results; `show` to pass on what it prints as it comes
 */
export async function runScenario(
  { node, cli }: Suite,
  { name, revisions }: Scenario,
  url: string,
  options: { folder: string; show: boolean },
): Promise<Outcome> {
  const results = join(options.folder, name);
  // An extension's scenario skips itself, and succeeds, when a revision is asked for.
  const revision = revisions.includes(REVISION) ? ['--spec-version', REVISION] : [];
  const started = performance.now();
  const { status, output } = await collected(
    node,
    [cli, 'server', '--url', url, '--scenario', name, ...revision, '--output-dir', results],
    { show: options.show },
  );
  const ms = Math.round(performance.now() - started);
  const checks = await readChecks(results);
  const failed = checks?.some((check) => check.status === 'FAILURE');
  let problem: string | undefined;
  if (checks === undefined) problem = `no results were written (${status})`;
  else if (status !== 0 && !failed) problem = `ended with ${status} though no check failed`;
  return { checks: checks ?? [], ms, output, problem };
}

async function readChecks(results: string): Promise<Check[] | undefined> {
  try {
    const [run] = await readdir(results);
    return JSON.parse(await readFile(join(results, run ?? '', 'checks.json'), 'utf8')) as Check[];
  } catch {
    return undefined;
  }
}

async function collected(
  command: string,
  args: string[],
  options: { show?: boolean } = {},
): Promise<{ status: number | NodeJS.Signals; output: string }> {
  const { show = false } = options;
  const stdio = show ? 'inherit' : 'pipe';
  const child = track(spawn(command, args, { stdio: ['ignore', stdio, stdio] }));
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const [status, ...outputs] = await Promise.all([
    ended(child, SCENARIO_PATIENCE_MS),
    ...streams.map((stream) => text(stream)),
  ]);
  return { status, output: outputs.join('') };
}
