import { CommanderError } from 'commander';
import type { JsonObject } from '../../../core/index.ts';
import { loadConfig } from '../../../gateway/config/load.ts';
import { ConfigError } from '../../../gateway/config/problems.ts';
import type { GatewayConfig, HttpToolConfig, UpstreamConfig } from '../../../gateway/config/types.ts';
import { slugOf } from '../../../gateway/wrapped.ts';
import { readHostConfig, targetOf } from '../../calls/host-config.ts';
import { CliError } from '../../errors.ts';
import type { Output } from '../../output.ts';
import { gatewayCommands } from '../commands.ts';
import { readWrapped } from '../setup/own-command.ts';
import { type WrapOptions, wrapSpec } from '../wrap-options.ts';
import type { CommandFacts, UpstreamFacts } from './facts.ts';
import { lookAtCommand } from './look-command.ts';
import { secretsOf } from './secrets-of.ts';

export interface NamingOptions {
  config?: string;
  url?: string;
  header?: string[];
  headerEnv?: string[];
}

/** An upstream that was named, or why it makes no sense. */
export interface Named {
  name: string;
  from: string;
  named: UpstreamFacts['named'];
  /** What may be shown of it. */
  target: string;
  upstream?: UpstreamConfig;
  /** The version of longcall that a host's entry runs. */
  longcall?: string;
  trouble?: string;
  secrets: readonly string[];
}

export interface AllNamed {
  upstreams: Named[];
  /** Tools of the gateway's own that the file names. */
  commands: CommandFacts[];
  apis: readonly HttpToolConfig[];
  /** Of a gateway's file. */
  gateway?: GatewayConfig;
}

/**
 * Everything that the command line names: servers of a gateway's file, of a host's file, and one by itself.
 * @throws {CliError} when a file cannot be read or makes no sense
 */
export async function allNamed(
  file: string | undefined,
  options: NamingOptions,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<AllNamed> {
  const gateway = file === undefined ? undefined : gatewayIn(file, env);
  const { config } = options;
  return {
    upstreams: [
      ...(gateway?.upstreams ?? []),
      ...(config === undefined ? [] : await hosts(config, env, output)),
      ...(command.length > 0 || options.url !== undefined ? [alone(options, command, env)] : []),
    ],
    commands: (gateway?.config.shell ?? []).map((tool) => lookAtCommand(tool, file ?? '')),
    apis: gateway?.config.http ?? [],
    ...(gateway !== undefined && { gateway: gateway.config }),
  };
}

function gatewayIn(file: string, env: NodeJS.ProcessEnv): { config: GatewayConfig; upstreams: Named[] } {
  try {
    const { config, secrets } = loadConfig(file, env);
    const upstreams = config.upstreams.map((upstream) => {
      return {
        ...shown(upstream),
        from: file,
        named: 'gateway',
        secrets: [...secretsOf(upstream.target), ...secrets],
      } as const;
    });
    return { config, upstreams };
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.message);
    throw error;
  }
}

async function hosts(file: string, env: NodeJS.ProcessEnv, output: Output): Promise<Named[]> {
  return [...(await readHostConfig(file))].map(([name, entry]): Named => {
    const where = { name, from: file };
    try {
      return { ...where, ...hostEntry(name, entry, file, env, output) };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return { ...where, named: 'host', target: '?', trouble: error.message, secrets: [] };
    }
  });
}

/** What stands behind the gateway is looked at itself: the entry as it is would start a daemon. */
function hostEntry(name: string, entry: JsonObject, file: string, env: NodeJS.ProcessEnv, output: Output) {
  const target = targetOf(entry, `${file}: ${name}`, env);
  const words = 'command' in target ? [target.command, ...target.args] : [];
  const wrapped = 'command' in target ? wrappedIn(words, { ...env, ...target.env }, output) : undefined;
  if (wrapped !== undefined) {
    const own = 'command' in target && wrapped.target !== undefined ? withFolder(wrapped, target.cwd) : wrapped;
    const upstream: UpstreamConfig = { name, prefix: '', ...own };
    return { ...shown(upstream), named: 'gateway', ...versionIn(words), secrets: secretsOf(upstream.target) } as const;
  }
  const upstream: UpstreamConfig = {
    name,
    prefix: '',
    policy: {},
    tools: [],
    target: 'url' in target ? { ...target, forwardAuthorization: false } : target,
  };
  return { ...shown(upstream), named: 'host', secrets: secretsOf(upstream.target) } as const;
}

function wrappedIn(words: readonly string[], env: NodeJS.ProcessEnv, output: Output) {
  if (readWrapped(words) === undefined) return undefined;
  const options = words.slice(words.indexOf('wrap') + 1);
  const end = options.indexOf('--');
  const rest = end < 0 ? [] : options.slice(end + 1);
  return wrapSpec(wrapOptions(end < 0 ? options : options.slice(0, end), output), rest, env);
}

/** As the command itself reads them. @throws {CliError} */
function wrapOptions(words: readonly string[], output: Output): WrapOptions {
  const [wrap] = gatewayCommands(output, []);
  if (wrap === undefined) throw new TypeError('there is no command wrap');
  wrap.exitOverride().configureOutput({ writeErr: () => {} });
  try {
    const { unknown } = wrap.parseOptions([...words]);
    if (unknown.length > 0) throw new CliError(`longcall wrap: expected an option that there is, got ${unknown[0]}`);
    return wrap.opts<WrapOptions>();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new CliError(`longcall wrap: ${error.message.replace(/^error: /, '')}`);
  }
}

/** A version that is written out; `latest` is none. */
function versionIn(words: readonly string[]): { longcall?: string } {
  const pinned = words.flatMap((word) => /^longcall@(\d.*)$/.exec(word)?.[1] ?? [])[0];
  return pinned === undefined ? {} : { longcall: pinned };
}

function withFolder<Spec extends { target: UpstreamConfig['target'] }>(spec: Spec, cwd: string | undefined): Spec {
  return 'command' in spec.target && cwd !== undefined ? { ...spec, target: { ...spec.target, cwd } } : spec;
}

function alone(options: NamingOptions, command: readonly string[], env: NodeJS.ProcessEnv): Named {
  const spec = wrapSpec({ ...options, mode: 'task' }, command, env);
  const name = slugOf(spec.target) || 'server';
  const upstream: UpstreamConfig = { name, prefix: '', ...spec };
  return { ...shown(upstream), from: 'command line', named: 'gateway', secrets: secretsOf(spec.target) };
}

function shown(upstream: UpstreamConfig): { name: string; target: string; upstream: UpstreamConfig } {
  const { name, target } = upstream;
  return { name, target: 'command' in target ? target.command : placeOf(target.url), upstream };
}

/** Never with a password or a query that is part of an address. */
function placeOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname}`;
}
