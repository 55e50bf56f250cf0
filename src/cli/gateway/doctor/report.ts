import { oneLine } from '../../format.ts';
import type { Output } from '../../output.ts';
import { servedClient } from './client-findings.ts';
import type { Facts, UpstreamFacts } from './facts.ts';
import type { Finding } from './finding.ts';

/** What `--json` prints. */
export function jsonOf(
  { upstreams, commands, apis, daemon, machine, state }: Facts,
  findings: readonly Finding[],
): object {
  const { clients, ...runs } = daemon.running ? daemon : { ...daemon, clients: [] };
  const count = (level: Finding['level']): number => findings.filter((one) => one.level === level).length;
  return {
    counts: { ok: count('ok'), warn: count('warn'), fail: count('fail') },
    findings,
    upstreams,
    commands,
    apis,
    clients: clients.map((client) => ({ ...client, ...servedClient(client) })),
    daemon: runs,
    state,
    machine,
  };
}

const TITLES: Record<Finding['about'], string> = {
  upstream: 'upstreams',
  command: 'commands',
  api: 'APIs',
  client: 'clients seen',
  daemon: 'daemon',
  state: 'state',
  machine: 'this machine',
};

/** For people: what is fine in a line, what is not with what to do. */
export function textOf(facts: Facts, findings: readonly Finding[], colors: Output['colors']): string {
  const paint = { ok: colors.green, warn: colors.yellow, fail: colors.red };
  const lines = Object.entries(TITLES).flatMap(([about, title]) => {
    const own = findings.filter((one) => one.about === about);
    if (own.length === 0) return [];
    const blocks = own.flatMap((finding, n) => {
      const { level, at, message, advice } = finding;
      const details = at === own[n - 1]?.at ? undefined : detailsOf(facts, finding);
      return [
        ...(details === undefined ? [] : [`  ${oneLine(details)}`]),
        `  ${paint[level](level.padEnd(4))}  ${oneLine(message)}`,
        ...(advice === undefined ? [] : [`        -> ${oneLine(advice)}`]),
      ];
    });
    return [title, ...blocks, ''];
  });
  return `${lines.join('\n')}\n${summary(findings)}\n`;
}

function detailsOf({ upstreams, commands, apis, daemon }: Facts, { about, at = 0 }: Finding): string | undefined {
  const upstream = about === 'upstream' ? upstreams[at] : undefined;
  if (upstream !== undefined) return upstreamDetails(upstream);
  if (about === 'command') return commands[at]?.name;
  if (about === 'api') return apis[at]?.name;
  const client = about === 'client' && daemon.running ? daemon.clients[at] : undefined;
  if (client === undefined) return undefined;
  const { name, version = '', protocol } = client;
  return [`${name} ${version}`.trim(), protocol, ...servedClient(client).limits.slice(0, 1)].join(', ');
}

function upstreamDetails({ name, target, reached }: UpstreamFacts): string {
  if (reached === undefined) return `${name} (${target})`;
  const { protocol, server, connectMs, requestMs } = reached;
  const request = requestMs === undefined ? '' : `, a request ${requestMs.toFixed(1)} ms`;
  return `${name} (${target}): ${server.name} ${server.version}, ${protocol}, connected in ${Math.round(connectMs)} ms${request}`;
}

function summary(findings: readonly Finding[]): string {
  const count = (level: Finding['level']): number => findings.filter((one) => one.level === level).length;
  const parts = [`${count('ok')} ok`, `${count('warn')} to look at`, `${count('fail')} failed`];
  return parts.join(', ');
}
