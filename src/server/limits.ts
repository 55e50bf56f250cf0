import { checkFallback, type FallbackOptions, type RegisteredTaskTool } from '../engine/index.ts';
import type { Fallback } from '../wire/negotiate.ts';

/** What is known of a client: after how long it gives up on a call. Never relied on: who gives up finds the task again. */
interface KnownClient {
  /** As it calls itself at `initialize` or in its requests. */
  name: string;
  /** Milliseconds after which it gives up on a call. */
  patienceMs: number;
  /** Progress makes it wait as long again. */
  waitsOnProgress: boolean;
}

const SECOND = 1_000;

/** By default settings of releases of November 2026; people raise and lower them. */
export const KNOWN_CLIENTS: readonly KnownClient[] = [
  { name: 'codex-mcp-client', patienceMs: 300 * SECOND, waitsOnProgress: false },
  { name: 'opencode', patienceMs: 60 * SECOND, waitsOnProgress: true },
  { name: 'gemini-cli-mcp-client', patienceMs: 600 * SECOND, waitsOnProgress: false },
  { name: 'claude-code', patienceMs: 300 * SECOND, waitsOnProgress: true },
  { name: 'copilot-cli', patienceMs: 180 * SECOND, waitsOnProgress: true },
  { name: 'claude-ai', patienceMs: 60 * SECOND, waitsOnProgress: false },
  { name: 'cursor-vscode', patienceMs: 60 * SECOND, waitsOnProgress: false },
  { name: 'ai-sdk-mcp-client', patienceMs: 300 * SECOND, waitsOnProgress: false },
  { name: '@langchain/mcp-adapters', patienceMs: 60 * SECOND, waitsOnProgress: false },
  { name: 'mcp-use', patienceMs: 60 * SECOND, waitsOnProgress: false },
];

const DETACH_AFTER_MS = 20 * SECOND;
const MAX_BLOCK_MS = 600 * SECOND;
/** Nobody is kept waiting longer than this without a word, however patient his host is. */
const MAX_DETACH_MS = 120 * SECOND;

/** What a call's limits depend on, besides its tool. */
export interface Waiting {
  client?: { name: string } | undefined;
  /** It hears of progress, which keeps some clients waiting. */
  hearsProgress?: boolean;
  /** It could have asked for a task and did not: it wants to wait, and is shown no tools to go on with. */
  knowsTasks?: boolean;
}

/** How one call is served that nobody asked to be a task. */
export interface CallLimits {
  how: Fallback;
  /** After this long it is answered without its result. */
  waitMs: number;
  /** Its client holds every answer against the tool's own output schema. */
  schemaHeld: boolean;
}

/** How calls of clients without tasks are served: by the tool, by the client, by the server, in this order. */
export class CallerLimits {
  readonly #defaults: FallbackOptions;
  readonly #clients: Readonly<Record<string, FallbackOptions>>;

  constructor(defaults: FallbackOptions = {}, clients: Readonly<Record<string, FallbackOptions>> = {}) {
    checkFallback(defaults, 'fallback');
    for (const [name, options] of Object.entries(clients)) checkFallback(options, `clients["${name}"]`);
    this.#defaults = defaults;
    this.#clients = clients;
  }

  of(tool: RegisteredTaskTool, waiting: Waiting): CallLimits {
    const { knowsTasks = false } = waiting;
    const said = { ...this.#forClient(waiting), ...tool.fallback };
    const schemaHeld = knowsTasks && tool.config.outputSchema !== undefined;
    const mode = said.mode ?? 'detach';
    const how = knowsTasks && mode === 'detach' ? 'block' : mode;
    if (how === 'block') return { how, waitMs: said.maxBlockMs ?? patience(waiting), schemaHeld };
    return { how, waitMs: said.detachAfterMs ?? detachAfter(waiting), schemaHeld };
  }

  /** How long a client can be kept waiting that asks for it, in milliseconds. */
  longestWaitMs(waiting: Waiting): number {
    return this.#forClient(waiting).maxBlockMs ?? patience(waiting);
  }

  #forClient({ client }: Waiting): FallbackOptions {
    const name = client?.name ?? '';
    return { ...this.#defaults, ...(Object.hasOwn(this.#clients, name) && this.#clients[name]) };
  }
}

/** Two thirds of what the client is known to wait, so that the answer arrives in time also on a slow day. */
export function detachAfter({ client }: Pick<Waiting, 'client'>): number {
  const known = knownAs(client);
  return known === undefined ? DETACH_AFTER_MS : Math.min(MAX_DETACH_MS, Math.round((known.patienceMs * 2) / 3));
}

function patience({ client, hearsProgress = false }: Waiting): number {
  const known = knownAs(client);
  if (known === undefined || (known.waitsOnProgress && hearsProgress)) return MAX_BLOCK_MS;
  return Math.min(MAX_BLOCK_MS, Math.round((known.patienceMs * 2) / 3));
}

function knownAs(client: { name: string } | undefined): KnownClient | undefined {
  return KNOWN_CLIENTS.find(({ name }) => name === client?.name);
}
