import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { COMPANIONS, hasCompanions } from '../../wire/companions.ts';
import { withoutFollowUp } from '../../wire/tool-list.ts';
import { partsOf, type TaskClient } from '../client.ts';
import type { ConnectedServer } from '../connected-server.ts';
import type { RemoteTool } from '../remote.ts';
import { unlessAborted } from '../unless-aborted.ts';
import {
  AgentCalls,
  type AgentNotice,
  type BackgroundCall,
  digestOf,
  kept,
  type OpenAgentCall,
} from './agent-calls.ts';
import { controls } from './controls.ts';
import { type AgentReply, reply } from './reply.ts';
import { toolNames } from './tool-names.ts';
import {
  BACKGROUND_CANCEL,
  BACKGROUND_INSTRUCTIONS,
  BACKGROUND_LIST,
  bounded,
  goesOn,
  JOINED,
  outcomeOf,
  runsAlready,
  wasThere,
} from './words.ts';

export interface AgentToolsOptions {
  /**
   * Whose calls these are. The journal keeps it, so that results come back to the agent that asked, also after a restart: keep
   * it from start to start, and give every agent or conversation on one client its own. One process at a time serves it.
   * @default 'agent'
   */
  agent?: string;
  /** Whose tools to take. @default all that are connected */
  servers?: readonly ConnectedServer[];
  /** Calls that take longer than this many milliseconds go on in the background. @default 10000 */
  answerWithinMs?: number;
  /** Of longer results a model sees the beginning and the end, in characters. @default 20000 */
  maxResultChars?: number;
  /**
   * What becomes of a call while the same one, of the same arguments, is running, or has ended and was not handed over: `join`
   * starts nothing and says so, or gives the result that there is; `again` runs it once more. @default 'join'
   */
  sameCall?: 'join' | 'again';
  /** Whether a model can list and cancel what goes on, by its labels. @default true */
  controls?: boolean;
  /** Whether the names of all tools begin with that of their server, or only those that would clash. @default 'clash' */
  prefix?: 'clash' | 'always';
  /** Which tools a model gets. By default all but those by which models without a client follow tasks up themselves. */
  filter?: (server: string, tool: RemoteTool) => boolean;
  /** How long servers should keep a task, in milliseconds; a wish. @default the server's */
  ttlMs?: number;
}

/** A tool for a model, of no framework in particular. */
export interface AgentTool {
  /** 1 to 64 of the characters a-z, A-Z, 0-9, _ and -. */
  name: string;
  /** Words of the server, at most 1024 characters. */
  description: string;
  /** JSON Schema of an object. */
  inputSchema: JsonObject;
  /**
   * @param args what the model said; anything that is no object is answered with an error for it
   * @param options.signal aborted: a call that is still waited for is cancelled, and this rejects with the signal's reason.
   *   What went on in the background by then goes on.
   * @throws {StoreUnavailableError} when the journal cannot be written. Nothing was sent then.
   */
  execute(args: unknown, options?: { signal?: AbortSignal | undefined }): Promise<AgentReply>;
}

const MAX_DESCRIPTION_CHARS = 1_024;
const COMPANION_NAMES: ReadonlySet<string> = new Set(Object.values(COMPANIONS));

/**
 * Tools for an agent, of all servers of a client. Quick calls are answered in place. Slow ones go on in the background and say
 * so; their results come by `ready` and `wait`, also after a restart. No model ever handles an id.
 * @throws {TypeError} naming the option that is none.
 * @throws {RemoteError} when a server's tools cannot be listed.
 */
export async function asAgentTools(client: TaskClient, options: AgentToolsOptions = {}): Promise<AgentTools> {
  const { agent = 'agent', maxResultChars = 20_000, answerWithinMs, ttlMs } = options;
  if (typeof agent !== 'string' || agent === '') throw new TypeError('agent: a text that is not empty');
  for (const [option, value] of Object.entries({ maxResultChars, answerWithinMs, ttlMs })) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue;
    throw new TypeError(`${option}: a whole number, at least 1, got ${value}`);
  }
  const tools = new AgentTools(await AgentCalls.open(client, agent, maxResultChars), options);
  await tools.refresh();
  return tools;
}

export class AgentTools {
  /** For the instructions that the model is given: what it means that a call goes on. */
  readonly instructions = BACKGROUND_INSTRUCTIONS;
  readonly #calls: AgentCalls;
  readonly #options: AgentToolsOptions;
  /** Calls waited for in place, by what they ask. */
  readonly #inPlace = new Map<string, Promise<AgentReply>>();
  #tools: readonly AgentTool[] = [];

