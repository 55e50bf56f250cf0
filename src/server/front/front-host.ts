import { randomUUID } from 'node:crypto';
import { ResourceTemplate } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { invalidParams } from '../../wire/errors.ts';
import { relayedMeta, relayedRound } from '../../wire/relayed.ts';
import * as v25 from '../../wire/rev2025-11-25/index.ts';
import { earlierRounds } from '../../wire/rev2026-07-28/index.ts';
import { type Mirrored, mirroredArguments, mirrorFault } from '../../wire/rev2026-07-28/mirrored.ts';
import { ANYTHING } from '../anything.ts';
import { hosting } from '../attach.ts';
import { type Caller, callerOf, sessionIdOf } from '../caller.ts';
import type { Host } from '../host.ts';
import type { ServingParts } from '../parts.ts';
import { answerTo, asThrown } from '../rpc-error.ts';
import type { RequestId, ServerContext, Transport } from '../sdk.ts';
import { sessionSubscriptions } from '../session-subscriptions.ts';
import { subscribable } from '../task-uris.ts';
import { sessionKnowsTasks } from '../tool-view.ts';
import { askOn } from './asking.ts';
import { type FrontCall, type FrontConnection, type FrontView, TaskNeededError } from './front.ts';
import type { FrontServer } from './front-server.ts';
import { refuseWith } from './http-status.ts';
import { introduce, sessionCaller } from './introduction.ts';
import { callOwn, listingOf, type OwnResource, type Registered, withOwnTemplates } from './own-things.ts';

type Handled = Record<string, unknown>;
const METHOD_NOT_FOUND = -32_601;
/** By listing: those of an upstream are the same objects until it lists them anew. */
const mirrored = new WeakMap<JsonObject, readonly Mirrored[]>();

/**
 * A server of the official SDK that others stand behind. Their lists, results and errors go out as they are: nothing of them
 * is read by the SDK, and nothing held against a schema that is not ours.
 */
