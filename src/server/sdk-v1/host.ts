import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describeIssues, type JsonObject, type StandardSchema, toJsonSchema } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import { invalidParams } from '../../wire/errors.ts';
import { keptArguments, outputSchemaOf, withObjectContent } from '../../wire/rev2025-11-25/index.ts';
import { promptArguments } from '../../wire/tool-list.ts';
import { failure } from '../answers.ts';
import type { Host, HostedTool } from '../host.ts';
import { principalIfKnown } from '../principal.ts';
import { asThrown } from '../rpc-error.ts';
import type { RequestId, ServerContext, Transport } from '../sdk.ts';
import type { Serving } from '../serving.ts';
import { Connection } from './connection.ts';
import { hangUp, type Listening, watchRequests } from './http-requests.ts';
import { offerMethods, type RequestExtra } from './methods.ts';
import { beforeStart, oversee } from './oversight.ts';

/** An `McpServer` of `@modelcontextprotocol/sdk`, used by public means only. */
export function hostOn(mcp: McpServer, tasks: Tasks, serving: Serving): Host & { readonly overHttp: boolean } {
  const { server } = mcp;
  const listings = { tools: new Map<string, JsonObject>(), prompts: new Map<string, JsonObject>() };
  let connection: Connection | undefined;
  const current = (): Connection => {
    if (connection === undefined) throw new Error('the server is not connected');
    return connection;
  };
  const contextOf = (extra: RequestExtra): ServerContext => contextOn(current(), extra);
  return {
    registerTool(name, tool, callback) {
      const { title, description, annotations, _meta, inputSchema } = tool;
      const { listing, wrapped } = listingOf(tool);
      const call = async (extra: RequestExtra): ReturnType<typeof callback> => {
        const ctx = contextOf(extra);
        const { value, problem } = await argumentsOf(extra, inputSchema);
        if (problem === undefined) return callback(value, ctx);
        return failure(`Input validation error: Invalid arguments for tool ${name}: ${problem}`);
      };
      // Without a schema, since it takes only those of Zod; so it checks no arguments, and hands none on.
      const config = {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(annotations !== undefined && { annotations }),
        ...(_meta !== undefined && { _meta }),
      };
      mcp.registerTool(name, config, async (extra) => withObjectContent(await call(extra), { wrapped }) as never);
      listings.tools.set(name, listing);
    },
    registerPrompt(name, { title, description, argsSchema }, get) {
      // As tools: neither checked nor listed by the SDK, which knows no other schemas than those of Zod.
      const config = { ...(title !== undefined && { title }), ...(description !== undefined && { description }) };
      mcp.registerPrompt(name, config, async (given: unknown) => {
        const extra = given as RequestExtra;
        const ctx = contextOf(extra);
        const { value, problem } = await argumentsOf(extra, argsSchema);
        if (problem === undefined) return get(value, ctx) as Promise<never>;
        throw asThrown(invalidParams(`params.arguments of prompt ${name}: ${problem}`));
      });
      if (argsSchema === undefined) return;
      listings.prompts.set(name, { arguments: promptArguments(toJsonSchema(argsSchema, 'input')) });
    },
    registerReadable(name, uri, resource, read) {
      const config = { ...resource } as Record<string, unknown>;
      if (!uri.includes('{')) {
        mcp.registerResource(name, uri, config, (at, extra) => read(at, {}, contextOf(extra)) as Promise<never>);
        return;
      }
      const template = new ResourceTemplate(uri, { list: undefined });
      mcp.registerResource(
        name,
        template,
        config,
        (at, variables, extra) => read(at, variables, contextOf(extra)) as Promise<never>,
      );
    },
    registerMethod: offerMethods(server, contextOf),
    registerResource(name, uriTemplate, resource, read) {
      const template = new ResourceTemplate(uriTemplate, { list: undefined });
      mcp.registerResource(name, template, { ...resource }, async (uri, variables, extra) => {
        const text = await read(uri, variables, contextOf(extra));
        if (text !== undefined) return { contents: [{ uri: uri.href, mimeType: resource.mimeType, text }] };
        throw asThrown({ ...invalidParams(`Resource not found: ${uri.href}`), data: { uri: uri.href } });
      });
    },
    registerCapabilities: (capabilities) => server.registerCapabilities(capabilities),
    get hasResources() {
      return answers(mcp, 'resources/list');
    },
    onConnect(change) {
      const connect = server.connect.bind(server);
      server.connect = (given) => {
        const transport = given as unknown as Transport;
        beforeStart(transport, () => {
          connection = new Connection(transport);
          change(transport);
          oversee(connection, listings, tasks, serving);
          watchRequests(transport, listenerOf(connection, serving));
        });
        return connect(given);
      };
    },
    session: () => connection?.session(),
    get hasStreams() {
      return current().hasStreams;
    },
    onListening(begun) {
      const { transport } = current();
      if (!('handleRequest' in transport)) return false;
      current().begun = begun;
      return true;
    },
    get overHttp() {
      return connection?.overHttp ?? false;
    },
    hears: (principal) => current().hears(principal),
    isToolResult: (value) =>
      typeof value === 'object' &&
      value !== null &&
      CallToolResultSchema.safeParse(withObjectContent(value, { wrapped: false })).success,
  };
}

