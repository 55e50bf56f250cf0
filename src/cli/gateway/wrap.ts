import { systemClock, systemRandom } from '../../core/index.ts';
import { stopOnSignals } from '../../engine/index.ts';
import type { Address } from '../../gateway/config/address.ts';
import { daemonCommandLine } from '../../gateway/daemon/command-line.ts';
import { runStdioFront } from '../../gateway/daemon/front.ts';
import { daemonFolder, privateFolder } from '../../gateway/daemon/private-folder.ts';
import { type Gateway, openGateway } from '../../gateway/gateway.ts';
import { version } from '../../gateway/version.ts';
import type { WrapSpec } from '../../gateway/wrapped.ts';
import { loggerTo, type Output } from '../output.ts';
import { listenOption } from './listen-option.ts';
import { type WrapOptions, wrapSpec } from './wrap-options.ts';

export interface WrapRunOptions {
  listen?: string;
  state?: string;
  daemon: boolean;
}

/** `longcall wrap -- command`: serves until its client leaves, or over HTTP until it is stopped. */
export async function wrap(
  options: WrapOptions & WrapRunOptions,
  command: readonly string[],
  output: Output,
): Promise<void> {
  const spec = wrapSpec(options, command, process.env);
  const folder = daemonFolder(options.state, process.env);
  if (options.listen !== undefined) return listen(listenOption(options.listen), spec, folder, output);
  if (options.daemon) return front(spec, folder);
  const gateway = await opened(spec, folder, output);
  await gateway.stdio().closed;
  await gateway.close();
}

/** A host ends the servers that it started when it ends itself; the daemon goes on. */
async function front(spec: WrapSpec, folder: string): Promise<void> {
  await runStdioFront({
    folder,
    hello: { spec, folder: process.cwd() },
    version: version(),
    command: daemonCommandLine(process.argv[1] ?? '', folder), // As this process was started itself.
    env: process.env,
    clock: systemClock,
    random: systemRandom,
  });
}

async function listen(address: Address, spec: WrapSpec, folder: string, output: Output): Promise<void> {
  const gateway = await opened(spec, folder, output);
  const ended = new Promise<void>((resolve) => {
    stopOnSignals(() => gateway.close().finally(resolve));
  });
  const { url } = await gateway.listen(address);
  await output.write(`listening on ${url}; stop with Ctrl-C\n`);
  await ended;
}

async function opened(spec: WrapSpec, folder: string, output: Output): Promise<Gateway> {
  const config = { upstreams: [] };
  const gateway = await openGateway({ stateFolder: privateFolder(folder), config, logger: loggerTo(output) });
  gateway.wrap(spec);
  return gateway;
}
