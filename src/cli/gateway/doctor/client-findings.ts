import { detachAfter, KNOWN_CLIENTS } from '../../../server/limits.ts';
import { HOSTS, type HostName } from '../setup/hosts.ts';
import type { ClientFacts } from './facts.ts';
import { type Found, ok, warn } from './finding.ts';

/** How a client is served. */
export interface ServedClient {
  mode: 'native 2026-07-28' | 'native 2025-11-25' | 'detach';
  why: string;
  /** What gives it tasks of its own, where anything does. */
  set?: string;
  /** After how long it gives up on a call, where that is known, and what of it can be set. */
  limits: string[];
}

/** What each host calls itself, as far as it is known. */
const HOST_OF: readonly { name: RegExp; host: HostName }[] = [
  { name: /^claude-code$/, host: 'claude-code' },
  { name: /^claude-ai$/, host: 'claude-desktop' },
  { name: /^visual studio code/i, host: 'vscode' },
  { name: /^cursor(-vscode)?$/, host: 'cursor' },
  { name: /^codex-mcp-client$/, host: 'codex' },
  { name: /^gemini-cli-mcp-client/, host: 'gemini' },
  { name: /^goose/, host: 'goose' },
  { name: /^opencode$/, host: 'opencode' },
];

export function servedClient(client: ClientFacts): ServedClient {
  const limits = limitsOf(client);
  if (client.tasks === 'extension') {
    return { mode: 'native 2026-07-28', why: 'it declares the tasks extension', limits };
  }
  if (client.tasks === 'session') {
    return { mode: 'native 2025-11-25', why: 'its session has tasks; a call that it makes without one waits', limits };
  }
  const set = settingFor(client);
  const after = Math.round(detachAfter({ client }) / 1_000);
  return {
    mode: 'detach',
    why: `${noTasks(client)}; a call that takes longer than ${after} s is answered with how to go on`,
    ...(set !== undefined && { set }),
    limits,
  };
}

export function clientFindings(client: ClientFacts): Found[] {
  const { mode, why, set } = servedClient(client);
  const asks = client.asks.length === 0 ? 'cannot be asked anything' : `can be asked: ${client.asks.join(', ')}`;
  const message = `${mode}: ${why}; ${asks}`;
  return set === undefined ? [ok('client-served', message)] : [warn('client-without-tasks', message, set)];
}

function noTasks({ protocol }: ClientFacts): string {
  if (protocol >= '2026-07-28') return 'it speaks 2026-07-28 and declares no tasks';
  const legacy = `legacy handshake (${protocol || 'no revision'})`;
  return protocol === '2025-11-25' ? `${legacy}, without tasks declared` : `${legacy}: no tasks`;
}

function settingFor({ name, protocol }: ClientFacts): string | undefined {
  const modern = protocol >= '2026-07-28';
  switch (hostOf(name)) {
    case 'claude-code':
      return modern
        ? 'use release 2.1.319 or later with a terminal, and see that CLAUDE_CODE_DISABLE_MCP_TASKS is not set'
        : 'set MCP_PROTOCOL_NEGOTIATION=auto in the environment of Claude Code itself, or have it reach the gateway over HTTP';
    case 'vscode':
      return 'update VS Code: its releases since December 2025 ask for tasks of 2025-11-25';
    default:
      return undefined; // No release of these has tasks: nothing can be set.
  }
}

function limitsOf({ name }: ClientFacts): string[] {
  const known = KNOWN_CLIENTS.find((one) => one.name === name);
  const host = hostOf(name);
  return [
    ...(known === undefined
      ? []
      : [`gives up on a call after ${known.patienceMs / 1_000} s${known.waitsOnProgress ? ' without progress' : ''}`]),
    ...(host === undefined ? [] : HOSTS[host].limits),
  ];
}

function hostOf(name: string): HostName | undefined {
  return HOST_OF.find((one) => one.name.test(name))?.host;
}
