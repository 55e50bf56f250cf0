import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stopOnSignals } from '../../engine/signals.ts';
import { LISTEN } from '../../gateway/config/address.ts';
import { ConfiguredAuth } from '../../gateway/config/authentication.ts';
import { type LoadedConfig, loadConfig } from '../../gateway/config/load.ts';
import { ConfigError } from '../../gateway/config/problems.ts';
import { configSchema } from '../../gateway/config/schema.ts';
import type { GatewayConfig } from '../../gateway/config/types.ts';
import { watchConfig } from '../../gateway/config/watch.ts';
import type { Gateway, GatewayOptions } from '../../gateway/gateway.ts';
import { isLoopback, ListenError } from '../../server/listen.ts';
import { CliError, EXIT } from '../errors.ts';
import { loggerTo, type Output } from '../output.ts';
import { listenOption } from './listen-option.ts';

export interface ServeOptions {
  listen?: string;
  state?: string;
  check?: boolean;
  printSchema?: boolean;
  json?: boolean;
}

/** What of a gateway is needed to serve it. */
type Served = Pick<Gateway, 'listen' | 'reload' | 'close'>;
export type OpenGateway = (options: GatewayOptions) => Promise<Served>;

/** A configuration that can be served: with what the command line says instead, and nothing left open. */
type Servable = GatewayConfig & Required<Pick<GatewayConfig, 'listen' | 'stateFolder'>>;