export function frontHost({ server, front }: FrontServer): Host {
  const id = randomUUID();
  const tools = new Map<string, Registered>();
  const resources: OwnResource[] = [];
  let serving: ServingParts | undefined;
  let connection: FrontConnection | undefined;
  const parts = (): ServingParts => {
    if (serving === undefined) throw new Error('the server serves nothing yet');
    return serving;
  };
  /** Past the SDK, which holds what is told against capabilities of this server, and would refuse what others log. */
  const tell = (method: string, params: JsonObject, related: { relatedRequestId?: RequestId } = {}): Promise<void> => {
    const given = Object.keys(params).length > 0 ? { params } : {};
    return parts()
      .transport()
      .send({ jsonrpc: '2.0', method, ...given }, related);
  };
  const caller = (ctx: ServerContext): Caller => callerOf(ctx, parts().peer, parts().principalOf);
  const viewOf = (ctx: ServerContext): Promise<FrontView> => look(caller(ctx), authorizationOf(ctx));
  const look = (who: Caller, authorization: string | undefined): Promise<FrontView> =>
    front.view({ caller: who, era: parts().peer.era, knowsTasks: knowsTasks(parts()), authorization, connection });

  /** Looked up when it is wanted: tools of others come and go while a connection lasts. */
  const taskTool = (name: string): Registered | undefined => {
    const tool = parts().tasks.tool(name);
    if (tool === undefined) return undefined;
    const { hosted, call: run } = hosting(tool, parts());
    return { tool: hosted, call: run };
  };

  const list = async (ctx: ServerContext): Promise<Handled> => {
    const { companions } = parts();
    const { tools: theirs } = await viewOf(ctx);
    const listed = [...theirs.values()].map(({ listing: whole, task }) => {
      const listing = parts().peer.era === 'legacy' ? forSessions(whole) : whole;
      const support = task === undefined ? undefined : parts().tasks.tool(task)?.support;
      if (support === undefined || parts().peer.era === 'modern') return listing;
      return { ...listing, execution: { ...v25.toolExecution(support) } };
    });
    const goingOn = [...theirs.values()].some(({ task }) => task !== undefined) ? [...companions] : [];
    const ours = goingOn.filter((name) => !theirs.has(name)).map((name) => listingOf(name, tools.get(name)));
    return { tools: [...listed, ...ours] };
  };

  const call = async (params: JsonObject, ctx: ServerContext): Promise<Handled> => {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw asThrown(invalidParams('params.name: expected a string'));
    if (!isJsonObject(args)) throw asThrown(invalidParams('params.arguments: expected an object'));
    const own = parts().companions.has(name) ? tools.get(name) : undefined;
    // Whoever is behind may be gone; what is to be said of tasks can be said all the same.
    const tool = await (own === undefined ? viewOf(ctx) : viewOf(ctx).catch(() => undefined)).then((view) =>
      view?.tools.get(name),
    );
    if (tool === undefined && own !== undefined) return callOwn(name, own, args, ctx);
    if (tool === undefined) throw asThrown(invalidParams(`Unknown tool: ${name}`));
    const headers = parts().peer.era === 'modern' ? ctx.http?.req?.headers : undefined;
    const fault = headers === undefined ? undefined : mirrorFault(mirroredBy(tool.listing), args, headers);
    if (fault !== undefined) {
      refuseWith(400, ctx.http?.req);
      throw asThrown(fault);
    }
    if (tool.relay !== undefined) {
      if (parts().peer.era === 'legacy' && v25.keptTask(ctx.mcpReq._meta) !== undefined) {
        throw asThrown(v25.methodNotFound(`tool ${name} never runs as a task; call it without a task`));
      }
      try {
        return await tool.relay(frontCall(params, ctx));
      } catch (error) {
        if (!(error instanceof TaskNeededError)) throw error;
        return callAsTask(name, error.task, args, ctx);
      }
    }
    return callAsTask(name, tool.task, args, ctx);
  };

  const callAsTask = async (
    name: string,
    task: string | undefined,
    args: JsonObject,
    ctx: ServerContext,
  ): Promise<Handled> => {
    const registered = task === undefined ? undefined : taskTool(task);
    if (registered === undefined) throw asThrown(invalidParams(`Unknown tool: ${name}`));
    const answer = await callOwn(name, registered, args, ctx);
    return parts().peer.era === 'legacy' ? v25.withObjectContent(answer, { wrapped: false }) : answer;
  };

  const readOwn = async (uri: unknown, ctx: ServerContext): Promise<Handled | undefined> => {
    if (typeof uri !== 'string') return undefined;
    for (const { template, mimeType, read } of resources) {
      const variables = template.uriTemplate.match(uri);
      if (variables === null) continue;
      const text = await read(new URL(uri), variables, ctx);
      if (text === undefined) throw asThrown({ ...invalidParams(`Resource not found: ${uri}`), data: { uri } });
      return { contents: [{ uri, mimeType, text }] };
    }
    return undefined;
  };

  const frontCall = (params: JsonObject, ctx: ServerContext): FrontCall => {
    const { peer } = parts();
    const token = ctx.mcpReq._meta?.progressToken;
    const { answers, state } = earlierRounds(ctx.mcpReq);
    const related = { relatedRequestId: ctx.mcpReq.id };
    return {
      params,
      era: peer.era,
      caller: caller(ctx),
      authorization: authorizationOf(ctx),
      sessionId: sessionIdOf(peer),
      // The SDK takes what is the protocol's out of it, the level of what is to be logged too.
      meta: relayedMeta({ ...(ctx.mcpReq.envelope as JsonObject | undefined), ...ctx.mcpReq._meta }),
      round: relayedRound(answers, state),
      signal: ctx.mcpReq.signal,
      ...(token !== undefined && {
        onProgress: (progress: JsonObject) => {
          const told = { ...progress, progressToken: token };
          ctx.mcpReq.notify({ method: 'notifications/progress', params: told }).catch(() => {}); // It is gone.
        },
      }),
      notify: (method, told) => tell(method, told, related),
      ...(peer.era === 'legacy' && {
        ask: (method: string, asked: JsonObject, signal: AbortSignal) => askOn(server, method, asked, signal, related),
      }),
    };
  };

  const serve = async (method: string, params: JsonObject, ctx: ServerContext): Promise<Handled> => {
    if (method === 'tools/list') return list(ctx);
    if (method === 'tools/call') return call(params, ctx);
    if (method === 'resources/read') {
      const own = await readOwn(params.uri, ctx);
      if (own !== undefined) return own;
    }
    const ofOurs = typeof params.uri === 'string' && subscribable(params.uri) !== undefined && resources.length > 0;
    const subscribing = ofOurs && parts().peer.era === 'legacy' ? sessionSubscriptions(parts())[method] : undefined;
    if (subscribing !== undefined) return subscribing(params, ctx);
    const view = await viewOf(ctx);
    const answer = await view.serve(method, frontCall(params, ctx));
    if (answer === undefined) throw asThrown(v25.methodNotFound(`Method not found: ${method}`));
    return method === 'resources/templates/list' ? withOwnTemplates(answer, resources) : answer;
  };

  server.fallbackRequestHandler = async ({ method, params }, handed) => {
    const ctx = handed as unknown as ServerContext;
    try {
      return (await serve(method, (params ?? {}) as JsonObject, ctx)) as never;
    } catch (error) {
      if (ctx.mcpReq.signal.aborted) throw error; // Nobody is there to be answered.
      const told = answerTo(error, method, parts().tasks);
      // The error of a tool is the tool's, whatever its code.
      if (told.code === METHOD_NOT_FOUND && method !== 'tools/call') refuseWith(404, ctx.http?.req);
      return parts().outbox.standIn({ error: told }, ctx.mcpReq.signal) as never;
    }
  };

  const lasting = ({ peer }: ServingParts): FrontConnection => ({
    sessionId: () => sessionIdOf(peer),
    notify: (method, params) => tell(method, params),
    ...(peer.era === 'legacy' && {
      ask: (method: string, params: JsonObject, signal: AbortSignal) => askOn(server, method, params, signal),
    }),
  });
  server.fallbackNotificationHandler = async ({ method }) => {
    const who = sessionCaller(parts());
    if (who !== undefined) front.notified(method, who);
  };

  return {
    registerTool(name, tool, callback) {
      if (tools.has(name)) throw new TypeError(`${name} is registered already`);
      tools.set(name, { tool, call: callback });
    },
    registerPrompt: refuse('prompts'),
    registerReadable: refuse('resources'),
    registerMethod(name, handler) {
      server.setRequestHandler(
        name,
        { params: ANYTHING },
        (params, ctx) => handler(params, ctx as ServerContext) as never,
      );
    },
    registerResource(name, uriTemplate, resource, read) {
      resources.push({ ...resource, name, template: new ResourceTemplate(uriTemplate, { list: undefined }), read });
    },
    registerCapabilities: (capabilities) => server.registerCapabilities(capabilities),
    hasResources: true,
    onConnect(change) {
      const connect = server.connect.bind(server);
      server.connect = (given) => {
        const transport = given as unknown as Transport;
        change(transport);
        introduce(transport, look, parts());
        const { onclose } = transport;
        transport.onclose = () => {
          if (connection !== undefined) front.left(connection);
          onclose?.();
        };
        return connect(given);
      };
    },
    shownAs: (task) => front.shownAs(task),
    keyed: (name) => front.keyed(name),
    begin(given, { connected }) {
      serving = given;
      connection = connected ? lasting(given) : undefined;
    },
    session() {
      const version = server.getNegotiatedProtocolVersion();
      if (version === undefined) return undefined;
      const client = v25.readClient(server.getClientVersion());
      const declared = server.getClientCapabilities();
      const capabilities = v25.declaredCapabilities(declared, version);
      return { id, version, capabilities, ...(client !== undefined && { client }) };
    },
    hasStreams: false,
    onListening: () => false,
    hears: () => true,
    isToolResult: (value) => isJsonObject(value) && Array.isArray(value.content),
  };
}

function mirroredBy(listing: JsonObject): readonly Mirrored[] {
  const known = mirrored.get(listing) ?? mirroredArguments(listing.inputSchema);
  mirrored.set(listing, known);
  return known;
}

/** Results that need not be objects have one around them in sessions where they are none: of those nothing is promised. */
function forSessions({ outputSchema, ...listing }: JsonObject): JsonObject {
  const kept = isJsonObject(outputSchema) ? v25.outputSchemaOf(outputSchema) : { wrapped: true };
  return kept.wrapped || kept.outputSchema === undefined ? listing : { ...listing, outputSchema: kept.outputSchema };
}

function knowsTasks({ peer }: ServingParts): boolean {
  return peer.era === 'legacy' && sessionKnowsTasks(peer.session());
}

function authorizationOf({ http }: ServerContext): string | undefined {
  return http?.req?.headers.get('authorization') ?? undefined;
}

function refuse(what: string): () => never {
  return () => {
    throw new TypeError(`${what} of this server are those of the servers behind it; register none with its tasks`);
  };
}
