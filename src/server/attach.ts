import type { Principal } from '../core/index.ts';
import type { RegisteredTaskTool, Tasks } from '../engine/index.ts';
import { IDEMPOTENCY_EXTENSION, refusedRepeat, refuseRepeat } from '../wire/idempotency.ts';
import { withInvalidParams } from '../wire/invalid-params.ts';
import { Outbox } from '../wire/outbox.ts';
import { forSession } from '../wire/outgoing.ts';
import * as v16 from '../wire/rev-sep-1686/index.ts';
import * as v25 from '../wire/rev2025-11-25/index.ts';
import * as v26 from '../wire/rev2026-07-28/index.ts';
import { isToolListRequest, type ToolView, toolsFor } from '../wire/tool-list.ts';
import { callTool } from './call-tool.ts';
import { registerCompanions } from './companions.ts';
import type { Host, HostedTool } from './host.ts';
import { registerLegacyTaskMethods } from './legacy-methods.ts';
import type { ServingParts } from './parts.ts';
import { registerOthers } from './prompts-and-resources.ts';
import { convertedOnce, type RawArguments, rememberingRaw } from './raw-schema.ts';
import { registerTaskResources } from './resources.ts';
import type { CallToolResult, JSONRPCMessage, ServerContext, Transport } from './sdk.ts';
import type { Serving } from './serving.ts';
import { registerTaskMethods } from './task-methods.ts';
import { viewOf } from './tool-view.ts';

/** Which instance tasks are put on. */
export interface Instance {
  era: 'legacy' | 'modern';
  /** Lists of tasks are offered; callers who may see none are refused all the same. */
  list: boolean;
  /** Of a request that belongs to a session; `undefined` where the instance is connected for the whole session. */
  session?: v25.Session | undefined;
  /** Serves a connection, whose messages all go one way. */
  connected: boolean;
  /** It serves one request about a task that is there already, so it needs no tools. */
  polled: boolean;
}

/**
 * Puts the tools and the task methods on a server that is not connected yet, by public means only: ordinary
 * registrations, and a look at what comes and leaves.
 */
export function attach(host: Host, tasks: Tasks, serving: Serving, instance: Instance): void {
  const { era, list } = instance;
  // Tools of others come and go.
  const supports = host.keyed === undefined ? tasks.tools.map(({ support }) => support) : (['optional'] as const);
  const declared = v25.tasksCapability(supports, { list });
  let transport: Transport | undefined;
  let asked = new Set<string>();
  const parts: ServingParts = {
    tasks,
    ...serving,
    outbox: new Outbox(),
    peer:
      era === 'modern' ? { era } : { era, session: instance.connected ? () => host.session() : () => instance.session },
    declared,
    transport() {
      if (transport === undefined) throw new Error('the server is not connected');
      return transport;
    },
    get asked() {
      return instance.connected && !host.hasStreams ? asked : undefined;
    },
    companions: new Set(),
    isToolResult: host.isToolResult,
    shownAs: (task) => (host.shownAs === undefined ? task : host.shownAs(task)),
    offer: serving.firstDraft && era === 'legacy' ? offerOf(tasks, host) : undefined,
  };
  host.begin?.(parts, instance);
  if (!instance.polled) {
    if (host.keyed === undefined) for (const tool of tasks.tools) registerTool(host, tool, parts);
    registerOthers(host, parts);
    if (serving.companions) parts.companions = registerCompanions(host, parts);
    if (serving.resources) registerTaskResources(host, parts);
  }
  if (era === 'modern') {
    host.registerCapabilities({ extensions: { [v26.TASKS_EXTENSION]: {}, [IDEMPOTENCY_EXTENSION]: {} } });
    registerTaskMethods(host, parts);
  } else {
    if (declared !== undefined) host.registerCapabilities({ tasks: { ...declared } });
    host.registerCapabilities({ experimental: { [IDEMPOTENCY_EXTENSION]: {} } });
    registerLegacyTaskMethods(host, parts, declared);
  }
  host.onConnect((connected) => {
    transport = connected;
    asked = new Set();
    watch(transport, parts, host.keyed?.bind(host));
    if (era === 'legacy' && !instance.connected) {
      const { session, polled } = instance;
      serving.inFlight.watch(session?.id ?? '', transport);
      // Only tools ask a client anything by way of the SDK.
      if (session !== undefined && session.id !== '' && !polled) serving.relay.join(transport, session);
    }
    if (era === 'legacy' && instance.connected) openChannel(transport, host, parts);
  });
}