/** Whether the server has a handler of its own for a method. */
export function answers({ server }: McpServer, method: string): boolean {
  try {
    server.assertCanSetRequestHandler(method);
    return false;
  } catch {
    return true;
  }
}

/** The arguments of a request, which the SDK neither checks nor hands on, as their schema takes them. */
async function argumentsOf(
  { _meta }: RequestExtra,
  schema: StandardSchema | undefined,
): Promise<{ value: unknown; problem?: string }> {
  if (schema === undefined) return { value: undefined };
  const parsed = await schema['~standard'].validate(keptArguments(_meta));
  return parsed.issues === undefined
    ? { value: parsed.value }
    : { value: undefined, problem: describeIssues(parsed.issues) };
}

/** A stream that somebody else opens is not where the session is told of its tasks. */
function listenerOf(connection: Connection, { principalOf }: Serving): Listening {
  return (auth, room) => {
    const principal = principalIfKnown(principalOf, auth);
    return (principal !== undefined && connection.hears(principal) && connection.begun?.(room)) || (() => {});
  };
}

function contextOn(connection: Connection, extra: RequestExtra): ServerContext {
  const { requestId: id, _meta, authInfo } = extra;
  const signal = connection.signalFor(extra.signal, extra.closeSSEStream === undefined ? hangUp() : undefined);
  // What is cancelled is not answered, so that nothing else would end its stream.
  signal.addEventListener('abort', () => closeStream(connection.transport, id), { once: true });
  return {
    mcpReq: {
      id,
      _meta,
      requestState: () => undefined,
      signal,
      // Not by way of the SDK: what a client relates to a task it would put into a queue that is not there.
      notify: (notification) =>
        connection.transport.send({ jsonrpc: '2.0', ...notification }, { relatedRequestId: id }),
    },
    http: { authInfo },
  };
}

function closeStream(transport: Transport, requestId: RequestId): void {
  (transport as { closeSSEStream?: (requestId: RequestId) => void }).closeSSEStream?.(requestId);
}

/** What the SDK could not say of a tool, since it does not know it. */
function listingOf({ inputSchema, outputSchema, icons, execution }: HostedTool): {
  listing: JsonObject;
  wrapped: boolean;
} {
  const { wrapped, ...output } = outputSchemaOf(outputSchema && toJsonSchema(outputSchema, 'output'));
  const listing = {
    ...(inputSchema !== undefined && { inputSchema: { type: 'object', ...toJsonSchema(inputSchema, 'input') } }),
    ...output,
    ...(icons !== undefined && { icons: icons as unknown as JsonObject[] }),
    ...(execution !== undefined && { execution }),
  };
  return { listing, wrapped };
}