/** Serves the gateway of a file. @returns the exit code; while it serves, it does not return. */
export async function serve(
  file: string | undefined,
  options: ServeOptions,
  output: Output,
  open: OpenGateway = openGateway,
): Promise<number> {
  if (options.printSchema === true) {
    await output.write(configSchema());
    return EXIT.ok;
  }
  if (file === undefined) throw new CliError('name the configuration: longcall serve longcall.yaml');
  const told = new Told(file, options.json === true, output);
  let loaded: LoadedConfig;
  let config: Servable;
  try {
    loaded = loadConfig(file);
    config = servable(file, loaded.config, options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    await told.wrong(error);
    return EXIT.usage;
  }
  if (options.check !== true) await run(file, loaded, config, options, told, open);
  else await told.right(config);
  return EXIT.ok;
}

const openGateway: OpenGateway = async (options) => {
  const gateway = await import('../../gateway/gateway.ts'); // Only to serve: --check is done in no time.
  return gateway.openGateway(options);
};

function servable(file: string, config: GatewayConfig, { listen, state }: ServeOptions): Servable {
  const given = listen === undefined ? undefined : listenOption(listen);
  if (given !== undefined && !isLoopback(given.host) && config.tokens === undefined && config.tokenFile === undefined) {
    throw new CliError(`--listen: ${given.host} can be reached by others: auth in ${file} has to say who is let in`);
  }
  const stateFolder = state === undefined ? config.stateFolder : resolve(state);
  if (stateFolder === undefined) {
    const message = 'expected a folder for the tasks, got nothing; or give --state FOLDER';
    throw new ConfigError(file, [{ line: 1, column: 1, field: 'state', message }]);
  }
  return { ...config, listen: given ?? config.listen ?? LISTEN, stateFolder };
}

async function run(
  file: string,
  current: LoadedConfig,
  config: Servable,
  options: ServeOptions,
  told: Told,
  open: OpenGateway,
): Promise<void> {
  const auth = ConfiguredAuth.of(config);
  const opening = open({ stateFolder: config.stateFolder, config, logger: told.logger });
  let watching: { close(): void } | undefined;
  let gone = (): void => {};
  const stopped = new Promise<void>((done) => {
    gone = done;
  });
  const removeHandlers = stopOnSignals(async () => {
    watching?.close();
    await (await opening).close();
    await told.stopped();
    gone();
  });
  try {
    const gateway = await opening;
    const { url } = await listening(gateway, config, auth);
    await told.serving(url, config);
    const onConfig = async (loaded: LoadedConfig): Promise<void> => {
      const next = servable(file, loaded.config, options);
      auth?.use(next); // First: a token that was taken back is good for nothing from here on.
      await told.reloaded(await gateway.reload(next), restartFor(config, next));
    };
    watching = watchConfig(file, onConfig, (error) => void told.refused(error), { current });
    await stopped;
  } catch (error) {
    removeHandlers();
    await opening.then(
      (gateway) => gateway.close(),
      () => {},
    );
    throw error;
  }
}

async function listening(
  gateway: Served,
  { listen }: Servable,
  auth: ConfiguredAuth | undefined,
): Promise<{ url: string }> {
  try {
    return await gateway.listen({ ...listen, ...(auth !== undefined && { auth }) });
  } catch (error) {
    if (error instanceof ListenError) throw new CliError(error.message, EXIT.infrastructure);
    throw error;
  }
}

/** What a new configuration says that only the next start can do. */
function restartFor(was: Servable, is: Servable): string[] {
  const locked = ({ tokens, tokenFile }: Servable): boolean => tokens !== undefined || tokenFile !== undefined;
  return [
    ...(isDeepStrictEqual(was.listen, is.listen) ? [] : ['listen']),
    ...(was.stateFolder === is.stateFolder ? [] : ['state']),
    ...(isDeepStrictEqual(was.limits ?? {}, is.limits ?? {}) ? [] : ['limits']),
    ...(locked(was) === locked(is) ? [] : ['auth']),
  ];
}

function namesIn({ upstreams, shell = [], http = [] }: Servable): { upstreams: string[]; tools: string[] } {
  return { upstreams: upstreams.map(({ name }) => name), tools: [...shell, ...http].map(({ name }) => name) };
}

function allIn(config: Servable): string {
  const { upstreams, tools } = namesIn(config);
  return [...upstreams, ...tools].join(', ');
}

/** What is said while serving: to people on the terminal, or to programs a line each. */
class Told {
  readonly logger;
  readonly #file: string;
  readonly #json: boolean;
  readonly #output: Output;

  constructor(file: string, json: boolean, output: Output) {
    this.logger = loggerTo(output);
    this.#file = file;
    this.#json = json;
    this.#output = output;
  }

  async right(config: Servable): Promise<void> {
    const { listen, stateFolder } = config;
    if (this.#json)
      await this.#output.json({ ok: true, file: this.#file, ...namesIn(config), listen, state: stateFolder });
    else await this.#output.write(`${this.#file}: ok: ${allIn(config)}\n`);
  }

  async wrong({ message, problems }: ConfigError): Promise<void> {
    if (this.#json) await this.#output.json({ ok: false, file: this.#file, problems });
    else this.#output.warn(`${message}\n`);
  }

  async serving(url: string, config: Servable): Promise<void> {
    if (this.#json) await this.#output.json({ event: 'serving', url, pid: process.pid, ...namesIn(config) });
    else await this.#output.write(`serving ${allIn(config)} on ${url}; stop with Ctrl-C\n`);
  }

  async reloaded(done: Awaited<ReturnType<Gateway['reload']>>, restart: string[]): Promise<void> {
    if (this.#json) return this.#output.json({ event: 'reloaded', ...done, restart });
    const { tools, ...upstreams } = done;
    const parts = (Object.keys(upstreams) as (keyof typeof upstreams)[])
      .map((what) => [what, [...upstreams[what], ...tools[what]]] as const)
      .filter(([, names]) => names.length > 0);
    await this.#output.write(`reloaded: ${parts.map(([what, names]) => `${what} ${names.join(', ')}`).join('; ')}\n`);
    if (restart.length > 0) this.#output.warn(`longcall: ${restart.join(', ')}: counts from the next start on\n`);
  }

  /** What was served before goes on. */
  async refused(error: Error): Promise<void> {
    const problems = error instanceof ConfigError ? error.problems : [];
    if (this.#json) await this.#output.json({ event: 'refused', message: error.message, problems });
    else this.#output.warn(`${error.message}\nlongcall: what was served before goes on\n`);
  }

  async stopped(): Promise<void> {
    if (this.#json) await this.#output.json({ event: 'stopped' });
    else await this.#output.write('stopped\n');
  }
}