/** What the first draft says of what runs as a task here. */
function offerOf({ tools, prompts, resources }: Tasks, host: Host): v16.Offer {
  if (host.keyed !== undefined) {
    return {
      capability: v16.tasksCapability(new Set(['tools/call'])),
      hinted: { has: (name) => host.keyed?.(name) === true },
    };
  }
  const offered = [...tools, ...prompts, ...resources].filter(({ support }) => support !== 'forbidden');
  const methods = new Set(offered.map(({ definition }) => definition.method));
  const names = tools.filter(({ support }) => support !== 'forbidden').map(({ name }) => name);
  return { capability: v16.tasksCapability(methods), hinted: new Set(names) };
}

function registerTool(host: Host, tool: RegisteredTaskTool, parts: ServingParts): void {
  const { hosted, call } = hosting(tool, parts);
  host.registerTool(tool.name, hosted, call);
}

/** A tool as it is put on a server. */
export function hosting(
  tool: RegisteredTaskTool,
  parts: ServingParts,
): { hosted: HostedTool; call: (args: unknown, ctx: ServerContext) => Promise<CallToolResult> } {
  const { inputSchema, outputSchema, ...config } = tool.config;
  const hosted = {
    ...config,
    ...(inputSchema !== undefined && { inputSchema: rememberingRaw(inputSchema) }),
    ...(outputSchema !== undefined && { outputSchema: convertedOnce(outputSchema) }),
    ...(parts.peer.era === 'legacy' && { execution: v25.toolExecution(tool.support) }),
  };
  const noArguments: RawArguments = { raw: {}, parsed: {} };
  return { hosted, call: (args = noArguments, ctx) => callTool(tool, args as RawArguments, ctx, parts) };
}

/** In place, so that the SDK still meets the transport object it made itself; it calls a handler it finds before its own. */
function watch(transport: Transport, parts: ServingParts, hosted?: (name: string) => boolean): void {
  const { outbox, peer, offer } = parts;
  const lists = new Map<string | number, () => ToolView>();
  const repeats = new Set<string | number>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    let outgoing: unknown = withInvalidParams(outbox.outbound(message));
    const { id, method } = outgoing as { id?: string | number; method?: string };
    if (id !== undefined && method === undefined && repeats.delete(id)) outgoing = refusedRepeat(id);
    const view = id === undefined ? undefined : lists.get(id);
    if (view !== undefined) {
      lists.delete(id as string | number);
      outgoing = toolsFor(outgoing, view());
    }
    if (peer.era === 'legacy') outgoing = forSession(outgoing, peer.session()?.version, offer);
    return outgoing === undefined ? Promise.resolve() : send(outgoing as JSONRPCMessage, options);
  };
  // Tools of ours that become tasks; companions and the host's own tools leave nothing to be found by a key.
  const keyed = (wanted: string): boolean =>
    hosted?.(wanted) ?? parts.tasks.tools.some(({ name, support }) => name === wanted && support !== 'forbidden');
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const refused = refuseRepeat(message, keyed);
    if (refused !== undefined) repeats.add(refused);
    if (peer.era === 'modern') {
      v26.keepResponses(message);
      v26.keepRound(message);
    } else v25.keepTask(message);
    if (isToolListRequest(message)) {
      const { id, params } = message;
      lists.set(id, () => viewOf(params, parts)); // Once the answer is there: it may have made tools known.
    }
    onmessage?.(message, extra);
  };
}

/** A connection hears of its tasks without asking, and its questions need not wait for anybody to come. */
function openChannel(transport: Transport, host: Host, parts: ServingParts): void {
  const { peer, followers } = parts;
  const session = peer.era === 'legacy' ? peer.session : () => undefined;
  const open = (room?: () => Promise<void>): (() => void) | undefined => {
    const { id = '', version, capabilities } = session() ?? {};
    if (id === '') return undefined;
    const channel = {
      send: (message: object) => transport.send(message as JSONRPCMessage),
      ...(room !== undefined && { room }),
      abilities: capabilities?.abilities ?? { form: false },
      version,
      asked: parts.asked ?? new Set<string>(),
      hears: (principal: Principal) => host.hears(principal),
    };
    return followers.open(id, channel, { patient: host.hasStreams });
  };
  if (host.onListening((room) => open(room) ?? (() => {}))) return;
  let close: (() => void) | undefined;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    close ??= open();
    onmessage?.(message, extra);
  };
  const { onclose } = transport;
  transport.onclose = () => {
    close?.();
    onclose?.();
  };
}