  /** @internal */
  constructor(calls: AgentCalls, options: AgentToolsOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  get tools(): readonly AgentTool[] {
    return this.#tools;
  }

  /** Lists the tools of all servers anew. */
  async refresh(): Promise<void> {
    const { servers = [...partsOf(this.#calls.client).servers.values()], prefix = 'clash' } = this.#options;
    const listed = (await Promise.all(servers.map((server) => this.#toolsOf(server)))).flat();
    const own = this.#options.controls === false ? [] : controls(this.#calls);
    const taken = new Set([BACKGROUND_LIST, BACKGROUND_CANCEL]);
    const names = toolNames(
      listed.map(({ server, tool }) => ({ server: server.name, tool: tool.name })),
      { taken, prefix },
    );
    this.#tools = [...listed.map(({ server, tool }, n) => this.#tool(names[n] as string, server, tool)), ...own];
  }

  /** Results that came after their calls were answered and that nobody acknowledged, oldest first. Does not wait. */
  ready(): Promise<AgentNotice[]> {
    return this.#calls.ready();
  }

  /**
   * The same, as soon as there are any. None at all where nothing goes on in the background: then there is nothing to wait
   * for. Whoever waits here keeps the process alive.
   * @throws the signal's reason, or {@link ClientClosedError}.
   */
  wait({ signal }: { signal?: AbortSignal } = {}): Promise<AgentNotice[]> {
    return this.#calls.wait(signal);
  }

  /** What goes on in the background, oldest first: for showing it, for cancelling it, and for answering what it asks. */
  background(): Promise<BackgroundCall[]> {
    return this.#calls.background();
  }

  async #toolsOf(server: ConnectedServer): Promise<{ server: ConnectedServer; tool: RemoteTool }[]> {
    const tools = await server.listTools();
    const followUp = hasCompanions(new Set(tools.map(({ name }) => name)));
    const wanted = this.#options.filter ?? ((_server, { name }) => !followUp || !COMPANION_NAMES.has(name));
    return tools.filter((tool) => wanted(server.name, tool)).map((tool) => ({ server, tool }));
  }

  #tool(name: string, server: ConnectedServer, { name: tool, title, description, inputSchema }: RemoteTool): AgentTool {
    const own = withoutFollowUp(description ?? title ?? `A tool of the server "${server.name}".`, COMPANIONS.wait);
    return {
      name,
      description: bounded(own, MAX_DESCRIPTION_CHARS),
      inputSchema,
      execute: async (args, { signal } = {}) => {
        if (!isJsonObject(args)) return reply(`The arguments of ${name} have to be a JSON object.`, { isError: true });
        return this.#execute({ name, server, tool, args, signal });
      },
    };
  }

  async #execute(wanted: Wanted): Promise<AgentReply> {
    const digest = digestOf(wanted.server.name, wanted.tool, wanted.args);
    const join = this.#options.sameCall !== 'again';
    for (let running = join ? this.#inPlace.get(digest) : undefined; running !== undefined; ) {
      // Whoever it was begun for may give up on it; then it is this one's.
      const both = await unlessAborted(running, wanted.signal).catch(() => wanted.signal?.throwIfAborted());
      if (both !== undefined) return { ...both, text: `${both.text}\n${JOINED}` };
      running = this.#inPlace.get(digest);
    }
    const call = this.#call(wanted, digest, join);
    if (join) this.#inPlace.set(digest, call);
    try {
      return await call;
    } finally {
      if (this.#inPlace.get(digest) === call) this.#inPlace.delete(digest);
    }
  }

  async #call({ name, server, tool, args, signal }: Wanted, digest: string, join: boolean): Promise<AgentReply> {
    signal?.throwIfAborted();
    const calls = this.#calls;
    const { answerWithinMs = 10_000, maxResultChars = 20_000, ttlMs } = this.#options;
    const isSame = ({ note, record }: OpenAgentCall) => note.digest === digest && !record.cancelRequested;
    const same = join ? (await calls.open()).find(isSame) : undefined;
    if (same !== undefined) return reply(runsAlready(same.note.label), { background: true });
    // A turn that is begun again after a crash calls what the one before it called.
    const ended = join ? (await calls.ended()).find(isSame) : undefined;
    if (ended !== undefined) {
      const told = outcomeOf(ended.end, maxResultChars);
      await calls.client.acknowledge(ended.record.callId);
      return { ...told, text: wasThere(ended.note.label) + told.text, background: false };
    }
    const { note, letGo } = calls.hold(name, digest);
    let answered = false;
    try {
      const options = { note: kept(note), ...(ttlMs !== undefined && { ttlMs }) };
      const call = await server.callTool({ name: tool, arguments: args }, options);
      const look = async () => (await call.refresh()).end;
      const waited = calls.within(answerWithinMs, { callId: call.id }, look, signal);
      const end = await waited.catch(async (error: unknown) => {
        if (signal?.aborted === true) await call.cancel(); // Its turn was broken off, and nobody was told that it goes on.
        throw error;
      });
      if (end === undefined) return reply(goesOn(note.label, call.state), { background: true });
      await call.acknowledge();
      answered = true;
      return { ...outcomeOf(end, maxResultChars), background: false };
    } finally {
      letGo(answered);
    }
  }
}

interface Wanted {
  name: string;
  server: ConnectedServer;
  tool: string;
  args: JsonObject;
  signal: AbortSignal | undefined;
}
