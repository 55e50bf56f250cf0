import { headerValue } from '../server/peer.ts';
import type { Chance } from '../sim/chance.ts';
import type { Json } from '../support/messages.ts';
import type { Who } from './steps.ts';

/** A way to speak to a server: a revision, and what its client can do. Another one is one more entry of {@link wires}. */
export interface Wire {
  name: string;
  /** How often it is spoken, compared to the others. */
  weight: number;
  /** Added to the params of a call that is to become a task. */
  asTask?: (chance: Chance) => Json;
  /** Added to the `_meta` of a call that is to become a task, by what the client calls it. */
  taskMeta?: (task: string) => Json;
  /** Added to the `_meta` of every request. */
  meta?: Json;
  /** Headers of a message, by what is in it; templates. */
  headers: (message: Json, who: Who) => Record<string, string>;
}

const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const TASKS = { 'io.modelcontextprotocol/tasks': {} };

/** Whose tasks capability of 2025-11-25 says everything there is. */
const legacyTasks = { requests: { elicitation: { create: {} } }, list: {}, cancel: {} };

/** Sessions that `{{session WHO NAME}}` begins: the version asked for, and what is declared. */
export const sessions = {
  tasks: { version: '2025-11-25', capabilities: { ...all, tasks: legacyTasks } },
  asked: { version: '2025-11-25', capabilities: { elicitation: {} } },
  june: { version: '2025-06-18', capabilities: { elicitation: { form: {}, url: {} } } },
  march: { version: '2025-03-26', capabilities: {} },
  first: { version: '2024-11-05', capabilities: {} },
} as const;
export type SessionName = keyof typeof sessions;

function modern(name: string, weight: number, capabilities: Json, version = '2026-07-28'): Wire {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'a fuzzer', version: '1.0.0' },
  };
  const headers: Wire['headers'] = ({ method, params }) => {
    const { name: tool, taskId, uri } = (params ?? {}) as Json;
    const named = [tool, taskId, uri].find((value) => typeof value === 'string');
    return {
      'mcp-protocol-version': version,
      ...(typeof method === 'string' && { 'mcp-method': method }),
      ...(typeof named === 'string' && { 'mcp-name': nameHeader(named) }),
    };
  };
  return { name, weight, meta, headers };
}

/** A template is filled in later, and what it stands for needs no encoding. */
function nameHeader(name: string): string {
  return name.includes('{{') ? name : headerValue(name);
}

function inSession(session: SessionName, weight: number, asTask?: Wire['asTask']): Wire {
  const { version } = sessions[session];
  return {
    name: `${version} (${session})`,
    weight,
    ...(asTask && { asTask }),
    headers: (_message, who) => ({
      'mcp-session-id': `{{session ${who} ${session}}}`,
      'mcp-protocol-version': version,
    }),
  };
}

function stateless(name: string, weight: number, version: string | undefined): Wire {
  return { name, weight, headers: () => (version === undefined ? {} : { 'mcp-protocol-version': version }) };
}

const legacyTask = (chance: Chance): Json => ({
  task: chance.pick([{}, { ttl: 60_000 }, { ttl: 3_600_000, pollInterval: 500 }, { ttl: null }]),
});

/** The first draft lets a client name its task. */
const draftTask = (task: string): Json => ({ 'modelcontextprotocol.io/task': { taskId: task, keepAlive: 60_000 } });

export const wires: readonly Wire[] = [
  modern('2026-07-28, with tasks', 10, { ...all, extensions: TASKS }),
  modern('2026-07-28, without tasks', 5, all),
  modern('2026-07-28, without anything', 2, {}),
  modern('2026-07-28, with tasks of before', 3, { ...all, tasks: legacyTasks }),
  inSession('tasks', 10, legacyTask),
  inSession('asked', 4),
  inSession('june', 3),
  inSession('march', 2),
  inSession('first', 2),
  { ...inSession('june', 3), name: 'the first draft', taskMeta: draftTask },
  stateless('2025-11-25, no session', 3, '2025-11-25'),
  stateless('no version', 2, undefined),
  stateless('2024-11-05, no session', 1, '2024-11-05'),
  modern('a version to come', 1, { ...all, extensions: TASKS }, '2099-01-01'),
  modern('a version that is none', 1, { extensions: TASKS }, 'latest'),
  stateless('an unknown version, no session', 1, '1999-12-31'),
];
